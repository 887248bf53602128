/** Readers for the params of stateless methods. Those that both families share are in ../params.ts. */
import type { JsonObject } from "@parley/core";
import { isObject, type Wire } from "../json-rpc.ts";
import { callArguments, callReason, idempotencyKey, isString, isUri, member, optional, required, strings, BOUNDED_URI } from "../params.ts";
import type { CallTool, Discover, GetPrompt, GetTask, Listen, ReadResource, Retry, UpdateTask } from "../intents.ts";

export { cancelTask, complete, list } from "../params.ts";

export function discover(): Discover {
  return { type: "discover" };
}

export function callTool(params: Wire): CallTool {
  return {
    type: "callTool",
    name: required(params, "name"),
    arguments: callArguments(params) as JsonObject,
    ...retry(params),
    ...idempotencyKey(params),
    ...callReason(params),
  };
}

export function getPrompt(params: Wire): GetPrompt {
  return {
    type: "getPrompt",
    name: required(params, "name"),
    arguments: strings(params, "arguments"),
    ...retry(params),
    ...callReason(params),
  };
}

export function readResource(params: Wire): ReadResource {
  return { type: "readResource", uri: member(params, "uri", isUri, BOUNDED_URI), ...retry(params) };
}

export function getTask(params: Wire): GetTask {
  return { type: "getTask", taskId: required(params, "taskId") };
}

export function updateTask(params: Wire): UpdateTask {
  return { type: "updateTask", taskId: required(params, "taskId"), replies: bare(member(params, "inputResponses", isObject, "an object")) };
}

export function listen(params: Wire): Listen {
  const filter = member(params, "notifications", isObject, "an object");
  return {
    type: "listen",
    taskIds: subscriptions(filter, "taskIds", isStrings, "an array of strings"),
    toolsListChanged: flag(filter, "toolsListChanged"),
    promptsListChanged: flag(filter, "promptsListChanged"),
    resourcesListChanged: flag(filter, "resourcesListChanged"),
    resourceSubscriptions: subscriptions(filter, "resourceSubscriptions", isUris, `an array, each of its members ${BOUNDED_URI}`),
  };
}

function retry(params: Wire): Retry {
  const replies = optional(params, "inputResponses", isObject, "an object");
  const requestState = optional(params, "requestState", isString, "a string");
  return { ...(replies === undefined ? {} : { replies: bare(replies) }), ...(requestState === undefined ? {} : { requestState }) };
}

/** Without a prototype: replies are looked up by ask key, which may be `constructor`. */
function bare(replies: Wire): { readonly [key: string]: unknown } {
  return Object.defineProperties(Object.create(null) as object, Object.getOwnPropertyDescriptors(replies)) as {
    readonly [key: string]: unknown;
  };
}

function subscriptions(filter: Wire, key: string, is: (value: unknown) => value is readonly string[], what: string): readonly string[] {
  const values = optional(filter, key, is, what, `notifications.${key}`) ?? [];
  return [...new Set(values)];
}

function flag(filter: Wire, key: string): boolean {
  return optional(filter, key, isBoolean, "a boolean", `notifications.${key}`) ?? false;
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isString);
}

function isUris(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isUri);
}
