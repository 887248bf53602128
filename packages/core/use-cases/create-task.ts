import type { Runnable } from "../catalogue.ts";
import { ParleyError } from "../errors.ts";
import { describeViolations } from "../schema-violation.ts";
import type { Settings } from "../settings.ts";
import type { Call, ClientCapabilities, JsonObject, Task } from "../task.ts";
import type { Services } from "./services.ts";

export interface CreateTask {
  readonly principal: string;
  readonly arguments: JsonObject;
  readonly capabilities: ClientCapabilities;
  readonly hidden: boolean;
  /** Replies that came with the call, by ask key, as sent. Dropped unless the runnable takes early replies. */
  readonly replies?: JsonObject;
  /** How long the client wants the finished task to be kept, in place of the tool's own retention; brought within the settings' bounds. */
  readonly retentionMs?: number;
  /** Given when the caller had to know the id before, to watch it. */
  readonly taskId?: string;
}

/**
 * Writes a task and adds its first run; returns once both are in the store (I6).
 *
 * Throws INVALID_ARGUMENTS before anything is written.
 */
export async function createTask(services: Services, runnable: Runnable, request: CreateTask): Promise<Task> {
  const { store, queue, ids, clock, settings, observer } = services;
  const violations = await runnable.validate(request.arguments);
  if (violations.length > 0) {
    throw new ParleyError("INVALID_ARGUMENTS", `arguments of ${runnable.kind} ${runnable.name}: ${describeViolations(violations)}`, {
      violations,
    });
  }
  const taskId = request.taskId ?? ids.taskId();
  const nowMs = clock.now();
  const traceparent = observer?.traceparent();
  const call: Call = {
    kind: runnable.kind,
    name: runnable.name,
    arguments: request.arguments,
    principal: request.principal,
    capabilities: request.capabilities,
    createdAtMs: nowMs,
    retentionMs: request.retentionMs === undefined ? runnable.settings.retentionMs : clampRetention(settings, request.retentionMs),
    seed: ids.token(),
    hidden: request.hidden,
    ...(request.replies && runnable.earlyReplies && { replies: request.replies }),
    ...(traceparent !== undefined && { traceparent }),
  };
  // Not one after the other: store and queue share a connection, which keeps the order (task before run) in one round trip.
  await Promise.all([store.create({ taskId, call, graceMs: settings.graceMs }), queue.add({ taskId, run: 1, cause: "created" })]);
  observer?.created(call);
  services.log.info({ taskId, [runnable.kind]: runnable.name }, "task created");
  return {
    id: taskId,
    call,
    status: "working",
    revision: 1,
    run: 0,
    generation: 0,
    updatedAtMs: nowMs,
    asks: [],
  };
}

/** In whole milliseconds. `Infinity` becomes the longest that is kept. */
function clampRetention({ retentionMinMs, retentionMaxMs }: Settings, wantedMs: number): number {
  return Math.min(Math.max(Math.ceil(wantedMs), retentionMinMs), retentionMaxMs);
}
