/**
 * The revisions without sessions: each request says everything about itself, and a question is the answer to a call.
 *
 *   statelessDialect({ headers, body })             the revision that the request claims to be of, well formed or not
 *   dialect.decode({ headers, body, tool })         an intent, or the error to send back
 *   dialect.encoder(facts)                          every message of that revision; once per process
 */
export type * from "./dialect.ts";
export type * from "./intents.ts";
export { HEADER_MISMATCH, MISSING_CAPABILITY, PROTOCOL_VERSION } from "./names.ts";
export { paramHeaders } from "./param-headers.ts";
export { ERROR_CODES } from "./rev-2026-07-28/index.ts";
export { STATELESS_DIALECTS, statelessDialect } from "./revisions.ts";
