/** Converts what a tool returned to MCP's CallToolResult, as plain JSON. */
import { type JsonObject, ParleyError, describeViolations } from "@parley/core";
import type { CallToolResult, ContentBlock } from "./content.ts";
import { assertPlain, nounFor, plainJson } from "../values/plain-data.ts";
import { type Schema, check } from "../schemas/schema.ts";

/** What a tool without an output schema returns. An async one may return nothing at all. */
export type ToolReturn = string | readonly ContentBlock[] | CallToolResult | undefined;

/**
 * What a tool with an output schema may return instead of the bare value, to choose the content that models read, or
 * to report that it failed.
 */
export type StructuredResult<T> = (CallToolResult & { readonly structuredContent: T }) | (CallToolResult & { readonly isError: true });

export function toolResult(tool: string, returned: unknown): JsonObject {
  if (returned === undefined) return { content: [] };
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (isContent(returned)) return plain(tool, { content: returned });
  if (isCallToolResult(returned)) return plain(tool, returned);
  throw new ParleyError(
    "INVALID_OUTPUT",
    `tool ${tool} returned ${nounFor(returned)}, which is neither text, content nor a CallToolResult: give it an output schema to return data`,
  );
}

/**
 * Validates the return value against the output schema. The text is added for clients that do not read
 * `structuredContent`.
 */
export async function structuredResult(tool: string, output: Schema, returned: unknown): Promise<JsonObject> {
  if (isCallToolResult(returned)) {
    if (returned.isError === true) return plain(tool, returned);
    if (returned.structuredContent !== undefined) {
      const structuredContent = await judged(tool, output, returned.structuredContent);
      return plain(tool, { ...returned, structuredContent });
    }
  }
  const structuredContent = await judged(tool, output, returned);
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], ...plain(tool, { structuredContent }) };
}

export function errorResult(message: string): JsonObject {
  return { content: [{ type: "text", text: message }], isError: true };
}

async function judged(tool: string, output: Schema, value: unknown): Promise<unknown> {
  assertPlain(`the return value of tool ${tool}`, value, { mayHaveInstances: true });
  const read = await check(output, value);
  if (!read.ok) {
    const { violations } = read;
    throw new ParleyError(
      "INVALID_OUTPUT",
      `tool ${tool} returned a value that its output schema refuses: ${describeViolations(violations)}`,
      {
        violations,
      },
    );
  }
  assertPlain(`the return value of tool ${tool}`, read.value);
  return read.value;
}

function plain(tool: string, result: CallToolResult | { readonly structuredContent: unknown }): JsonObject {
  const json = plainJson(`the return value of tool ${tool}`, result) as JsonObject;
  const { content = [], isError, _meta: meta } = json as { readonly content?: readonly JsonObject[] } & JsonObject;
  const refused = (problem: string) =>
    new ParleyError("INVALID_OUTPUT", `tool ${tool} returned a result that no client can read: ${problem}`);
  if (isError !== undefined && typeof isError !== "boolean") throw refused(`/isError must be true or false, and is ${nounFor(isError)}`);
  if (meta !== undefined && (typeof meta !== "object" || meta === null || Array.isArray(meta)))
    throw refused(`/_meta must be an object, and is ${nounFor(meta)}`);
  for (const [index, block] of content.entries()) {
    const problem = blockProblem(block);
    if (problem !== undefined)
      throw new ParleyError("INVALID_OUTPUT", `tool ${tool} returned content that no client can read: /content/${index}${problem}`);
  }
  return json;
}

/** Why no client could read the block: a path and a sentence about it. */
export function blockProblem({ type, ...block }: JsonObject): string | undefined {
  if (typeof type !== "string" || !Object.hasOwn(TEXTS, type)) return `/type must be one of ${Object.keys(TEXTS).join(", ")}`;
  const missing = TEXTS[type as ContentBlock["type"]].find((field) => typeof block[field] !== "string");
  if (missing !== undefined) return `/${missing} must be a string, and is ${nounFor(block[missing])}`;
  const annotated = annotationsProblem(block["annotations"]);
  if (annotated !== undefined) return `/annotations${annotated}`;
  if ((type === "image" || type === "audio") && !isBase64(block["data"])) return `/data ${NOT_BASE64}`;
  if (type !== "resource") return undefined;
  const problem = contentsProblem(block["resource"]);
  return problem === undefined ? undefined : `/resource${problem}`;
}

/** The same for the contents of a resource. */
export function contentsProblem(contents: unknown): string | undefined {
  if (typeof contents !== "object" || contents === null || Array.isArray(contents))
    return ` must be an object, and is ${nounFor(contents)}`;
  const { uri, text, blob } = contents as { readonly uri?: unknown; readonly text?: unknown; readonly blob?: unknown };
  if (typeof uri !== "string") return `/uri must be a string, and is ${nounFor(uri)}`;
  if (typeof text !== "string" && typeof blob !== "string") return " must have a text or a blob, each a string";
  return blob === undefined || isBase64(blob) ? undefined : `/blob ${NOT_BASE64}`;
}

const NOT_BASE64 = 'must be base64, such as by Buffer.from(…).toString("base64"), without "data:" before it';
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

function isBase64(text: unknown): boolean {
  return typeof text === "string" && BASE64.test(text);
}

/** The same for the annotations of a block or a resource. */
export function annotationsProblem(annotations: unknown): string | undefined {
  if (annotations === undefined) return undefined;
  if (typeof annotations !== "object" || annotations === null || Array.isArray(annotations))
    return ` must be an object, and is ${nounFor(annotations)}`;
  const { audience, priority, lastModified } = annotations as { readonly [name: string]: unknown };
  if (audience !== undefined && !(Array.isArray(audience) && audience.every((each) => each === "user" || each === "assistant")))
    return '/audience must be a list of "user" and "assistant"';
  if (priority !== undefined && !(typeof priority === "number" && priority >= 0 && priority <= 1))
    return "/priority must be a number from 0 to 1";
  if (lastModified !== undefined && !(typeof lastModified === "string" && MOMENT.test(lastModified)))
    return '/lastModified must be a moment such as "2026-12-24T19:30:00Z"';
  return undefined;
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** What each block needs to have as a string. */
const TEXTS: Readonly<Record<ContentBlock["type"], readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource: [],
  resource_link: ["uri", "name"],
};

function isContent(value: unknown): value is readonly ContentBlock[] {
  return (
    Array.isArray(value) &&
    value.every(
      (block: unknown) => typeof block === "object" && block !== null && "type" in block && Object.hasOwn(TEXTS, String(block.type)),
    )
  );
}

function isCallToolResult(value: unknown): value is CallToolResult {
  return typeof value === "object" && value !== null && "content" in value && isContent(value.content);
}
