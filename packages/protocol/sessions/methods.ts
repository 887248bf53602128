/** The requests that every revision with sessions has, and how their params are read. */
import { LOG_LEVELS, type JsonObject, type LogLevel } from "@parley/core";
import type { ProgressToken } from "../intents.ts";
import { isObject, own, type Wire } from "../json-rpc.ts";
import {
  BadParams,
  callArguments,
  complete,
  isProgressToken,
  isSubscribableUri,
  list,
  member,
  optional,
  PROGRESS_TOKEN,
  required,
  strings,
  SUBSCRIBABLE_URI,
} from "../params.ts";
import type { CallToolInSession, GetPromptInSession, ReadResourceInSession, SessionIntent, SetLogLevel, Subscribe } from "./intents.ts";

/** By method. What is not here does not exist. `initialize` opens the session and is read by `readInitialize`. */
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

export function callTool(params: Wire): CallToolInSession {
  return { type: "callTool", name: required(params, "name"), arguments: callArguments(params) as JsonObject, ...tells(params) };
}

function getPrompt(params: Wire): GetPromptInSession {
  return { type: "getPrompt", name: required(params, "name"), arguments: strings(params, "arguments"), ...tells(params) };
}

function readResource(params: Wire): ReadResourceInSession {
  return { type: "readResource", uri: required(params, "uri") };
}

function subscribe(type: Subscribe["type"]): (params: Wire) => Subscribe {
  return (params) => ({ type, uri: member(params, "uri", isSubscribableUri, SUBSCRIBABLE_URI) });
}

function setLogLevel(params: Wire): SetLogLevel {
  return { type: "setLogLevel", level: member(params, "level", isLogLevel, `one of ${LOG_LEVELS.join(", ")}`) };
}

/** `_meta` of a request's params: an object wherever it stands. */
export function metaOf(params: Wire): Wire {
  return optional(params, "_meta", isObject, "an object") ?? {};
}

function tells(params: Wire): { readonly progressToken?: ProgressToken } {
  const progressToken = own(metaOf(params), "progressToken");
  if (progressToken === undefined) return {};
  if (!isProgressToken(progressToken)) throw new BadParams(`_meta.progressToken must be ${PROGRESS_TOKEN}`);
  return { progressToken };
}

function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}
