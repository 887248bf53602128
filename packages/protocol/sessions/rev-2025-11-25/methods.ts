/** The requests of this revision: those of every session, tasks, and FastMCP's tasks/sendInput. */
import { EVENTS_METHODS } from "../../events.ts";
import { given, isObject, own, type Wire } from "../../json-rpc.ts";
import { BadParams, cancelTask, cursorOf, isString, optional, required } from "../../params.ts";
import type { CallTool, GetTask, GivenAnswer, ListTasks, SendInput, TaskResult } from "../../intents.ts";
import type { SessionIntent } from "../intents.ts";
import { callTool, metaOf, SESSION_METHODS, type Methods } from "../methods.ts";
import { ELICITATION_RESPONSE } from "../names.ts";

export const METHODS: Methods = new Map<string, (params: Wire) => SessionIntent>([
  ...SESSION_METHODS,
  ["tools/call", callToolOrTask],
  ["tasks/get", getTask],
  ["tasks/result", taskResult],
  ["tasks/list", listTasks],
  ["tasks/cancel", cancelTask],
  ["tasks/sendInput", sendInput],
  ...Object.entries(EVENTS_METHODS),
]);

function callToolOrTask(params: Wire): CallTool {
  const task = optional(params, "task", isObject, "an object");
  if (!task) return callTool(params);
  // Null is a value here: no limit.
  const ttlMs = own(task, "ttl");
  if (ttlMs !== undefined && !isTtl(ttlMs)) throw new BadParams("task.ttl must be a number of milliseconds that is not negative, or null");
  return { ...callTool(params), task: ttlMs === undefined ? {} : { ttlMs } };
}

function isTtl(value: unknown): value is number | null {
  return value === null || (Number.isFinite(value) && Number(value) >= 0);
}

function getTask(params: Wire): GetTask {
  const answers = given(metaOf(params), ELICITATION_RESPONSE);
  return { type: "getTask", taskId: required(params, "taskId"), ...(answers !== undefined && { answers: givenAnswers(answers) }) };
}

/** Proposal #1869 allows one answer here; an array of several is accepted too. */
function givenAnswers(answers: unknown): readonly GivenAnswer[] {
  const name = `_meta["${ELICITATION_RESPONSE}"]`;
  return (Array.isArray(answers) ? answers : [answers]).map((answer: unknown) => {
    if (!isObject(answer)) throw new BadParams(`${name} must be an object with an elicitationId and an action, or an array of such`);
    return { elicitationId: required(answer, "elicitationId", `${name}.elicitationId`), reply: replyIn(answer) };
  });
}

function taskResult(params: Wire): TaskResult {
  return { type: "taskResult", taskId: required(params, "taskId") };
}

function listTasks(params: Wire): ListTasks {
  return { type: "listTasks", ...cursorOf(params) };
}

function sendInput(params: Wire): SendInput {
  const elicitationId = optional(params, "elicitationId", isString, "a string");
  return {
    type: "sendInput",
    taskId: required(params, "taskId"),
    ...(elicitationId === undefined ? {} : { elicitationId }),
    reply: replyIn(params),
  };
}

/** The ElicitResult within the message. Of its `_meta` only why a person declines. */
function replyIn(message: Wire): unknown {
  const { _meta: meta } = message;
  const reason = isObject(meta) ? meta[REASON] : undefined;
  return {
    ...Object.fromEntries(["action", "content"].flatMap((key) => (Object.hasOwn(message, key) ? [[key, message[key]]] : []))),
    ...(reason !== undefined && { reason }),
  };
}

const REASON = "parley/reason";
