/**
 * Core's error catalogue in this revision's codes.
 *
 * -32602 and -32603 from a handler have HTTP 200; requests that the specification forbids outright have 400. A request that this front end could
 * not accept has 503, which load balancers and monitors understand without reading the body.
 */
import type { ErrorCode, ParleyError } from "@parley/core";
import { CREDENTIAL_ERRORS } from "../../credential-errors.ts";
import { dataOf as commonDataOf, type Shown } from "../../failures.ts";
import { INTERNAL_ERROR, INVALID_PARAMS } from "../../json-rpc.ts";
import { MISSING_CAPABILITY } from "../names.ts";

const CALLER: Shown = { code: INVALID_PARAMS, httpStatus: 200 };
const SERVER: Shown = { code: INTERNAL_ERROR, httpStatus: 200 };
const ELSEWHERE: Shown = { code: INTERNAL_ERROR, httpStatus: 503 };

export const ERROR_CODES: { readonly [code in ErrorCode]: Shown } = {
  TASK_NOT_FOUND: CALLER,
  TOOL_NOT_FOUND: CALLER,
  VERSION_NOT_FOUND: SERVER,
  PROMPT_NOT_FOUND: CALLER,
  RESOURCE_NOT_FOUND: CALLER,
  INVALID_ARGUMENTS: CALLER,
  INVALID_ANSWER: CALLER,
  NOT_PERMITTED: CALLER,
  INVALID_CURSOR: CALLER,
  CAPABILITY_REQUIRED: { code: MISSING_CAPABILITY, httpStatus: 400 },
  REQUEST_STATE_INVALID: CALLER,
  CALL_TIMEOUT: SERVER,
  TOO_MANY_ANSWERS: CALLER,
  INVALID_ASK: SERVER,
  INVALID_NAME: SERVER,
  INVALID_LIMIT: SERVER,
  INVALID_OUTPUT: SERVER,
  NOT_SERIALIZABLE: SERVER,
  REPLAY_DIVERGED: SERVER,
  AMBIGUOUS_EFFECT: SERVER,
  UNHANDLED_REJECTION: SERVER,
  NOT_AWAITED: SERVER,
  MISPLACED_EFFECT: SERVER,
  CHILD_REFUSED: SERVER,
  JOURNAL_FULL: SERVER,
  POISONED: SERVER,
  RUN_TIMEOUT: SERVER,
  STEP_FAILED: SERVER,
  STEP_TIMEOUT: SERVER,
  ASK_TIMEOUT: SERVER,
  IDEMPOTENCY_KEY_REUSED: CALLER,
  TOO_LARGE: CALLER,
  TOO_MANY_SUBSCRIPTIONS: CALLER,
  CONTENT_ERASED: CALLER,
  CONTENT_DAMAGED: SERVER,
  FILE_GONE: SERVER,
  EVENT_NOT_FOUND: SERVER,
  EVENT_LATE: SERVER,
  INVALID_EVENT: SERVER,
  EVENT_TOKEN_MISPLACED: SERVER,
  EVENTS_UNAVAILABLE: SERVER,
  FILES_UNAVAILABLE: SERVER,
  MODULE_NOT_STARTED: SERVER,
  DEPOSIT_UNREADABLE: SERVER,
  OAUTH_UNAVAILABLE: SERVER,
  GRANT_REFUSED: SERVER,
  GRANT_EXPIRED: SERVER,
  // Another front end may have the key.
  CONTENT_KEY_MISSING: ELSEWHERE,
  OVERLOADED: ELSEWHERE,
  STORAGE_SCARCE: ELSEWHERE,
  UPSTREAM_UNAVAILABLE: SERVER,
  UPSTREAM_LOST: SERVER,
  UPSTREAM_TIMEOUT: SERVER,
  UPSTREAM_INVALID: SERVER,
  UPSTREAM_STATE_LOST: SERVER,
  UPSTREAM_BUSY: SERVER,
  UNAVAILABLE: ELSEWHERE,
  // These occur only in sessions. They are callers' mistakes.
  TASK_FINISHED: CALLER,
  TASK_REQUIRED: CALLER,
  TASK_UNSUPPORTED: CALLER,
  NOT_OPEN: CALLER,
  TOO_MANY_CALLS: CALLER,
  QUOTA_EXCEEDED: { code: INVALID_PARAMS, httpStatus: 429 },
  ...CREDENTIAL_ERRORS,
};

/** The specification requires the missing capabilities in every such error. */
export function dataOf(error: ParleyError): object {
  return error.code === "CAPABILITY_REQUIRED" ? { requiredCapabilities: {}, ...commonDataOf(error) } : commonDataOf(error);
}

/** Codes of earlier revisions, which this one must not send (S26 basic/index, "Error Codes"). Tools of upstreams fail with them. */
const RETIRED: ReadonlyMap<number, number> = new Map([
  [-32002, INVALID_PARAMS],
  [-32042, INTERNAL_ERROR],
]);

export function ownError(code: number): Shown {
  return { code: RETIRED.get(code) ?? code, httpStatus: code === MISSING_CAPABILITY ? 400 : 200 };
}
