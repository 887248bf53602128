import { type JsonObject, RpcFailure, type Task } from "@parley/core";
import { INTERNAL_ERROR } from "./json-rpc.ts";

/** The result of a finished hidden task, as the answer to its call. Throws RpcFailure with the task's own error, or one for a cancelled task. */
export function resultOf({ status, outcome, message }: Task, encode: (result: JsonObject) => object): object {
  if (outcome?.type === "result") return encode(outcome.result);
  if (outcome?.type === "error") throw new RpcFailure(outcome.error.code, outcome.error.message, outcome.error.data);
  throw new RpcFailure(INTERNAL_ERROR, message ?? `the call was ${status}`);
}
