/**
 * Tasks on the wire (EXT "Task", "tasks/get", "notifications/tasks").
 *
 * A task appears in three messages: the handle that answers a call, the full state that answers tasks/get, and the same state as a notification.
 */
import { canBeAsked, type ClientCapabilities, type JsonObject, type Outcome, type Receipt, type Task } from "@parley/core";
import type { FailureWords } from "../failures.ts";
import type { ServerFacts } from "../server-facts.ts";
import { notificationMessage, type RequestId, type RpcNotification } from "../json-rpc.ts";
import { taskTimes, ttlMs } from "../task-times.ts";
import { statusOf, statusShown, waitsMeta } from "../waiting-message.ts";
import { inputRequests } from "./encode-ask.ts";
import { toolResult } from "./encode-call.ts";
import { subscribed } from "./encode-listen.ts";
import { pendingApproval } from "./tool-approval.ts";

/** Parley's own key in `_meta` of the answer to a message with answers: receipts by ask key. The specification has no such member. */
const RECEIPTS = "parley/receipts";

/**
 * When a client should look at a new task for the first time. Most tools that ask do so at once, and `tasks/get` waits for a task that has just begun;
 * its answer says when to look again. Not less, for clients that keep to the first interval that they were told.
 */
const FIRST_POLL_MS = 100;

/** The only message with `resultType: "task"`. */
export function createTaskResult(task: Task, { facts, meta }: { readonly facts: ServerFacts; readonly meta: JsonObject }): object {
  const pollIntervalMs = Math.min(FIRST_POLL_MS, facts.pollInterval(task));
  return { resultType: "task", ...handle(task, facts), pollIntervalMs, _meta: meta };
}

export interface Reader extends Pick<FailureWords, "ownError"> {
  readonly facts: ServerFacts;
  /** What this client can be asked. Other asks wait for a client that can be asked them, and the status message says so. */
  readonly capabilities: ClientCapabilities;
}

/** Parley's own key in `_meta` of the answer to tasks/get: the version of the task's tool, if it has one. */
const VERSION = "parley/toolVersion";

/** The answer to tasks/get. */
export function shownTask(task: Task, reader: Reader): object {
  const { version } = task.call;
  const meta = {
    ...(version !== undefined && { [VERSION]: version }),
    ...(reader.facts.toolApproval && pendingApproval(task)),
    ...waitsMeta(task, reader),
  };
  return { ...detailedTask(task, reader), ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

function detailedTask(task: Task, reader: Reader): object {
  return { ...handle(task, reader.facts, reader.capabilities), ...detail(task, reader) };
}

/** The same content as the answer to tasks/get. */
export function taskNotification(
  task: Task,
  { subscriptionId, ...reader }: Reader & { readonly subscriptionId: RequestId },
): RpcNotification {
  return notificationMessage("notifications/tasks", {
    ...subscribed(subscriptionId),
    ...detailedTask(task, reader),
  });
}

export function withReceipts(answer: { readonly _meta?: object }, receipts: ReadonlyMap<string, Receipt>): object {
  const byKey = Object.fromEntries([...receipts].map(([key, { type }]) => [key, type]));
  return { ...answer, _meta: { ...answer._meta, [RECEIPTS]: byKey } };
}

function handle(task: Task, facts: ServerFacts, capabilities = task.call.capabilities): object {
  const reader = { facts, capabilities };
  const message = statusOf(task, reader) ?? (task.outcome?.type === "error" ? task.outcome.error.message : undefined);
  const times = { ...task, createdAtMs: task.call.createdAtMs, retentionMs: task.call.retentionMs };
  return {
    taskId: task.id,
    status: statusShown(task, reader),
    ...(message === undefined ? {} : { statusMessage: message }),
    ...taskTimes(times),
    ttlMs: ttlMs(times),
    pollIntervalMs: facts.pollInterval(task),
  };
}

function detail(task: Task, { capabilities, ownError }: Reader): object {
  switch (statusShown(task, { capabilities })) {
    case "input_required":
      return { inputRequests: inputRequests(task.asks.filter(({ request }) => canBeAsked(request, capabilities))) };
    case "completed":
      return { result: toolResult(outcomeOf(task, "result").result) };
    case "failed": {
      const { error } = outcomeOf(task, "error");
      return { error: { ...error, code: ownError(error.code).code } };
    }
    case "working":
    case "cancelled":
      return {};
  }
}

function outcomeOf<T extends Outcome["type"]>(task: Task, type: T): Extract<Outcome, { type: T }> {
  if (task.outcome?.type === type) return task.outcome as Extract<Outcome, { type: T }>;
  throw new Error(`task ${task.id} is ${task.status} but its outcome is ${task.outcome?.type ?? "absent"}`);
}
