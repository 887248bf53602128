/** Results of this revision: no structured content, no resource links, no `_meta` within content. */
import type { Json, JsonObject } from "@parley/core";
import { isObject } from "../../json-rpc.ts";
import { plainResult, withoutStructure } from "../results.ts";
import { plainAnnotations } from "./list-items.ts";

export function callResult(result: JsonObject): JsonObject {
  const plain = withoutStructure(plainResult(result));
  const { content } = plain;
  return Array.isArray(content) ? { ...plain, content: content.map(block) } : plain;
}

export function promptResult(result: JsonObject): JsonObject {
  const plain = plainResult(result);
  const { messages } = plain;
  return Array.isArray(messages) ? { ...plain, messages: messages.map(message) } : plain;
}

function message(item: Json): Json {
  return isJsonObject(item) && item["content"] !== undefined ? { ...item, content: block(item["content"]) } : item;
}

function block(item: Json): Json {
  if (!isJsonObject(item)) return item;
  const { _meta, annotations, ...rest } = item;
  const shown = annotations === undefined ? {} : { annotations: plainAnnotations(annotations) as Json };
  switch (rest["type"]) {
    case "resource_link":
      return { type: "text", text: linkText(rest), ...shown };
    case "resource":
      return { ...rest, ...(rest["resource"] === undefined ? {} : { resource: contents(rest["resource"]) }), ...shown };
    default:
      return { ...rest, ...shown };
  }
}

/** `Title: uri`, and the description. */
function linkText({ title, name, uri, description }: JsonObject): string {
  const label = [title, name].find(isText);
  const link = [label, uri].filter(isText).join(": ");
  return isText(description) ? `${link}\n${description}` : link;
}

function contents(resource: Json): Json {
  if (!isJsonObject(resource)) return resource;
  const { _meta, ...rest } = resource;
  return rest;
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string";
}

function isJsonObject(value: Json): value is JsonObject {
  return isObject(value);
}
