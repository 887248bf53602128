/**
 * The stateless revisions: each request is self-contained, and a question is the answer to a call.
 *
 *   statelessDialect({ headers, body })             the revision that the request names, even if it is malformed
 *   dialect.decode({ headers, body, tool })         an intent, or the error to send back
 *   dialect.encoder(facts)                          every message of that revision; once per process
 */
export type * from "./dialect.ts";
export type * from "./intents.ts";
export { CLIENT_CAPABILITIES, CLIENT_INFO, HEADER_MISMATCH, MISSING_CAPABILITY, PROTOCOL_VERSION } from "./names.ts";
export { paramHeaders } from "./param-headers.ts";
export { ERROR_CODES } from "./rev-2026-07-28/index.ts";
export { STATELESS_DIALECTS, statelessDialect } from "./revisions.ts";
