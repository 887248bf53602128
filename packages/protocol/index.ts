/**
 * The dialects of MCP as pure functions: they decode requests and encode answers. There are two families, each with its own entry point:
 *
 *   @parley/protocol/stateless     2026-07-28: each request says everything about itself
 *   @parley/protocol/sessions      2025-11-25, 2025-06-18, 2025-03-26: `initialize` opens a session
 *
 * This entry point has what both families share. It knows no revision.
 */
export {
  ASK_VIEW_URI,
  capabilityRequired,
  missingCapabilities,
  readCapabilities,
  requiredCapabilities,
  type RequiredCapabilities,
  UI_EXTENSION,
  VIEW_MIME_TYPE,
} from "./capabilities.ts";
export { CREDENTIAL_ERRORS } from "./credential-errors.ts";
export { isDefect } from "./failures.ts";
export { type DeliveryMode, EVENTS_ERRORS, eventOf, eventStream, type Heard } from "./events.ts";
export { encodeHeaderValue, type Headers, headerValue } from "./header-value.ts";
export type * from "./dialect.ts";
export type { Failure } from "./failures.ts";
export type * from "./intents.ts";
export { CALL_REASON, IDEMPOTENCY_KEY } from "./params.ts";
export {
  errorMessage,
  INTERNAL_ERROR,
  internalError,
  INVALID_PARAMS,
  INVALID_REQUEST,
  invalidRequest,
  isObject,
  METHOD_NOT_FOUND,
  notificationMessage,
  own,
  PARSE_ERROR,
  parseError,
  resultMessage,
  type Reply,
  type RequestId,
  type RpcErrorMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResult,
  type RpcShape,
  shapeOf,
  type Wire,
} from "./json-rpc.ts";
export { growingPollInterval } from "./poll-interval.ts";
export { askableOn, type Climber, isInWords, type Rung, RUNGS, type Step, stepOf } from "./ladder.ts";
export { messageOf } from "./ask-message.ts";
export { resultOf } from "./result-of.ts";
export type { ServerFacts } from "./server-facts.ts";
export { namesOf, waitsForOthers } from "./waiting-message.ts";
export { SUPPORTED_VERSIONS, UNSUPPORTED_VERSION, unsupportedVersion } from "./versions.ts";
