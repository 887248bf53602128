/** Results of tools and prompts, as revisions before 2026 allow them. */
import type { JsonObject } from "@parley/core";
import { isObject } from "../json-rpc.ts";
import { withoutRelatedTask } from "../related-task.ts";

/** Without what this revision does not know, and without the name of another server's task, where the result came from one. */
export function plainResult(stored: JsonObject): JsonObject {
  const { resultType: _type, ...result } = stored;
  return withoutRelatedTask(result);
}

/** `structuredContent` is an object before 2026. Any other is said as text, unless the tool said something itself. */
export function callResult(result: JsonObject): JsonObject {
  const plain = plainResult(result);
  return isObject(plain["structuredContent"]) ? plain : withoutStructure(plain);
}

/** Structured content as text, for clients that know no other. */
export function withoutStructure({ structuredContent, ...result }: JsonObject): JsonObject {
  const content = result["content"];
  const silent = !Array.isArray(content) || content.length === 0;
  return structuredContent !== undefined && silent
    ? { ...result, content: [{ type: "text", text: JSON.stringify(structuredContent) }] }
    : result;
}
