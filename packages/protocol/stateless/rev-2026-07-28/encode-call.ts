/** Answers to tools/call and prompts/get that are no tasks: results, and questions put to the caller itself. */
import type { Ask, JsonObject } from "@parley/core";
import { isObject } from "../../json-rpc.ts";
import { inputRequests } from "./encode-ask.ts";
import { RELATED_TASK } from "./names.ts";

export function callResult(result: JsonObject, meta: JsonObject): object {
  return withMeta(toolResult(result), meta);
}

export function promptResult(result: JsonObject, meta: JsonObject): object {
  return withMeta({ ...result, resultType: "complete" }, meta);
}

/**
 * A tool's result as it stands in an answer or inside a completed task. The official tasks client refuses one without `resultType`, though
 * the specification's example has none. A result that came from another server may name that server's task, which it MUST NOT do here.
 */
export function toolResult(result: JsonObject): JsonObject {
  const meta = result["_meta"];
  if (!isObject(meta) || !Object.hasOwn(meta, RELATED_TASK)) return { ...result, resultType: "complete" };
  const { [RELATED_TASK]: _, ...rest } = meta as JsonObject;
  return { ...result, _meta: rest, resultType: "complete" };
}

function withMeta(result: JsonObject, meta: JsonObject): object {
  const own = result["_meta"];
  return { ...result, _meta: isObject(own) ? { ...own, ...meta } : meta };
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
