/**
 * The dialects of MCP as pure functions: what a request wants, and what to answer.
 *
 *   const say = rev20260728.encoder(facts);                  once per process: every message of that revision
 *   rev20260728.claims({ headers, body })                    whether the request is of that revision, well formed or not
 *   rev20260728.decode({ headers, body, tool })              an intent, or the error to send back
 *   resultMessage(decoded.id, say.toolList(catalogue))       the answer
 *
 * Revisions before 2026 have sessions, which `initialize` opens:
 *
 *   readInitialize(body)                                     which revision to speak, and what the client can be asked
 *   sessionDialect(version).decode(body)                     an intent, a notice, or the reply to a request of ours
 */
import { rev20250326 } from "./sessions/rev-2025-03-26/index.ts";
import { rev20250618 } from "./sessions/rev-2025-06-18/index.ts";
import { rev20251125 } from "./sessions/rev-2025-11-25/index.ts";
import type { SessionDialect } from "./sessions/dialect.ts";
import { readInitializeOf, type InitializeRead } from "./sessions/initialize.ts";

/** Every revision with sessions that is served, newest first. */
export const SESSION_DIALECTS = [rev20251125, rev20250618, rev20250326] as const;

const SESSION_VERSIONS: readonly [string, ...string[]] = [rev20251125.version, rev20250618.version, rev20250326.version];

export function sessionDialect(version: string): SessionDialect | undefined {
  return SESSION_DIALECTS.find((dialect) => dialect.version === version);
}

/** What a client wants that opens a session. Undefined when the message is no `initialize`. */
export function readInitialize(message: unknown): InitializeRead | undefined {
  return readInitializeOf(SESSION_VERSIONS, message);
}

export type { Decoded, Dialect, Headers, Inbound, ProgressToken, ServerFacts } from "./dialect.ts";
export { isDefect } from "./failures.ts";
export { headerValue } from "./header-value.ts";
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
export * from "./stateless/rev-2026-07-28/index.ts";
export { taskFinished } from "./sessions/rev-2025-11-25/index.ts";
export type * from "./sessions/dialect.ts";
export { elicitationId, parseElicitationId } from "./sessions/elicitation-id.ts";
export { SESSION_ERROR_CODES } from "./sessions/errors.ts";
export type { InitializeRead } from "./sessions/initialize.ts";
export type * from "./sessions/intents.ts";
export { SUPPORTED_VERSIONS, unsupportedVersion } from "./unsupported-version.ts";
