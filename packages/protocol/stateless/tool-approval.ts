/**
 * What a task that waits for approval says of it, by the names of proposals for MCP: SEP-2848 (pull request 2848 of modelcontextprotocol, "Denied-but-requestable
 * returns a task") and SEP-2643 (pull request 2643), as drafts of 2026. What became of the call is in its result (@parley/approvals).
 */
import { aboutOf, isFinished, type JsonObject, type Task } from "@parley/core";

export const TOOL_APPROVAL_EXTENSION = "io.modelcontextprotocol/tool-approval";

const AUTHORIZATION = "io.modelcontextprotocol/authorization";

/** For `_meta` of the answer to tasks/get. Empty unless the task waits for approval. */
export function pendingApproval({ status, asks, asksOfOthers = [] }: Task): JsonObject {
  const isWaiting = !isFinished(status) && [...asks, ...asksOfOthers].some(({ request }) => aboutOf(request)?.isApproval === true);
  if (!isWaiting) return {};
  return { [AUTHORIZATION]: { reason: "insufficient_authorization", remediation: "available", remediationHints: [{ type: "task" }] } };
}
