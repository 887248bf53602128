/** Errors as this revision shows them. */
import { ParleyError } from "@parley/core";
import { resultMessage, type Reply } from "../../json-rpc.ts";
import type { SessionFailure } from "../dialect.ts";
import { failure as failureInAny } from "../errors.ts";

/**
 * The model can fix its arguments only if it sees what is wrong with them, and errors of the protocol do not reach it (SEP-1303). A client
 * that asked for a task waits for a task, not for a result, and is told by an error.
 */
export function failure(thrown: SessionFailure): Reply {
  const { id, intent, error } = thrown;
  if (!(error instanceof ParleyError && error.code === "INVALID_ARGUMENTS" && intent?.type === "callTool" && !intent.task)) {
    return failureInAny(thrown);
  }
  return { httpStatus: 200, message: resultMessage(id, { content: [{ type: "text", text: error.message }], isError: true }) };
}
