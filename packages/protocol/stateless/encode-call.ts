/** Answers to tools/call and prompts/get other than tasks: results, and questions to the caller itself. */
import type { Ask, JsonObject } from "@parley/core";
import { withoutRelatedTask } from "../related-task.ts";
import { inputRequests } from "./encode-ask.ts";

/**
 * A tool's result, in an answer or inside a completed task. It has `resultType` because the official tasks client refuses it otherwise, although
 * the specification's example has none.
 */
export function toolResult(result: JsonObject): JsonObject {
  return { ...withoutRelatedTask(result), resultType: "complete" };
}

export function inputRequired(
  asks: readonly Ask[],
  { meta, requestState }: { readonly meta: JsonObject; readonly requestState: string | undefined },
): object {
  if (asks.length === 0 && requestState === undefined) throw new Error("input_required with neither asks nor requestState");
  return {
    resultType: "input_required",
    ...(asks.length === 0 ? {} : { inputRequests: inputRequests(asks) }),
    ...(requestState === undefined ? {} : { requestState }),
    _meta: meta,
  };
}
