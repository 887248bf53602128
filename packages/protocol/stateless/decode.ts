/**
 * Decodes a parsed body and its headers to an intent, or to the error that the specification requires.
 *
 * The first failing check decides, in this order: JSON-RPC shape, envelope, version, standard headers, method, capabilities, params, Mcp-Param-*.
 * Capabilities precede any lookup, so that a client without the extension learns nothing about task ids.
 */
import type { Rejected } from "../dialect.ts";
import { capabilityRequired, type RequiredCapabilities } from "../capabilities.ts";
import { headerValue } from "../header-value.ts";
import {
  errorMessage,
  given,
  INVALID_PARAMS,
  invalidRequest,
  METHOD_NOT_FOUND,
  quoted,
  shapeOf,
  type RequestId,
  type RpcRequest,
  type Wire,
} from "../json-rpc.ts";
import { BadParams, readParams } from "../params.ts";
import { type StatelessVersion, unsupportedVersion } from "../versions.ts";
import { REQUIRED_TASKS } from "./capabilities.ts";
import type { Inbound, StatelessMessage } from "./dialect.ts";
import { metaOf, readEnvelope } from "./envelope.ts";
import { methodMismatch, nameMismatch, paramMismatch, type Mismatch } from "./headers.ts";
import type { ClientFacts, StatelessIntent } from "./intents.ts";
import { HEADER_MISMATCH, MISSING_CAPABILITY, PROTOCOL_VERSION } from "./names.ts";

/** Readers by method. Other methods do not exist. `needsTasks`: only for clients that declare the extension. */
export type Methods = ReadonlyMap<string, Method>;

export interface Method {
  readonly read: (params: Wire) => StatelessIntent;
  readonly needsTasks?: true;
}

/** The parts of a revision that decode its requests. */
export interface Reading {
  readonly version: StatelessVersion;
  readonly methods: Methods;
}

export function decode(reading: Reading, inbound: Inbound): StatelessMessage {
  const message = shapeOf(inbound.body);
  switch (message.type) {
    case "invalid":
      return rejected(invalidRequest(message.problem, message.id));
    case "response":
      return rejected(invalidRequest("this protocol revision sends no requests to clients, so it takes no responses", message.id));
    case "notification":
      return decodeNotification(reading, inbound, message);
    case "request":
      return decodeRequest(reading, inbound, message);
  }
}

/** Notifications need no envelope, but a version or header that they carry must be correct. */
function decodeNotification(
  { version }: Reading,
  { headers }: Inbound,
  { method, params }: { readonly method: string; readonly params: Wire },
): StatelessMessage {
  const header = headerValue(headers, "mcp-protocol-version");
  const claimed = given(metaOf(params) ?? {}, PROTOCOL_VERSION);
  if (claimed !== undefined && typeof claimed !== "string")
    return invalidParams(undefined, `_meta: ${PROTOCOL_VERSION} must be a string`, 400);
  if (header !== undefined && claimed !== undefined && header !== claimed) return mismatched(undefined, versionMismatch(header, claimed));
  const said = claimed ?? header;
  if (said !== version) return rejected(unsupportedVersion(undefined, said ?? ""));
  const mismatch = headerValue(headers, "mcp-method") === undefined ? undefined : methodMismatch(headers, method);
  return mismatch ? mismatched(undefined, mismatch) : { type: "notification", method };
}

function decodeRequest({ version, methods }: Reading, inbound: Inbound, request: RpcRequest): StatelessMessage {
  const { headers } = inbound;
  const { id, method } = request;

  const envelope = readEnvelope(request.params);
  if (envelope.type === "incomplete") {
    return invalidParams(id, `_meta lacks what every request must carry: ${envelope.missing.join(", ")}`, 400, {
      envelope: { missing: envelope.missing },
    });
  }
  if (envelope.type === "malformed") {
    const { key, problem } = envelope;
    return invalidParams(id, `_meta: ${key} ${problem}`, 400, { envelope: { key, problem } });
  }
  const header = headerValue(headers, "mcp-protocol-version");
  if (header !== undefined && header !== envelope.version) return mismatched(id, versionMismatch(header, envelope.version));
  if (envelope.version !== version) return rejected(unsupportedVersion(id, envelope.version));
  if (header === undefined) return mismatched(id, versionMismatch("(missing)", envelope.version));
  const mismatch = methodMismatch(headers, method) ?? nameMismatch(headers, request);
  if (mismatch) return mismatched(id, mismatch);

  const found = methods.get(method);
  if (!found)
    return rejected({
      httpStatus: 404,
      message: errorMessage(id, { code: METHOD_NOT_FOUND, message: `${quoted(method)} is not a method of ${version}` }),
    });
  const { client, wants } = envelope;
  if (found.needsTasks && !client.speaksTasks) return missing(id, method, REQUIRED_TASKS);

  const intent = readParams(found.read, request.params);
  if (intent instanceof BadParams) return invalidParams(id, intent.message, 200);
  return refuse(inbound, { id, intent, client }) ?? { type: "request", id, method, intent, client, wants };
}

/** Refuses a request for tasks of a client without them. An unknown tool, and one that needs more of its client, is reported when the call is made. */
function refuse(
  inbound: Inbound,
  { id, intent, client }: { readonly id: RequestId; readonly intent: StatelessIntent; readonly client: ClientFacts },
): Rejected | undefined {
  if (intent.type === "listen")
    return intent.taskIds.length > 0 && !client.speaksTasks ? missing(id, "taskIds", REQUIRED_TASKS) : undefined;
  if (intent.type !== "callTool") return undefined;
  const tool = inbound.tool(intent.name);
  if (!tool) return undefined;
  const mismatch = paramMismatch(inbound.headers, tool, intent.arguments);
  if (mismatch) return mismatched(id, mismatch);
  return tool.task === "required" && !client.speaksTasks ? missing(id, `the tool ${intent.name}`, REQUIRED_TASKS) : undefined;
}

function rejected(reply: Omit<Rejected, "type">): Rejected {
  return { type: "rejected", ...reply };
}

function invalidParams(id: RequestId | undefined, message: string, httpStatus: number, data?: object): Rejected {
  return rejected({ httpStatus, message: errorMessage(id, { code: INVALID_PARAMS, message, ...(data ? { data } : {}) }) });
}

function mismatched(id: RequestId | undefined, mismatch: Mismatch): Rejected {
  const message = `headers and body disagree: ${mismatch.body}`;
  return rejected({ httpStatus: 400, message: errorMessage(id, { code: HEADER_MISMATCH, message, data: { mismatch } }) });
}

function versionMismatch(header: string, version: string): Mismatch {
  return { header, body: `the MCP-Protocol-Version header must be ${quoted(version)}, the version that _meta names` };
}

function missing(id: RequestId, what: string, requiredCapabilities: RequiredCapabilities): Rejected {
  const { message, code, hint, data } = capabilityRequired(what, requiredCapabilities);
  return rejected({ httpStatus: 400, message: errorMessage(id, { code: MISSING_CAPABILITY, message, data: { ...data, code, hint } }) });
}
