/**
 * Tasks on the wire (S25 basic/utilities/tasks), with the `_meta` of proposal #1869 and of FastMCP's dialect.
 *
 * The handle that answers a call is sent twice: nested, as in the specification, and flat, as in the proposal. Each kind of client reads its own
 * form and ignores the other.
 */
import {
  canBeAskedAnything,
  isFinished,
  ParleyError,
  RpcFailure,
  summaryOf,
  type Ask,
  type ClientCapabilities,
  type JsonObject,
  type Task,
  type TaskStatus,
  type TaskSummary,
} from "@parley/core";
import type { ServerFacts } from "../../server-facts.ts";
import { INVALID_PARAMS, isObject, notificationMessage } from "../../json-rpc.ts";
import { messageOf } from "../../ask-message.ts";
import { elicitationId } from "../elicitation-id.ts";
import { IMMEDIATE_RESPONSE, PENDING_ELICITATIONS, RELATED_TASK } from "../names.ts";
import { callResult } from "../results.ts";
import type { TaskEncoder } from "../dialect.ts";
import { taskTimes, ttlMs } from "../../task-times.ts";
import { statusOf, statusShown, waitsMeta } from "../../waiting-message.ts";

const STATUS_MESSAGE_CHARS = 1_000;

export function related(taskId: string): { readonly [RELATED_TASK]: { readonly taskId: string } } {
  return { [RELATED_TASK]: { taskId } };
}

export function tasks(facts: ServerFacts): TaskEncoder {
  const plain = (task: Task, capabilities: ClientCapabilities) => {
    const reader = { facts, capabilities };
    const message = statusOf(task, reader);
    return wireTask({ ...summaryOf(task), status: statusShown(task, reader), ...(message !== undefined && { message }) }, facts);
  };
  const asked = (task: Task, capabilities: ClientCapabilities) => ({
    ...plain(task, capabilities),
    _meta: { ...related(task.id), ...pending(task), ...waitsMeta(task, { capabilities }) },
  });
  return {
    createTaskResult(task, capabilities) {
      const { _meta, ...flat } = asked(task, capabilities);
      return { task: flat, ...flat, _meta: { ..._meta, ...immediateResponse(task) } };
    },
    task: asked,
    taskList: ({ tasks: page, ...rest }, capabilities) => ({
      tasks: page.map((task) => wireTask({ ...task, status: statusListed(task, capabilities) }, facts)),
      ...rest,
    }),
    cancelledTask: plain,
    inputSent: (accepted, task, capabilities) => ({ accepted, ...asked(task, capabilities) }),
    taskResult,
    taskStatus: (task, capabilities) =>
      notificationMessage("notifications/tasks/status", { ...plain(task, capabilities), ...statusMeta(task) }),
  };
}

/** Whom a task asks is not known without its questions, but it does not ask a client that can be asked nothing (statusShown in waiting-message.ts). */
function statusListed({ status }: TaskSummary, capabilities: ClientCapabilities): TaskStatus {
  return status === "input_required" && !canBeAskedAnything(capabilities) ? "working" : status;
}

/** In this revision, a task whose result has `isError` is `failed`, and still has its result. */
function wireStatus({ status, problem }: Pick<TaskSummary, "status" | "problem">): TaskStatus {
  return problem === undefined ? status : "failed";
}

/** The error for cancelling a finished task. S25 basic/utilities/tasks, "Task Cancellation". */
export function taskFinished(task: Task): ParleyError {
  return new ParleyError("TASK_FINISHED", `Cannot cancel task: already in terminal status '${wireStatus(summaryOf(task))}'`);
}

function wireTask(task: TaskSummary, facts: ServerFacts): object {
  // A failed task shows its problem rather than its last status message.
  const message = (task.problem || task.message)?.slice(0, STATUS_MESSAGE_CHARS);
  return {
    taskId: task.id,
    status: wireStatus(task),
    ...(message === undefined ? {} : { statusMessage: message }),
    ...taskTimes(task),
    ttl: ttlMs(task),
    pollInterval: facts.pollInterval(task),
  };
}

/** Every open question to a person. Sampling and roots go to the client itself, on the stream of tasks/result. */
function pending(task: Task): object {
  const elicitations = task.asks.flatMap((ask) => elicitation(task.id, ask));
  return elicitations.length > 0 ? { [PENDING_ELICITATIONS]: elicitations } : {};
}

type Elicitation = { readonly elicitationId: string; readonly message: string } & (
  | { readonly mode: "form"; readonly requestedSchema: JsonObject }
  | { readonly mode: "url"; readonly url: string }
);

function elicitation(taskId: string, ask: Ask): readonly Elicitation[] {
  const { key, request } = ask;
  if (request.type !== "form" && request.type !== "url") return [];
  const common = { elicitationId: elicitationId(taskId, key), message: messageOf({ ...ask, request }) };
  return request.type === "form"
    ? [{ mode: "form", ...common, requestedSchema: request.schema }]
    : [{ mode: "url", ...common, url: request.url }];
}

function immediateResponse({ immediateResponse: text }: Task): object {
  return text === undefined ? {} : { [IMMEDIATE_RESPONSE]: text };
}

/** FastMCP's dialect has the oldest open question here. The specification adds nothing, since the params name the task already. */
function statusMeta(task: Task): object {
  const [first] = task.asks.flatMap((ask) => elicitation(task.id, ask));
  if (!first) return {};
  const { mode, ...rest } = first;
  return { _meta: { [RELATED_TASK]: { taskId: task.id, elicitation: mode === "form" ? rest : first } } };
}

/** Exactly the answer that the call itself would have received (S25 basic/utilities/tasks, "Result Retrieval"). */
function taskResult(task: Task): object {
  const { id, status, outcome, message } = task;
  if (!isFinished(status)) throw new Error(`task ${id} is ${status}: it has no result yet`);
  if (status === "cancelled")
    throw new RpcFailure(INVALID_PARAMS, `the task was cancelled and has no result${message === undefined ? "" : `: ${message}`}`);
  switch (outcome?.type) {
    case "result": {
      const result = callResult(outcome.result);
      const meta = result["_meta"];
      return { ...result, _meta: { ...(isObject(meta) ? meta : {}), ...related(id) } };
    }
    case "error":
      throw new RpcFailure(outcome.error.code, outcome.error.message, outcome.error.data);
    case undefined:
      throw new Error(`task ${id} is ${status} but its outcome is absent`);
  }
}
