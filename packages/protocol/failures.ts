/**
 * How a request that failed is answered: an error of core's catalogue in the codes of the revision, an author's own error as it is, and a defect
 * by nothing but its id in the log.
 */
import { type ErrorCode, type JsonObject, ParleyError, RpcFailure } from "@parley/core";
import type { Intent } from "./intents.ts";
import { errorMessage, internalError, resultMessage, type Reply, type RequestId } from "./json-rpc.ts";

export interface Failure {
  readonly id: RequestId;
  /** The request that failed, once it was decoded. */
  readonly intent?: Intent;
  /** What was thrown. */
  readonly error: unknown;
  /** The id of the error in the log: all that a caller learns of a defect. */
  readonly defectId: string;
}

/** True for what only the log may explain: log it with its stack under the defect id. */
export function isDefect(error: unknown): boolean {
  return !(error instanceof ParleyError || error instanceof RpcFailure);
}

export interface Shown {
  readonly code: number;
  readonly httpStatus: number;
}

/** What a revision says of failures in its own way. */
export interface FailureWords {
  /** How an error of core's catalogue travels. */
  readonly shown: { readonly [code in ErrorCode]: Shown };
  /** The HTTP status of an author's own error. */
  statusOf(code: number): number;
  /** `data` of an error of the catalogue, where it is not code, hint, violations and what the error has besides. */
  dataOf?(error: ParleyError): object;
  /**
   * Whether wrong arguments are the result of the call. The model can fix its arguments only if it sees what is wrong with them, and errors of
   * the protocol do not reach it (SEP-1303).
   */
  tellsModel(intent: Intent): boolean;
}

/** `callResult` as the revision encodes it. */
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
      const { code, message } = error;
      const data = error.data === undefined ? {} : { data: error.data };
      return { httpStatus: words.statusOf(code), message: errorMessage(id, { code, message, ...data }) };
    }
    return { ...internalError(defectId, id), httpStatus: 200 };
  };
}

export function dataOf({ code, hint, violations, data }: ParleyError): object {
  return { ...data, code, hint, ...(violations ? { violations } : {}) };
}
