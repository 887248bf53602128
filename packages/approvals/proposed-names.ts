/**
 * The names that proposals for MCP give to what becomes of a call that needs approval. Off by default (PARLEY_TOOL_APPROVAL), because they may still change.
 *
 * Sources: SEP-2848 (modelcontextprotocol pull request 2848, "Execution disposition") and SEP-2643 (pull request 2643), as drafts of 2026.
 */
import type { JsonObject } from "@parley/core";
import { isObject } from "./arguments.ts";

/** In `_meta` of the result of a call that waited for approval. */
export const DISPOSITION = "io.modelcontextprotocol/tool-approval-disposition";
/** In `_meta` of the result of a call that was refused. What waits has it in the task (@parley/protocol). */
export const AUTHORIZATION = "io.modelcontextprotocol/authorization";

/** A call that did not run. `wasAsked`: people were asked to approve it. */
export function refusedInProposedNames(result: JsonObject, { wasAsked }: { readonly wasAsked: boolean }): JsonObject {
  const denied = { [AUTHORIZATION]: { reason: "insufficient_authorization", remediation: "unavailable" } };
  return withMeta(result, { ...denied, ...(wasAsked && { [DISPOSITION]: "denied-not-executed" }) });
}

/** A call that ran after it was approved. */
export function ranInProposedNames(result: JsonObject): JsonObject {
  return withMeta(result, { [DISPOSITION]: result["isError"] === true ? "execution-error" : "approved-executed" });
}

function withMeta(result: JsonObject, more: JsonObject): JsonObject {
  const { _meta: meta } = result;
  return { ...result, _meta: { ...(isObject(meta) && meta), ...more } };
}
