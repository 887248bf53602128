/** The parts of a generator tool's result that it emitted: streamed chunks and artifacts. */
import { type JsonObject, ParleyError } from "@parley/core";
import type { ContentBlock } from "../results/content.ts";
import { plainJson } from "../values/plain-data.ts";
import { toolResult } from "../results/tool-result.ts";

/** Maximum characters collected for the result. Stores accept less by default; this bounds the memory of a run. */
export const STREAM_CHARS_MAX = 4 * 1_024 * 1_024;

export interface Output {
  chunk(data: unknown): void;
  artifact(block: ContentBlock): void;
  /** Number of artifacts so far. */
  artifacts(): number;
  /** The streamed content, used if the tool returned nothing. Throws TOO_LARGE. */
  streamed(): readonly ContentBlock[];
  /** `result` with the artifacts appended to its content. Throws TOO_LARGE. */
  withArtifacts(result: JsonObject): JsonObject;
}

export function createOutput(tool: string): Output {
  let text = "";
  let hasChunks = false;
  let isTextTooLong = false;
  let left = STREAM_CHARS_MAX;
  const blocks: ContentBlock[] = [];
  let areBlocksTooLarge = false;

  return {
    chunk(data) {
      hasChunks = true;
      const isText = typeof data === "string";
      const line = isText ? data : `${text === "" || text.endsWith("\n") ? "" : "\n"}${JSON.stringify(data)}\n`;
      isTextTooLong ||= text.length + line.length > STREAM_CHARS_MAX;
      if (!isTextTooLong) text += line;
    },
    artifact(block) {
      left -= JSON.stringify(block).length;
      areBlocksTooLarge ||= left < 0;
      if (!areBlocksTooLarge) blocks.push(block);
    },
    artifacts: () => blocks.length,
    streamed() {
      if (isTextTooLong) throw tooLarge(tool, "streamed");
      return hasChunks ? [{ type: "text", text }] : [];
    },
    withArtifacts(result) {
      if (areBlocksTooLarge) throw tooLarge(tool, "emitted as artifacts");
      if (blocks.length === 0) return result;
      const content = result["content"];
      const own = Array.isArray(content) ? content : [];
      return { ...result, content: [...own, ...(plainJson(`the artifacts of tool ${tool}`, blocks) as JsonObject[])] };
    },
  };
}

function tooLarge(tool: string, how: string): ParleyError {
  return new ParleyError(
    "TOO_LARGE",
    `tool ${tool} has ${how} more than ${STREAM_CHARS_MAX} characters, which is too much for a result: return a summary, or a link`,
  );
}

/** The result of a generator tool without an output schema, which may return any data. */
export function generatorResult(tool: string, returned: unknown, output: Output): JsonObject {
  if (returned === undefined) return toolResult(tool, output.streamed());
  if (typeof returned === "string" || isResult(returned)) return toolResult(tool, returned);
  const data = plainJson(`the return value of tool ${tool}`, returned);
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  return { content: [{ type: "text", text: JSON.stringify(data) }], ...(isObject && { structuredContent: data }) };
}

const BLOCKS = new Set<unknown>(["text", "image", "audio", "resource", "resource_link"]);

/** Content blocks, or a whole result. Any other list is data. */
function isResult(returned: unknown): boolean {
  const content: unknown = typeof returned === "object" && returned !== null && "content" in returned ? returned.content : returned;
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((block: unknown) => typeof block === "object" && block !== null && "type" in block && BLOCKS.has(block.type))
  );
}
