/**
 * Tasks on the wire (EXT "Task", "tasks/get", "notifications/tasks").
 *
 * One model, three messages: the handle that answers a call, the full state that answers tasks/get, and the same state as a notification.
 */
import type { JsonObject, Outcome, Receipt, Task } from "@parley/core";
import type { ServerFacts } from "../dialect.ts";
import { notificationMessage, type RequestId, type RpcNotification } from "../json-rpc.ts";
import { taskTimes, ttlMs } from "../task-times.ts";
import { statusOf } from "../waiting-message.ts";
import { inputRequests } from "./encode-ask.ts";
import { toolResult } from "./encode-call.ts";
import { SUBSCRIPTION_ID } from "./names.ts";

/** Parley's own, in `_meta` of an acknowledged tasks/update: ask key → what became of its answer. The specification has no word for it. */
const RECEIPTS = "parley/receipts";

/** `resultType: "task"` stands here and nowhere else. */
export function createTaskResult(task: Task, { facts, meta }: { readonly facts: ServerFacts; readonly meta: JsonObject }): object {
  return { resultType: "task", ...handle(task, facts), _meta: meta };
}

export function detailedTask(task: Task, { facts, meta }: { readonly facts: ServerFacts; readonly meta: JsonObject }): object {
  return { resultType: "complete", ...handle(task, facts), ...detail(task), _meta: meta };
}

/** Exactly what tasks/get would say. */
export function taskNotification(
  task: Task,
  { facts, subscriptionId }: { readonly facts: ServerFacts; readonly subscriptionId: RequestId },
): RpcNotification {
  return notificationMessage("notifications/tasks", {
    _meta: { [SUBSCRIPTION_ID]: subscriptionId },
    ...handle(task, facts),
    ...detail(task),
  });
}

export function acknowledgement(meta: JsonObject, receipts?: ReadonlyMap<string, Receipt>): object {
  const told = receipts && { [RECEIPTS]: Object.fromEntries([...receipts].map(([key, { type }]) => [key, type])) };
  return { resultType: "complete", _meta: { ...meta, ...told } };
}

function handle(task: Task, facts: ServerFacts): object {
  const message = statusOf(task) ?? (task.outcome?.type === "error" ? task.outcome.error.message : undefined);
  return {
    taskId: task.id,
    status: task.status,
    ...(message === undefined ? {} : { statusMessage: message }),
    ...taskTimes(task),
    ttlMs: ttlMs(task),
    pollIntervalMs: facts.pollIntervalMs,
  };
}

function detail(task: Task): object {
  switch (task.status) {
    case "input_required":
      return { inputRequests: inputRequests(task.asks) };
    case "completed":
      return { result: toolResult(outcomeOf(task, "result").result) };
    case "failed":
      return { error: outcomeOf(task, "error").error };
    case "working":
    case "cancelled":
      return {};
  }
}

function outcomeOf<T extends Outcome["type"]>(task: Task, type: T): Extract<Outcome, { type: T }> {
  if (task.outcome?.type === type) return task.outcome as Extract<Outcome, { type: T }>;
  throw new Error(`task ${task.id} is ${task.status} but its outcome is ${task.outcome?.type ?? "absent"}`);
}
