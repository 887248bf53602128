import type { JsonObject } from "@parley/core/form";
import { filled } from "../../texts/words.ts";
import type { End } from "../mcp/types.ts";
import { TEXTS } from "../play-texts.ts";
import { Copy, Panel, Said } from "./texts.tsx";

export function Result({ end }: { readonly end: End }) {
  switch (end.type) {
    case "cancelled":
      return null;
    case "error": {
      const data = end.data === undefined ? undefined : JSON.stringify(end.data, undefined, 2);
      return (
        <Panel id="result-title" title={TEXTS.error} aside={end.code !== undefined && <span class="notes mono">{end.code}</span>}>
          <Said text={end.message} label={TEXTS.theError} />
          {data !== undefined && <Said text={data} label={TEXTS.data} mono />}
        </Panel>
      );
    }
    case "result": {
      const { content, structuredContent, isError } = end.result as { content?: unknown; structuredContent?: unknown; isError?: boolean };
      const blocks = Array.isArray(content) ? (content as JsonObject[]) : [];
      return (
        <Panel
          id="result-title"
          title={isError ? TEXTS.failure : TEXTS.result}
          aside={<Copy what={TEXTS.theResult} text={() => JSON.stringify(end.result, undefined, 2)} />}
        >
          {blocks.slice(0, BLOCKS_SHOWN).map((block, index) => (
            <Block key={index} block={block} />
          ))}
          {blocks.length > BLOCKS_SHOWN && <p class="notes">{filled(TEXTS.blocks, { count: blocks.length - BLOCKS_SHOWN })}</p>}
          {structuredContent !== undefined && <Said text={JSON.stringify(structuredContent, undefined, 2)} label={TEXTS.structured} mono />}
        </Panel>
      );
    }
  }
}

const BLOCKS_SHOWN = 50;

function Block({ block }: { readonly block: JsonObject }) {
  const { type, text, data, mimeType, uri, name, resource } = block;
  if (type === "text" && typeof text === "string") return <Said text={text} label={TEXTS.text} />;
  if (type === "image" && typeof data === "string") return <Picture data={data} mimeType={mimeType} title={TEXTS.resultPicture} />;
  if (type === "resource_link")
    return <Said text={[name, uri].filter((each) => typeof each === "string").join(" ")} label={TEXTS.link} mono />;
  if (
    type === "resource" &&
    typeof resource === "object" &&
    resource !== null &&
    !Array.isArray(resource) &&
    typeof resource["text"] === "string"
  )
    return <Said text={resource["text"]} label={typeof resource["uri"] === "string" ? resource["uri"] : TEXTS.resource} mono />;
  return <Said text={JSON.stringify(block, undefined, 2)} label={TEXTS.block} mono />;
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

/** Shows a picture from the bytes of the result. Nothing is fetched. */
export function Picture({ data, mimeType, title }: { readonly data: string; readonly mimeType: unknown; readonly title: string }) {
  if (typeof mimeType !== "string" || !PICTURES.has(mimeType))
    return <p class="notes">{filled(TEXTS.noPicture, { type: String(mimeType) })}</p>;
  return <img class="picture" alt={title} src={`data:${mimeType};base64,${data}`} />;
}
