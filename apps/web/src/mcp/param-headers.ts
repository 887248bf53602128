import type { Json, JsonObject } from "@parley/core/form";
import { headerValue } from "../wire/endpoint.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The headers for arguments whose schema has `x-mcp-header` (2026-07-28, basic/transports/streamable-http). */
export function paramHeaders(schema: Json | undefined, value: Json | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  visit(schema, value, headers);
  return headers;
}

function visit(schema: Json | undefined, value: Json | undefined, headers: Record<string, string>): void {
  if (!isObject(schema)) return;
  const name = schema["x-mcp-header"];
  if (
    typeof name === "string" &&
    TOKEN.test(name) &&
    (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
  ) {
    headers[`mcp-param-${name.toLowerCase()}`] = headerValue(String(value));
  }
  const { properties } = schema;
  if (!isObject(properties) || !isObject(value)) return;
  for (const [key, property] of Object.entries(properties)) visit(property, Object.hasOwn(value, key) ? value[key] : undefined, headers);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
