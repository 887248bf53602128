/**
 * From a parsed body and its headers to an intent, or to the error that the specification wants.
 *
 * The first check that fails decides: JSON-RPC shape, envelope, version, standard headers, method, capabilities, params, Mcp-Param-*.
 * Capabilities come before anything is looked up, so that a client without the extension learns nothing about task ids.
 */
import type { Decoded, Inbound } from "../dialect.ts";
import { capabilityRequired, missingCapabilities, type RequiredCapabilities } from "../../capabilities.ts";
import { headerValue } from "../../header-value.ts";
import {
  errorMessage,
  INVALID_PARAMS,
  invalidRequest,
  isObject,
  METHOD_NOT_FOUND,
  own,
  quoted,
  shapeOf,
  type RequestId,
  type RpcRequest,
  type Wire,
} from "../../json-rpc.ts";
import { BadParams, readParams } from "../../params.ts";
import { unsupportedVersion } from "../../versions.ts";
import { REQUIRED_TASKS } from "./capabilities.ts";
import { metaOf, readEnvelope } from "./envelope.ts";
import { methodMismatch, nameMismatch, paramMismatch, type Mismatch } from "./headers.ts";
import type { ClientFacts, Intent } from "./intents.ts";
import { HEADER_MISMATCH, MISSING_CAPABILITY, PROTOCOL_VERSION, VERSION } from "./names.ts";
import * as params from "./params.ts";

type Rejected = Extract<Decoded<Intent>, { type: "rejected" }>;

/** Each member of Intent without the facts about its client. */
type Wanted = Intent extends infer I ? (I extends Intent ? Omit<I, keyof ClientFacts> : never) : never;

/** The methods of this revision. What is not here does not exist: tasks/list, tasks/result, initialize, ping, logging/setLevel … */
const METHODS: ReadonlyMap<string, { readonly read: (params: Wire) => Wanted; readonly needsTasks?: true }> = new Map([
  ["server/discover", { read: params.discover }],
  ["tools/list", { read: params.list("listTools") }],
  ["tools/call", { read: params.callTool }],
  ["prompts/list", { read: params.list("listPrompts") }],
  ["prompts/get", { read: params.getPrompt }],
  ["resources/list", { read: params.list("listResources") }],
  ["resources/templates/list", { read: params.list("listTemplates") }],
  ["resources/read", { read: params.readResource }],
  ["completion/complete", { read: params.complete }],
  ["subscriptions/listen", { read: params.listen }],
  ["tasks/get", { read: params.getTask, needsTasks: true }],
  ["tasks/update", { read: params.updateTask, needsTasks: true }],
  ["tasks/cancel", { read: params.cancelTask, needsTasks: true }],
]);

/** A version in `_meta` is this revision's own device, whatever it names; the header is shared with older ones. */
export function claims({ headers, body }: Pick<Inbound, "headers" | "body">): boolean {
  if (headerValue(headers, "mcp-protocol-version") === VERSION) return true;
  const inner = isObject(body) ? own(body, "params") : undefined;
  const meta = isObject(inner) ? metaOf(inner) : undefined;
  return meta !== undefined && Object.hasOwn(meta, PROTOCOL_VERSION);
}

export function decode(inbound: Inbound): Decoded<Intent> {
  const message = shapeOf(inbound.body);
  switch (message.type) {
    case "invalid":
      return rejected(invalidRequest(message.problem, message.id));
    case "response":
      return rejected(invalidRequest("this protocol revision sends no requests to clients, so it takes no responses", message.id));
    case "notification":
      return decodeNotification(inbound, message);
    case "request":
      return decodeRequest(inbound, message);
  }
}

/** Notifications need no envelope; what they say about themselves must still be true. */
function decodeNotification(
  { headers }: Inbound,
  { method, params: inner }: { readonly method: string; readonly params: Wire },
): Decoded<Intent> {
  const header = headerValue(headers, "mcp-protocol-version");
  const claimed = own(metaOf(inner) ?? {}, PROTOCOL_VERSION);
  if (claimed !== undefined && typeof claimed !== "string")
    return invalidParams(undefined, `_meta: ${PROTOCOL_VERSION} must be a string`, 400);
  if (header !== undefined && claimed !== undefined && header !== claimed) return mismatched(undefined, versionMismatch(header, claimed));
  const version = claimed ?? header;
  if (version !== VERSION) return rejected(unsupportedVersion(undefined, version ?? ""));
  const mismatch = headerValue(headers, "mcp-method") === undefined ? undefined : methodMismatch(headers, method);
  return mismatch ? mismatched(undefined, mismatch) : { type: "notification", method };
}

function decodeRequest(inbound: Inbound, request: RpcRequest): Decoded<Intent> {
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
  if (envelope.version !== VERSION) return rejected(unsupportedVersion(id, envelope.version));
  if (header === undefined) return mismatched(id, versionMismatch("(missing)", envelope.version));
  const mismatch = methodMismatch(headers, method) ?? nameMismatch(headers, request);
  if (mismatch) return mismatched(id, mismatch);

  const found = METHODS.get(method);
  if (!found)
    return rejected({
      httpStatus: 404,
      message: errorMessage(id, { code: METHOD_NOT_FOUND, message: `${quoted(method)} is not a method of ${VERSION}` }),
    });
  const { client } = envelope;
  if (found.needsTasks && !client.speaksTasks) return missing(id, method, REQUIRED_TASKS);

  const wanted = readParams(found.read, request.params);
  if (wanted instanceof BadParams) return invalidParams(id, wanted.message, 200);
  const refusal = refuse(inbound, { id, wanted, client });
  return refusal ?? { type: "request", id, method, intent: { ...wanted, ...client } as Intent };
}

/** What the params themselves make impossible for this client. An unknown tool is left to whoever looks it up. */
function refuse(inbound: Inbound, { id, wanted, client }: { id: RequestId; wanted: Wanted; client: ClientFacts }): Rejected | undefined {
  if (wanted.type === "listen")
    return wanted.taskIds.length > 0 && !client.speaksTasks ? missing(id, "taskIds", REQUIRED_TASKS) : undefined;
  if (wanted.type !== "callTool") return undefined;
  const tool = inbound.tool(wanted.name);
  if (!tool) return undefined;
  const mismatch = paramMismatch(inbound.headers, tool, wanted.arguments);
  if (mismatch) return mismatched(id, mismatch);
  const required = {
    ...missingCapabilities(tool.needs, client.capabilities),
    ...(tool.task === "required" && !client.speaksTasks ? REQUIRED_TASKS : {}),
  };
  return Object.keys(required).length > 0 ? missing(id, `the tool ${wanted.name}`, required) : undefined;
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
