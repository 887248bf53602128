/**
 * Answers to requests that failed: an error of core's catalogue in the codes of the revision, an author's own error unchanged except for codes
 * that the revision must not send, and a defect only as its id in the log.
 */
import { CallCancelled, type ErrorCode, type JsonObject, ParleyError, RequestCancelled, RpcFailure } from "@parley/core";
import type { Intent } from "./intents.ts";
import { errorMessage, internalError, resultMessage, type Reply, type RequestId } from "./json-rpc.ts";

export interface Failure {
  readonly id: RequestId;
  /** The request that failed, if it was decoded. */
  readonly intent?: Intent;
  /** What was thrown. */
  readonly error: unknown;
  /** The id of the error in the log: all that a caller learns of a defect. */
  readonly defectId: string;
}

/** Whether the error's details belong only in the log, with its stack and under the defect id. */
export function isDefect(error: unknown): boolean {
  return !(error instanceof ParleyError || error instanceof RpcFailure);
}

export interface Shown {
  readonly code: number;
  readonly httpStatus: number;
}

/** What a revision decides about failures. */
export interface FailureWords {
  /** Codes and HTTP statuses of core's errors. */
  readonly shown: { readonly [code in ErrorCode]: Shown };
  /** How an error with a code that an author or an upstream chose is sent. */
  ownError(code: number): Shown;
  /** `data` of an error of the catalogue, unless it is the default: code, hint, violations and the error's own data. */
  dataOf?(error: ParleyError): object;
  /**
   * Whether invalid arguments are reported in the result of the call. The model can fix its arguments only if it sees the problem, and protocol
   * errors do not reach it (SEP-1303).
   */
  tellsModel(intent: Intent): boolean;
}

/** `callResult` encodes a result in this revision. */
export function failures(words: FailureWords, callResult: (result: JsonObject) => object): (failure: Failure) => Reply {
  return ({ id, intent, error, defectId }) => {
    if (error instanceof ParleyError) {
      if (error.code === "INVALID_ARGUMENTS" && intent && words.tellsModel(intent)) {
        const result = callResult({ content: [{ type: "text", text: error.message }], isError: true });
        return { httpStatus: 200, message: resultMessage(id, result) };
      }
      const { code, httpStatus } = words.shown[error.code];
      const data = words.dataOf ? words.dataOf(error) : dataOf(error);
      return { httpStatus, message: errorMessage(id, { code, message: error.message, data }) };
    }
    if (error instanceof RpcFailure) {
      const { code, httpStatus } = words.ownError(error.code);
      const data = error.data === undefined ? {} : { data: error.data };
      const cancelled = error instanceof CallCancelled ? ({ isCancelled: true } as const) : {};
      const unwanted = error instanceof RequestCancelled ? ({ isUnwanted: true } as const) : {};
      return { httpStatus, message: errorMessage(id, { code, message: error.message, ...data }), ...cancelled, ...unwanted };
    }
    return { ...internalError(defectId, id), httpStatus: 200 };
  };
}

export function dataOf({ code, hint, violations, data }: ParleyError): object {
  return { ...data, code, hint, ...(violations ? { violations } : {}) };
}
