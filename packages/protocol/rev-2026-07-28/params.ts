/**
 * The params of each method, read by hand: a union of schemas costs more than the rest of a tasks/get together, and strips what it does
 * not know. A problem is thrown as `BadParams` and becomes -32602.
 */
import type { JsonObject } from "@parley/core";
import { isObject, own, type Wire } from "../json-rpc.ts";
import type {
  CallTool,
  CancelTask,
  Complete,
  Discover,
  GetPrompt,
  GetTask,
  List,
  Listen,
  ReadResource,
  Retry,
  UpdateTask,
} from "./intents.ts";

export class BadParams extends Error {
  override readonly name = "BadParams";
}

export function discover(): Discover {
  return { type: "discover" };
}

export function list(type: List["type"]): (params: Wire) => List {
  return (params) => {
    const cursor = optional(params, "cursor", isString, "a string");
    return cursor === undefined ? { type } : { type, cursor };
  };
}

export function callTool(params: Wire): CallTool {
  const args = optional(params, "arguments", isObject, "an object") ?? {};
  return { type: "callTool", name: required(params, "name"), arguments: args as JsonObject, ...retry(params) };
}

export function getPrompt(params: Wire): GetPrompt {
  return { type: "getPrompt", name: required(params, "name"), arguments: strings(params, "arguments"), ...retry(params) };
}

export function readResource(params: Wire): ReadResource {
  return { type: "readResource", uri: required(params, "uri"), ...retry(params) };
}

export function complete(params: Wire): Complete {
  const ref = member(params, "ref", isObject, "an object");
  const argument = member(params, "argument", isObject, "an object");
  const context = optional(params, "context", isObject, "an object") ?? {};
  return {
    type: "complete",
    of: completed(ref),
    argument: required(argument, "name", "argument.name"),
    value: required(argument, "value", "argument.value"),
    others: strings(context, "arguments", "context.arguments"),
  };
}

function completed(ref: Wire): Complete["of"] {
  switch (own(ref, "type")) {
    case "ref/prompt":
      return { type: "prompt", name: required(ref, "name", "ref.name") };
    case "ref/resource":
      return { type: "template", uri: required(ref, "uri", "ref.uri") };
    default:
      throw new BadParams('ref.type must be "ref/prompt" or "ref/resource"');
  }
}

export function getTask(params: Wire): GetTask {
  return { type: "getTask", taskId: required(params, "taskId") };
}

export function updateTask(params: Wire): UpdateTask {
  return { type: "updateTask", taskId: required(params, "taskId"), replies: bare(member(params, "inputResponses", isObject, "an object")) };
}

export function cancelTask(params: Wire): CancelTask {
  return { type: "cancelTask", taskId: required(params, "taskId") };
}

export function listen(params: Wire): Listen {
  const filter = member(params, "notifications", isObject, "an object");
  return {
    type: "listen",
    taskIds: subscriptions(filter, "taskIds"),
    toolsListChanged: flag(filter, "toolsListChanged"),
    promptsListChanged: flag(filter, "promptsListChanged"),
    resourcesListChanged: flag(filter, "resourcesListChanged"),
    resourceSubscriptions: subscriptions(filter, "resourceSubscriptions"),
  };
}

function retry(params: Wire): Retry {
  const replies = optional(params, "inputResponses", isObject, "an object");
  const requestState = optional(params, "requestState", isString, "a string");
  return { ...(replies === undefined ? {} : { replies: bare(replies) }), ...(requestState === undefined ? {} : { requestState }) };
}

/** Without a prototype: the keys come from outside and are looked up by ask names, of which `constructor` may be one. */
function bare(replies: Wire): { readonly [key: string]: unknown } {
  return Object.defineProperties(Object.create(null) as object, Object.getOwnPropertyDescriptors(replies)) as {
    readonly [key: string]: unknown;
  };
}

function subscriptions(filter: Wire, key: string): readonly string[] {
  const values = optional(filter, key, isStrings, "an array of strings", `notifications.${key}`) ?? [];
  return [...new Set(values)];
}

function flag(filter: Wire, key: string): boolean {
  return optional(filter, key, isBoolean, "a boolean", `notifications.${key}`) ?? false;
}

function strings(params: Wire, key: string, name = key): { readonly [name: string]: string } {
  const values = optional(params, key, isObject, "an object", name) ?? {};
  for (const item of Object.keys(values)) {
    if (typeof values[item] !== "string") throw new BadParams(`${name}.${item} must be a string`);
  }
  return values as { readonly [name: string]: string };
}

function required(params: Wire, key: string, name = key): string {
  return member(params, key, isString, "a string", name);
}

function member<T>(params: Wire, key: string, is: (value: unknown) => value is T, what: string, name = key): T {
  const value = own(params, key);
  if (is(value)) return value;
  throw new BadParams(value === undefined ? `${name} is required` : `${name} must be ${what}`);
}

function optional<T>(params: Wire, key: string, is: (value: unknown) => value is T, what: string, name = key): T | undefined {
  const value = own(params, key);
  if (value === undefined || is(value)) return value;
  throw new BadParams(`${name} must be ${what}`);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isString);
}
