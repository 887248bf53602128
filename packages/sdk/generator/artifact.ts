/**
 * Turns an artifact into an MCP content block.
 *
 *   image      content or data: URL   image                 link   resource_link
 *   code       content                text, fenced          link   resource_link
 *   json       content                resource (JSON)       link   resource_link
 *   document   content                resource (text)       link   resource_link
 *   embed      content                resource (HTML)       link   resource_link
 */
import { ParleyError } from "@parley/core";
import type { ContentBlock } from "../results/content.ts";
import type { ArtifactYield } from "./yields.ts";

const TYPES: readonly unknown[] = ["image", "code", "document", "embed", "json"];
const MIME_TYPES = {
  image: "image/png",
  code: "text/plain",
  document: "text/plain",
  embed: "text/html",
  json: "application/json",
} as const;
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,([A-Za-z0-9+/=]*)$/;

/** `position` distinguishes artifacts without a URL. Throws INVALID_OUTPUT. */
export function artifactBlock(artifact: ArtifactYield, position: number): ContentBlock {
  const { type, title, url, content, language, mimeType = MIME_TYPES[type] } = artifact;
  if (!TYPES.includes(type)) throw wrong(`has the type ${JSON.stringify(type)}, and may have ${TYPES.join(", ")}`);
  if (type === "image" && content === undefined && url !== undefined) {
    const [, dataType, data] = DATA_URL.exec(url) ?? [];
    if (dataType !== undefined && data !== undefined) return { type: "image", data, mimeType: dataType };
  }
  if (content === undefined) {
    if (url === undefined) throw wrong("has neither content nor a url");
    if (!URL.canParse(url)) throw wrong("has a url that is not absolute");
    return { type: "resource_link", uri: url, name: title ?? url, ...(artifact.mimeType !== undefined && { mimeType: artifact.mimeType }) };
  }
  if (type === "json") {
    const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
    return resource(artifact, { position, mimeType, text });
  }
  if (typeof content !== "string") throw wrong(`has content that is not a string, which only json may have`);
  if (type === "image") return { type: "image", data: content, mimeType };
  if (type !== "code") return resource(artifact, { position, mimeType, text: content });
  const fence = "`".repeat(Math.max(3, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)));
  const heading = title === undefined ? "" : `${title}\n\n`;
  return { type: "text", text: `${heading}${fence}${language ?? ""}\n${content}\n${fence}` };
}

function resource(
  { type, title, url }: ArtifactYield,
  { position, mimeType, text }: { readonly position: number; readonly mimeType: string; readonly text: string },
): ContentBlock {
  const uri = url ?? `artifact://${position + 1}/${encodeURIComponent(title ?? type)}`;
  return { type: "resource", resource: { uri, mimeType, text } };
}

function wrong(problem: string): ParleyError {
  return new ParleyError("INVALID_OUTPUT", `an artifact ${problem}`);
}
