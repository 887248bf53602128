/** The key in `_meta` by which messages name a task, in every revision (S25 basic/utilities/tasks, "Related Task Metadata"). */
import type { JsonObject } from "@parley/core";
import { isObject } from "./json-rpc.ts";

export const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** Removes the task name from a result of another server: it names that server's task, which MUST NOT be sent here. */
export function withoutRelatedTask(result: JsonObject): JsonObject {
  const meta = result["_meta"];
  if (!isObject(meta) || !Object.hasOwn(meta, RELATED_TASK)) return result;
  const { [RELATED_TASK]: _task, ...rest } = meta as JsonObject;
  return { ...result, _meta: rest };
}
