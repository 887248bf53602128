import { CallCancelled, type JsonObject, RpcFailure, type Task } from "@parley/core";

/** The result of a finished hidden task, as the answer to its call. Throws RpcFailure with the task's own error, and CallCancelled for a cancelled task. */
export function resultOf({ status, outcome, message }: Task, encode: (result: JsonObject) => object): object {
  if (outcome?.type === "result") return encode(outcome.result);
  if (outcome?.type === "error") throw new RpcFailure(outcome.error.code, outcome.error.message, outcome.error.data);
  throw new CallCancelled(message ?? `the call was ${status}`);
}
