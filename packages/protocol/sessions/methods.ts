/** The requests that every revision with sessions has, and how their params are read. */
import { LOG_LEVELS, type JsonObject, type LogLevel } from "@parley/core";
import type { CallTool, GetPrompt, ReadResource, SetLogLevel, Subscribe, Wants } from "../intents.ts";
import { given, isObject, type Wire } from "../json-rpc.ts";
import {
  BadParams,
  callArguments,
  callReason,
  idempotencyKey,
  complete,
  isProgressToken,
  isUri,
  list,
  member,
  optional,
  PROGRESS_TOKEN,
  required,
  strings,
  BOUNDED_URI,
} from "../params.ts";
import type { SessionIntent } from "./intents.ts";

/** Readers by method. Other methods do not exist. `readInitialize` reads `initialize`. */
export type Methods = ReadonlyMap<string, (params: Wire) => SessionIntent>;

export const SESSION_METHODS: Methods = new Map<string, (params: Wire) => SessionIntent>([
  ["ping", () => ({ type: "ping" })],
  ["tools/list", list("listTools")],
  ["tools/call", callTool],
  ["prompts/list", list("listPrompts")],
  ["prompts/get", getPrompt],
  ["resources/list", list("listResources")],
  ["resources/templates/list", list("listTemplates")],
  ["resources/read", readResource],
  ["resources/subscribe", subscribe("subscribe")],
  ["resources/unsubscribe", subscribe("unsubscribe")],
  ["completion/complete", complete],
  ["logging/setLevel", setLogLevel],
]);

export function callTool(params: Wire): CallTool {
  return {
    type: "callTool",
    name: required(params, "name"),
    arguments: callArguments(params) as JsonObject,
    ...idempotencyKey(params),
    ...callReason(params),
  };
}

function getPrompt(params: Wire): GetPrompt {
  return { type: "getPrompt", name: required(params, "name"), arguments: strings(params, "arguments"), ...callReason(params) };
}

function readResource(params: Wire): ReadResource {
  return { type: "readResource", uri: member(params, "uri", isUri, BOUNDED_URI) };
}

function subscribe(type: Subscribe["type"]): (params: Wire) => Subscribe {
  return (params) => ({ type, uri: member(params, "uri", isUri, BOUNDED_URI) });
}

function setLogLevel(params: Wire): SetLogLevel {
  return { type: "setLogLevel", level: member(params, "level", isLogLevel, `one of ${LOG_LEVELS.join(", ")}`) };
}

/** `_meta` of a request's params. Throws BadParams unless it is an object or absent. */
export function metaOf(params: Wire): Wire {
  return optional(params, "_meta", isObject, "an object") ?? {};
}

/** Requests whose progress token counts: calls, and requests that wait for a task's result. */
const WITH_PROGRESS: ReadonlySet<SessionIntent["type"]> = new Set(["callTool", "getPrompt", "taskResult"]);

/** Which notifications the sender wants. */
export function wantsOf({ type }: SessionIntent, params: Wire): Wants {
  const progressToken = WITH_PROGRESS.has(type) ? given(metaOf(params), "progressToken") : undefined;
  if (progressToken === undefined) return {};
  if (!isProgressToken(progressToken)) throw new BadParams(`_meta.progressToken must be ${PROGRESS_TOKEN}`);
  return { progressToken };
}

function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}
