/**
 * The dialects of MCP as pure functions: what a request wants, and what to answer.
 *
 *   const say = rev20260728.encoder(facts);               once per process: every message of that revision
 *   const decoded = decode({ headers, body, tool });      an intent, or the error to send back
 *   resultMessage(decoded.id, say.toolList(catalogue));   the answer
 */
import type { Decoded, Inbound } from "./dialect.ts";
import { headerValue } from "./header-value.ts";
import { invalidRequest, own, shapeOf } from "./json-rpc.ts";
import { rev20260728, type Intent } from "./rev-2026-07-28/index.ts";
import { unsupportedVersion } from "./unsupported-version.ts";

/** Every revision that is served, newest first. */
export const DIALECTS = [rev20260728] as const;

/** The dialect that the request claims to speak; nothing when it claims none. */
export function selectDialect(inbound: Pick<Inbound, "headers" | "body">): (typeof DIALECTS)[number] | undefined {
  return DIALECTS.find((dialect) => dialect.claims(inbound));
}

/** Decodes by the dialect that the request claims. One that claims none is told what is served. */
export function decode(inbound: Inbound): Decoded<Intent> {
  return selectDialect(inbound)?.decode(inbound) ?? { type: "rejected", ...unclaimed(inbound) };
}

function unclaimed({ headers, body }: Inbound): ReturnType<typeof unsupportedVersion> {
  const message = shapeOf(body);
  if (message.type === "invalid") return invalidRequest(message.problem, message.id);
  if (message.type === "response") return invalidRequest("no request was sent to this client", message.id);
  const asked = message.method === "initialize" ? own(message.params, "protocolVersion") : headerValue(headers, "mcp-protocol-version");
  return unsupportedVersion(message.type === "request" ? message.id : undefined, typeof asked === "string" ? asked : undefined);
}

export type { Decoded, Dialect, Headers, Inbound, ProgressToken, ServerFacts } from "./dialect.ts";
export { jsonDepthExceeds } from "./json-depth.ts";
export {
  errorMessage,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  invalidRequest,
  METHOD_NOT_FOUND,
  notificationMessage,
  PARSE_ERROR,
  parseError,
  resultMessage,
  type Reply,
  type RequestId,
  type RpcErrorMessage,
  type RpcNotification,
  type RpcResult,
} from "./json-rpc.ts";
export * from "./rev-2026-07-28/index.ts";
export { SUPPORTED_VERSIONS } from "./unsupported-version.ts";
