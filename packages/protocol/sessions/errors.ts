/**
 * Core's error catalogue in the codes of revisions before 2026, and how an error becomes a reply. All travel with HTTP 200, as answers do.
 */
import { ParleyError, RpcFailure, type ErrorCode } from "@parley/core";
import { errorMessage, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, type Reply } from "../json-rpc.ts";
import type { SessionFailure } from "./dialect.ts";

/** S25 server/resources, "Error Handling"; 2026-07-28 gave it up. */
const RESOURCE_MISSING = -32002;

export const SESSION_ERROR_CODES: { readonly [code in ErrorCode]: number } = {
  TASK_NOT_FOUND: INVALID_PARAMS,
  TOOL_NOT_FOUND: INVALID_PARAMS,
  PROMPT_NOT_FOUND: INVALID_PARAMS,
  RESOURCE_NOT_FOUND: RESOURCE_MISSING,
  INVALID_ARGUMENTS: INVALID_PARAMS,
  INVALID_ANSWER: INVALID_PARAMS,
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
  TOO_MANY_SUBSCRIPTIONS: INVALID_PARAMS,
  OVERLOADED: INTERNAL_ERROR,
  UNAVAILABLE: INTERNAL_ERROR,
};

export function failure({ id, error, defectId }: SessionFailure): Reply {
  if (error instanceof ParleyError) {
    return {
      httpStatus: 200,
      message: errorMessage(id, { code: SESSION_ERROR_CODES[error.code], message: error.message, data: dataOf(error) }),
    };
  }
  if (error instanceof RpcFailure) {
    const data = error.data === undefined ? {} : { data: error.data };
    return { httpStatus: 200, message: errorMessage(id, { code: error.code, message: error.message, ...data }) };
  }
  return { httpStatus: 200, message: errorMessage(id, { code: INTERNAL_ERROR, message: "Internal error", data: { defectId } }) };
}

function dataOf({ code, hint, violations, data }: ParleyError): object {
  return { ...data, code, hint, ...(violations ? { violations } : {}) };
}
