/**
 * The revisions without sessions: each request says everything about itself, and a question is the answer to a call.
 *
 *   rev20260728.claims({ headers, body })           whether the request is of that revision, well formed or not
 *   rev20260728.decode({ headers, body, tool })     an intent, or the error to send back
 *   rev20260728.encoder(facts)                      every message of that revision; once per process
 */
export type { Decoded, Dialect, Inbound } from "./dialect.ts";
export * from "./rev-2026-07-28/index.ts";
