/** A caller calls a tool or a prompt: checks arguments and quotas, writes the task and adds its first run. */
import { type Actor, bindingOfCall, noteAudit, noteQuota, toolOf, withAudit } from "../callers/audit.ts";
import { DEFAULT_TENANT } from "../callers/caller.ts";
import { callerNames } from "../callers/names.ts";
import { membershipOf } from "../callers/membership.ts";
import type { Runnable } from "../catalogue.ts";
import { ParleyError } from "../errors.ts";
import type { Once, TaskStore } from "../ports.ts";
import { isCounted, quotaExceeded, quotasIn, type TaskQuotas } from "../callers/quotas.ts";
import { shareOf } from "../callers/shares.ts";
import { describeViolations } from "../values/schema-violation.ts";
import type { Settings } from "../settings.ts";
import { type Call, type ClientCapabilities, type JsonObject, type Task, withoutViews } from "../task.ts";
import { inCheckTime, tooLongFor } from "./check-in-time.ts";
import { getOwnTask } from "./get-task.ts";
import type { Services } from "./services.ts";

export interface CreateTask extends Actor {
  readonly arguments: JsonObject;
  readonly capabilities: ClientCapabilities;
  readonly hidden: boolean;
  /** The session request that a hidden task answers, or whose progress token a task with a handle keeps. */
  readonly request?: NonNullable<Call["request"]>;
  /** See CallFacts.session. */
  readonly session?: string;
  /** See Call.reason. */
  readonly reason?: string | undefined;
  /** Early replies by ask key, as sent. Dropped unless the runnable takes early replies. */
  readonly replies?: JsonObject;
  /**
   * How long the client wants the finished task to be kept, instead of the tool's or the deployment's retention.
   * Clamped to the settings' bounds.
   */
  readonly retentionMs?: number;
  /**
   * All calls of one caller with the same key are one call: later ones return the task that the first created, while
   * it exists.
   */
  readonly idempotencyKey?: string;
  /** From `newTaskId`, if the caller needed the id earlier, to watch it. */
  readonly taskId?: string;
  /** It counts for nobody's quotas: the caller did not make it. */
  readonly isUncounted?: true;
  /** Further writes in the same burst. Not called if nothing is written. */
  readonly beside?: () => Promise<unknown>;
}

/**
 * Writes a task and adds its first run. Returns once both are in the store (I6).
 *
 * If the idempotency key was used before, it returns the existing task and still calls `beside`. Throws
 * STORAGE_SCARCE, INVALID_ARGUMENTS, CALL_TIMEOUT, TOO_LARGE, QUOTA_EXCEEDED and IDEMPOTENCY_KEY_REUSED, and then writes no task.
 */
export async function createTask(services: Services, runnable: Runnable, request: CreateTask): Promise<Task> {
  const { settings, observer, room } = services;
  if (room?.isScarce()) throw new ParleyError("STORAGE_SCARCE", "Redis has almost used up its memory");
  const { args, sent } = await keptArguments(services, runnable, request.arguments);
  const replies = runnable.earlyReplies ? request.replies : undefined;
  if (replies) checkSize(settings, `the answers that came with the call of ${runnable.kind} ${runnable.name}`, replies);
  const taskId = request.taskId ?? (await newTaskId(services, request));
  const call: Call = {
    ...describeCall(services, runnable, { ...request, taskId, args, sent }),
    ...(runnable.keepsMembership?.() && { membership: membershipOf(request.caller) }),
    ...(request.retentionMs !== undefined && {
      retentionMs: retentionOf(settings, Math.max(request.retentionMs, settings.retentionMinMs)),
    }),
    ...(replies && { replies }),
    ...(request.reason !== undefined && request.reason.trim() !== "" && { reason: request.reason }),
    ...(request.request && { request: request.request }),
  };
  const fingerprint = (id: string) => bindingOfCall(services, id, runnable, sent);
  const key = onceOf(services, request);
  const once = key === undefined ? undefined : { key, fingerprint: fingerprint(taskId) };
  const quotas = quotasIn(settings.taskQuotas, request.caller, room?.bytes());
  const created = await write(services, request, { taskId, call, once, quotas });
  if (typeof created === "object" && "known" in created) {
    if (created.fingerprint === fingerprint(created.known)) return await repeated(services, request, created.known);
    throw new ParleyError(
      "IDEMPOTENCY_KEY_REUSED",
      `the idempotency key belongs to a call other than ${call.kind} ${call.name} with these arguments`,
    );
  }
  if (typeof created === "object") {
    const error = quotaExceeded(created, quotas, settings.taskQuotas);
    noteQuota(services, request, error);
    throw error;
  }
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

interface Write {
  readonly taskId: string;
  readonly call: Call;
  readonly once: Once | undefined;
  readonly quotas: TaskQuotas;
}

/** Writes the task and adds its first run. */
async function write(services: Services, request: CreateTask, { taskId, call, once, quotas }: Write): ReturnType<TaskStore["create"]> {
  const { store, queue, settings } = services;
  const { kind, name } = call;
  const counted = isCounted(request.caller) && !request.isUncounted;
  const first = { taskId, cause: "created", calls: { kind, name }, ...(counted && { share: shareOf(call) }) } as const;
  const audit = withAudit(services, request, () => ({
    action: "call",
    taskId,
    ...toolOf(call),
    ...(call.binding !== undefined && { call: call.binding }),
  }));
  // With a lane, the store offers the run to the listening worker. Otherwise both writes are sent at once: store and
  // queue share a connection, which keeps their order (task before run) in one round trip.
  const lane = queue.lane?.(first);
  const [created] = await Promise.all([
    store.create({
      taskId,
      call,
      graceMs: settings.graceMs,
      ...(once && { once }),
      ...(counted && { quotas }),
      ...(lane !== undefined && { lane }),
      ...audit,
    }),
    // A run without its task is ignored.
    lane === undefined && queue.add({ ...first, run: 1 }),
    request.beside?.(),
  ]);
  const isWritten = typeof created === "string";
  if (isWritten && lane !== undefined && created !== "delivered") await queue.add({ ...first, run: 1 });
  return created;
}

export interface DescribeCall extends Pick<CreateTask, "caller" | "capabilities" | "hidden" | "session"> {
  readonly taskId: string;
  /** In the form to store. */
  readonly args: JsonObject;
  /** As they were sent. */
  readonly sent: JsonObject;
}

/** The stored description of a call. */
export function describeCall(
  services: Services,
  runnable: Runnable,
  { taskId, args, sent, caller, capabilities, hidden, session }: DescribeCall,
): Call {
  const traceparent = services.observer?.traceparent();
  const names = callerNames(caller);
  return {
    kind: runnable.kind,
    name: runnable.name,
    ...(runnable.version !== undefined && { version: runnable.version }),
    arguments: args,
    principal: caller.principal,
    ...(caller.person !== undefined && { person: caller.person }),
    ...(names && { caller: names }),
    ...(caller.tenant !== DEFAULT_TENANT && { tenant: caller.tenant }),
    capabilities: withoutViews(capabilities),
    createdAtMs: services.clock.now(),
    retentionMs: retentionOf(services.settings, runnable.settings.retentionMs),
    seed: services.ids.token(),
    hidden,
    ...(runnable.compensate && { compensates: true as const }),
    ...((runnable.settings.keepContent || services.settings.keepContent) && { keepsContent: true as const }),
    ...(traceparent !== undefined && { traceparent }),
    ...(session !== undefined && { session }),
    ...(services.audit && { binding: bindingOfCall(services, taskId, runnable, sent) }),
  };
}

/** The id of a new task, drawn for the idempotency key if there is one. */
export function newTaskId(services: Services, of: Pick<CreateTask, "caller" | "idempotencyKey">): string | Promise<string> {
  return services.ids.taskId(of.caller.tenant, onceOf(services, of));
}

/** Includes the caller, so that equal keys of different callers differ. */
function onceOf({ digest }: Services, { caller, idempotencyKey: key }: Pick<CreateTask, "caller" | "idempotencyKey">): string | undefined {
  return key === undefined ? undefined : digest(JSON.stringify([caller.tenant, caller.principal, key]));
}

async function repeated(services: Services, request: CreateTask, taskId: string): Promise<Task> {
  noteAudit(services, request, () => ({ action: "call", taskId, verdict: "repeated" }));
  services.log.info({ taskId }, "call repeated, its task is there");
  return await getOwnTask(services, { ...request, taskId });
}

/** The arguments in the form to store, and as they were sent. Throws INVALID_ARGUMENTS, TOO_LARGE, and CALL_TIMEOUT if the tool's own check takes too long. */
export async function keptArguments(
  { settings, clock }: Pick<Services, "settings" | "clock">,
  runnable: Runnable,
  given: JsonObject,
): Promise<Pick<DescribeCall, "args" | "sent">> {
  const { kind, name } = runnable;
  const read = await inCheckTime(clock, runnable.readArguments(given));
  if (!read) throw new ParleyError("CALL_TIMEOUT", tooLongFor(`the arguments of ${kind} ${name}`));
  if (!read.ok) {
    const { violations } = read;
    throw new ParleyError("INVALID_ARGUMENTS", `invalid arguments for ${kind} ${name}: ${describeViolations(violations)}`, { violations });
  }
  const { args, sent = args } = read;
  checkSize(settings, `the arguments of ${kind} ${name}`, args);
  return { args, sent };
}

function checkSize({ storedValueMax }: Settings, what: string, value: JsonObject): void {
  const { length } = JSON.stringify(value);
  if (length <= storedValueMax) return;
  throw new ParleyError("TOO_LARGE", `${what} have ${length} characters of JSON; the limit is ${storedValueMax} (PARLEY_STORED_VALUE_MAX)`);
}

/** Whole milliseconds. `Infinity` becomes the maximum, which bounds everyone: what is kept is the operator's memory. */
function retentionOf({ retentionMs, retentionMaxMs }: Settings, wantedMs = retentionMs): number {
  return Math.min(Math.ceil(wantedMs), retentionMaxMs);
}
