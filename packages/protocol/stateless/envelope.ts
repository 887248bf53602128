/** The envelope: the facts about the client in `params._meta` of every request (S26 basic/index, "Request metadata"). */
import { LOG_LEVELS, type LogLevel } from "@parley/core";
import type { Wants } from "../intents.ts";
import { given, isObject, type Wire } from "../json-rpc.ts";
import { isProgressToken, PROGRESS_TOKEN } from "../params.ts";
import { declaresTasks, readCapabilities } from "./capabilities.ts";
import type { ClientFacts } from "./intents.ts";
import { CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION } from "./names.ts";

export type Envelope =
  | { readonly type: "read"; readonly version: string; readonly client: ClientFacts; readonly wants: Wants }
  | { readonly type: "incomplete"; readonly missing: readonly string[] }
  | { readonly type: "malformed"; readonly key: string; readonly problem: string };

/** The `_meta` of a request's params, if it is an object. */
export function metaOf(params: Wire): Wire | undefined {
  const meta = given(params, "_meta");
  return isObject(meta) ? meta : undefined;
}

export function readEnvelope(params: Wire): Envelope {
  const raw = given(params, "_meta");
  if (raw === undefined) return { type: "incomplete", missing: ["_meta"] };
  if (!isObject(raw)) return { type: "malformed", key: "_meta", problem: "must be an object" };
  const missing = [PROTOCOL_VERSION, CLIENT_CAPABILITIES].filter((key) => given(raw, key) === undefined);
  if (missing.length > 0) return { type: "incomplete", missing };

  const version = given(raw, PROTOCOL_VERSION);
  if (typeof version !== "string") return { type: "malformed", key: PROTOCOL_VERSION, problem: "must be a string" };
  const declared = given(raw, CLIENT_CAPABILITIES);
  if (!isObject(declared)) return { type: "malformed", key: CLIENT_CAPABILITIES, problem: "must be an object" };
  const capabilities = readCapabilities(declared);
  if (typeof capabilities === "string")
    return { type: "malformed", key: CLIENT_CAPABILITIES, problem: `${capabilities} must be an object` };
  const clientInfo = given(raw, CLIENT_INFO);
  if (clientInfo !== undefined && !isClientInfo(clientInfo)) {
    return { type: "malformed", key: CLIENT_INFO, problem: "must be an object with a name and a version" };
  }
  const logLevel = given(raw, LOG_LEVEL);
  if (logLevel !== undefined && !isLogLevel(logLevel))
    return { type: "malformed", key: LOG_LEVEL, problem: `must be one of ${LOG_LEVELS.join(", ")}` };
  const progressToken = given(raw, "progressToken");
  if (progressToken !== undefined && !isProgressToken(progressToken)) {
    return { type: "malformed", key: "progressToken", problem: `must be ${PROGRESS_TOKEN}` };
  }
  return {
    type: "read",
    version,
    client: {
      capabilities,
      speaksTasks: declaresTasks(declared),
      ...(clientInfo === undefined ? {} : { clientInfo: { name: clientInfo.name, version: clientInfo.version } }),
    },
    wants: { ...(logLevel === undefined ? {} : { logLevel }), ...(progressToken === undefined ? {} : { progressToken }) },
  };
}

function isClientInfo(value: unknown): value is { name: string; version: string } {
  return isObject(value) && typeof given(value, "name") === "string" && typeof given(value, "version") === "string";
}

function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}
