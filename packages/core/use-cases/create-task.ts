import { type Actor, bindingOfCall, noteAudit, toolOf, withAudit } from "../audit.ts";
import { DEFAULT_TENANT } from "../caller.ts";
import type { Runnable } from "../catalogue.ts";
import { ParleyError } from "../errors.ts";
import { isCounted, type Over, quotaExceeded, shareOf } from "../quotas.ts";
import { describeViolations } from "../schema-violation.ts";
import type { Known } from "../ports.ts";
import type { Settings } from "../settings.ts";
import type { Call, ClientCapabilities, JsonObject, Task } from "../task.ts";
import { getOwnTask } from "./get-task.ts";
import type { Services } from "./services.ts";

export interface CreateTask extends Actor {
  readonly arguments: JsonObject;
  readonly capabilities: ClientCapabilities;
  readonly hidden: boolean;
  /** The request of a session that a hidden task carries. */
  readonly request?: NonNullable<Call["request"]>;
  /** Replies that came with the call, by ask key, as sent. Dropped unless the runnable takes early replies. */
  readonly replies?: JsonObject;
  /** How long the client wants the finished task to be kept, in place of the tool's own retention; brought within the settings' bounds. */
  readonly retentionMs?: number;
  /** Calls of one caller with the same key are one call: the task that the first one made is answered with, as long as it is there. */
  readonly idempotencyKey?: string;
  /** Given when the caller had to know the id before, to watch it: from `newTaskId`. */
  readonly taskId?: string;
  /** What is to be written with the task, in the same burst. Not called when nothing is written. */
  readonly beside?: () => Promise<unknown>;
}

/**
 * Writes a task and adds its first run; returns once both are in the store (I6).
 *
 * With an idempotency key that was used before, the task is the one that was made then, and `beside` is called all the same. Throws INVALID_ARGUMENTS,
 * TOO_LARGE, QUOTA_EXCEEDED and IDEMPOTENCY_KEY_REUSED; no task is written then.
 */
export async function createTask(services: Services, runnable: Runnable, request: CreateTask): Promise<Task> {
  const { store, queue, settings, observer } = services;
  const { caller } = request;
  const args = await keptArguments(settings, runnable, request.arguments);
  const replies = runnable.earlyReplies ? request.replies : undefined;
  if (replies) checkSize(settings, `the answers that came with the call of ${runnable.kind} ${runnable.name}`, replies);
  const taskId = request.taskId ?? (await newTaskId(services, request));
  const call: Call = {
    ...describeCall(services, runnable, { ...request, taskId, args }),
    ...(request.retentionMs !== undefined && { retentionMs: clampRetention(settings, request.retentionMs) }),
    ...(replies && { replies }),
    ...(request.request && { request: request.request }),
  };
  const audit = withAudit(services, request, () => ({
    action: "call",
    taskId,
    ...toolOf(call),
    ...(call.binding !== undefined && { call: call.binding }),
  }));
  const once = onceOf(services, request);
  const fingerprint = (id: string) => bindingOfCall(services, id, runnable, args);
  const counted = isCounted(caller);
  const first = { taskId, cause: "created", ...(counted && { share: shareOf(call) }) } as const;
  // A worker that listens is told by the store. Else not one after the other: store and queue share a connection, which keeps the order (task
  // before run) in one round trip.
  const lane = queue.lane?.(first);
  const [created] = await Promise.all([
    store.create({
      taskId,
      call,
      graceMs: settings.graceMs,
      ...(once !== undefined && { once: { key: once, fingerprint: fingerprint(taskId) } }),
      ...(counted && { quotas: settings.taskQuotas }),
      ...(lane !== undefined && { lane }),
      ...audit,
    }),
    // A run of a task that is not there is none.
    lane === undefined && queue.add({ ...first, run: 1 }),
    request.beside?.(),
  ]);
  if (typeof created === "object" && "known" in created) {
    if (created.fingerprint === fingerprint(created.known)) return await repeated(services, request, created.known);
    throw new ParleyError(
      "IDEMPOTENCY_KEY_REUSED",
      `the idempotency key belongs to another call than ${call.kind} ${call.name} with these arguments`,
    );
  }
  if (typeof created === "object") throw quotaOf(created, settings);
  if (lane !== undefined && created !== "delivered") await queue.add({ ...first, run: 1 });
  observer?.created(call);
  services.log.info({ taskId, [runnable.kind]: runnable.name }, "task created");
  return {
    id: taskId,
    call,
    status: "working",
    revision: 1,
    run: 0,
    generation: 0,
    updatedAtMs: call.createdAtMs,
    asks: [],
  };
}

export interface DescribeCall extends Pick<CreateTask, "caller" | "capabilities" | "hidden"> {
  readonly taskId: string;
  /** As they are stored. */
  readonly args: JsonObject;
}

/** What is called, as it is kept with the task. */
export function describeCall(services: Services, runnable: Runnable, { taskId, args, caller, capabilities, hidden }: DescribeCall): Call {
  const traceparent = services.observer?.traceparent();
  return {
    kind: runnable.kind,
    name: runnable.name,
    ...(runnable.version !== undefined && { version: runnable.version }),
    arguments: args,
    principal: caller.principal,
    ...(caller.person !== undefined && { person: caller.person }),
    ...(caller.tenant !== DEFAULT_TENANT && { tenant: caller.tenant }),
    capabilities,
    createdAtMs: services.clock.now(),
    retentionMs: runnable.settings.retentionMs,
    seed: services.ids.token(),
    hidden,
    ...(runnable.compensate && { compensates: true as const }),
    ...(traceparent !== undefined && { traceparent }),
    ...(services.audit && { binding: bindingOfCall(services, taskId, runnable, args) }),
  };
}

/** What kept the task from being created. */
export function quotaOf(created: Over | Known, { taskQuotas }: Settings): ParleyError {
  if ("over" in created) return quotaExceeded(created, taskQuotas);
  throw new Error("only a task with an idempotency key is known");
}

/** The id of a task that is to be created with that key, if there is one. */
export function newTaskId(services: Services, of: Pick<CreateTask, "caller" | "idempotencyKey">): string | Promise<string> {
  return services.ids.taskId(of.caller.tenant, onceOf(services, of));
}

/** Of one caller alone: nobody else's key is the same. */
function onceOf({ digest }: Services, { caller, idempotencyKey: key }: Pick<CreateTask, "caller" | "idempotencyKey">): string | undefined {
  return key === undefined ? undefined : digest(JSON.stringify([caller.tenant, caller.principal, key]));
}

async function repeated(services: Services, request: CreateTask, taskId: string): Promise<Task> {
  noteAudit(services, request, () => ({ action: "call", taskId, verdict: "repeated" }));
  services.log.info({ taskId }, "call repeated, its task is there");
  return await getOwnTask(services, { ...request, taskId });
}

/** As they are to be stored. */
export async function keptArguments(settings: Settings, runnable: Runnable, given: JsonObject): Promise<JsonObject> {
  const { kind, name } = runnable;
  const read = await runnable.readArguments(given);
  if (!read.ok) {
    const { violations } = read;
    throw new ParleyError("INVALID_ARGUMENTS", `invalid arguments for ${kind} ${name}: ${describeViolations(violations)}`, { violations });
  }
  checkSize(settings, `the arguments of ${kind} ${name}`, read.args);
  return read.args;
}

function checkSize({ storedValueMax }: Settings, what: string, value: JsonObject): void {
  const { length } = JSON.stringify(value);
  if (length <= storedValueMax) return;
  throw new ParleyError("TOO_LARGE", `${what} have ${length} characters of JSON; the limit is ${storedValueMax} (PARLEY_STORED_VALUE_MAX)`);
}

/** In whole milliseconds. `Infinity` becomes the longest that is kept. */
function clampRetention({ retentionMinMs, retentionMaxMs }: Settings, wantedMs: number): number {
  return Math.min(Math.max(Math.ceil(wantedMs), retentionMinMs), retentionMaxMs);
}
