/** Core's error catalogue in the codes of revisions before 2026. */
import type { ErrorCode } from "@parley/core";
import { CREDENTIAL_ERRORS } from "../credential-errors.ts";
import type { Shown } from "../failures.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND } from "../json-rpc.ts";

/** S25 server/resources, "Error Handling"; 2026-07-28 gave it up. */
const RESOURCE_MISSING = -32002;

export const SESSION_ERROR_CODES: { readonly [code in ErrorCode]: number } = {
  TASK_NOT_FOUND: INVALID_PARAMS,
  TOOL_NOT_FOUND: INVALID_PARAMS,
  PROMPT_NOT_FOUND: INVALID_PARAMS,
  RESOURCE_NOT_FOUND: RESOURCE_MISSING,
  INVALID_ARGUMENTS: INVALID_PARAMS,
  INVALID_ANSWER: INVALID_PARAMS,
  NOT_PERMITTED: INVALID_PARAMS,
  INVALID_CURSOR: INVALID_PARAMS,
  CAPABILITY_REQUIRED: INVALID_PARAMS,
  REQUEST_STATE_INVALID: INVALID_PARAMS,
  CALL_TIMEOUT: INTERNAL_ERROR,
  TOO_MANY_ANSWERS: INVALID_PARAMS,
  INVALID_ASK: INTERNAL_ERROR,
  INVALID_NAME: INTERNAL_ERROR,
  INVALID_OUTPUT: INTERNAL_ERROR,
  NOT_SERIALIZABLE: INTERNAL_ERROR,
  REPLAY_DIVERGED: INTERNAL_ERROR,
  AMBIGUOUS_EFFECT: INTERNAL_ERROR,
  UNHANDLED_REJECTION: INTERNAL_ERROR,
  MISPLACED_EFFECT: INTERNAL_ERROR,
  JOURNAL_FULL: INTERNAL_ERROR,
  POISONED: INTERNAL_ERROR,
  RUN_TIMEOUT: INTERNAL_ERROR,
  STEP_FAILED: INTERNAL_ERROR,
  STEP_TIMEOUT: INTERNAL_ERROR,
  ASK_TIMEOUT: INTERNAL_ERROR,
  TOO_LARGE: INVALID_PARAMS,
  // S25 basic/utilities/tasks: -32602 MUST for a second end of a task, -32601 for a call that asks for a task or should have.
  TASK_FINISHED: INVALID_PARAMS,
  TASK_REQUIRED: METHOD_NOT_FOUND,
  TASK_UNSUPPORTED: METHOD_NOT_FOUND,
  NOT_OPEN: INVALID_PARAMS,
  TOO_MANY_CALLS: INVALID_PARAMS,
  QUOTA_EXCEEDED: INVALID_PARAMS,
  TOO_MANY_SUBSCRIPTIONS: INVALID_PARAMS,
  CONTENT_KEY_MISSING: INTERNAL_ERROR,
  CONTENT_ERASED: INVALID_PARAMS,
  CONTENT_DAMAGED: INTERNAL_ERROR,
  DEPOSIT_UNREADABLE: INTERNAL_ERROR,
  OVERLOADED: INTERNAL_ERROR,
  UNAVAILABLE: INTERNAL_ERROR,
  ...codesOf(CREDENTIAL_ERRORS),
};

function codesOf<Code extends ErrorCode>(shown: { readonly [code in Code]: Shown }): { readonly [code in Code]: number } {
  return Object.fromEntries(Object.entries<Shown>(shown).map(([name, { code }]) => [name, code])) as { readonly [code in Code]: number };
}

/** All travel with HTTP 200, as answers do. */
export const SHOWN = Object.fromEntries(Object.entries(SESSION_ERROR_CODES).map(([name, code]) => [name, { code, httpStatus: 200 }])) as {
  readonly [code in ErrorCode]: Shown;
};
