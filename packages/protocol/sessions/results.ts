/** Results of tools and prompts in revisions before 2026. */
import type { JsonObject } from "@parley/core";
import { isObject } from "../json-rpc.ts";
import { withoutRelatedTask } from "../related-task.ts";

/** Removes members that these revisions lack, and the name of another server's task. */
export function plainResult(stored: JsonObject): JsonObject {
  const { resultType: _type, ...result } = stored;
  return withoutRelatedTask(result);
}

/** Before 2026, `structuredContent` is an object. Any other value becomes text, unless the tool returned content itself. */
export function callResult(result: JsonObject): JsonObject {
  const plain = plainResult(result);
  return isObject(plain["structuredContent"]) ? plain : withoutStructure(plain);
}

/** Turns structured content into text, for clients without structured content. */
export function withoutStructure({ structuredContent, ...result }: JsonObject): JsonObject {
  const content = result["content"];
  const silent = !Array.isArray(content) || content.length === 0;
  return structuredContent !== undefined && silent
    ? { ...result, content: [{ type: "text", text: JSON.stringify(structuredContent) }] }
    : result;
}
