/**
 * Core's error catalogue in this revision's codes, and how an error becomes a reply.
 *
 * -32602 and -32603 of a handler travel with HTTP 200; what the specification forbids outright travels with 400. A request that this front
 * end could not even take up travels with 503, which load balancers and monitors understand without reading the body.
 */
import { ParleyError, RpcFailure, type ErrorCode, type JsonObject } from "@parley/core";
import { errorMessage, INTERNAL_ERROR, INVALID_PARAMS, resultMessage, type Reply, type RequestId } from "../../json-rpc.ts";
import { callResult } from "./encode-call.ts";
import type { Intent } from "./intents.ts";
import { MISSING_CAPABILITY } from "./names.ts";

interface Shown {
  readonly code: number;
  readonly httpStatus: number;
}

const CALLER: Shown = { code: INVALID_PARAMS, httpStatus: 200 };
const SERVER: Shown = { code: INTERNAL_ERROR, httpStatus: 200 };
const ELSEWHERE: Shown = { code: INTERNAL_ERROR, httpStatus: 503 };

export const ERROR_CODES: { readonly [code in ErrorCode]: Shown } = {
  TASK_NOT_FOUND: CALLER,
  TOOL_NOT_FOUND: CALLER,
  PROMPT_NOT_FOUND: CALLER,
  RESOURCE_NOT_FOUND: CALLER,
  INVALID_ARGUMENTS: CALLER,
  INVALID_ANSWER: CALLER,
  INVALID_CURSOR: CALLER,
  CAPABILITY_REQUIRED: { code: MISSING_CAPABILITY, httpStatus: 400 },
  REQUEST_STATE_INVALID: CALLER,
  CALL_TIMEOUT: SERVER,
  TOO_MANY_ANSWERS: CALLER,
  INVALID_ASK: SERVER,
  INVALID_NAME: SERVER,
  INVALID_OUTPUT: SERVER,
  NOT_SERIALIZABLE: SERVER,
  REPLAY_DIVERGED: SERVER,
  AMBIGUOUS_EFFECT: SERVER,
  UNHANDLED_REJECTION: SERVER,
  MISPLACED_EFFECT: SERVER,
  JOURNAL_FULL: SERVER,
  POISONED: SERVER,
  RUN_TIMEOUT: SERVER,
  STEP_FAILED: SERVER,
  STEP_TIMEOUT: SERVER,
  ASK_TIMEOUT: SERVER,
  TOO_LARGE: CALLER,
  TOO_MANY_SUBSCRIPTIONS: CALLER,
  OVERLOADED: ELSEWHERE,
  UNAVAILABLE: ELSEWHERE,
  // Only sessions meet these; a caller's mistake all the same.
  TASK_FINISHED: CALLER,
  TASK_REQUIRED: CALLER,
  TASK_UNSUPPORTED: CALLER,
  NOT_OPEN: CALLER,
  TOO_MANY_CALLS: CALLER,
};

export interface Failure {
  readonly id: RequestId;
  /** The request that failed, once it was decoded. */
  readonly intent?: Intent;
  /** Whatever was thrown. */
  readonly error: unknown;
  /** Under which the error stands in the log: all that a caller learns of a defect. */
  readonly defectId: string;
}

export function failure({ id, intent, error, defectId }: Failure, meta: JsonObject): Reply {
  if (error instanceof ParleyError) {
    // The model can fix its arguments only if it sees what is wrong with them, and errors of the protocol do not reach it (SEP-1303).
    if (error.code === "INVALID_ARGUMENTS" && intent?.type === "callTool") {
      return { httpStatus: 200, message: resultMessage(id, argumentsResult(error, meta)) };
    }
    const { code, httpStatus } = ERROR_CODES[error.code];
    return { httpStatus, message: errorMessage(id, { code, message: error.message, data: dataOf(error) }) };
  }
  if (error instanceof RpcFailure) {
    const data = error.data === undefined ? {} : { data: error.data };
    return {
      httpStatus: error.code === MISSING_CAPABILITY ? 400 : 200,
      message: errorMessage(id, { code: error.code, message: error.message, ...data }),
    };
  }
  return { httpStatus: 200, message: errorMessage(id, { code: INTERNAL_ERROR, message: "Internal error", data: { defectId } }) };
}

function dataOf({ code, hint, violations, data }: ParleyError): object {
  // The specification wants the member, whoever threw the error.
  if (code === "CAPABILITY_REQUIRED") return { requiredCapabilities: {}, ...data, code, hint };
  return { ...data, code, hint, ...(violations ? { violations } : {}) };
}

function argumentsResult(error: ParleyError, meta: JsonObject): object {
  return callResult({ content: [{ type: "text", text: error.message }], isError: true }, meta);
}
