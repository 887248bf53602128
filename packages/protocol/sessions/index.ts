/**
 * The revisions before 2026. Their clients open a session with `initialize` and are asked on its streams.
 *
 *   readInitialize(body)                          which revision to speak, and what the client can be asked
 *   sessionDialect(version).decode(body)          an intent, a notice, or the reply to a request of the server
 *   sessionDialect(version).encoder(facts)        every message of that revision; once per process
 */
export type * from "./dialect.ts";
export { elicitationId, parseElicitationId } from "./elicitation-id.ts";
export { SESSION_ERROR_CODES } from "./errors.ts";
export { type InitializeRead, readInitialize } from "./initialize.ts";
export type * from "./intents.ts";
export { taskFinished } from "./rev-2025-11-25/index.ts";
export { SESSION_DIALECTS, sessionDialect } from "./revisions.ts";
