/**
 * Arguments that an upstream of 2026-07-28 wants repeated in headers of the call, for proxies that do not read bodies. It refuses a call without them.
 *
 * Source: specification 2026-07-28, basic/transports/streamable-http, "Custom headers from tool parameters".
 */
import type { JsonObject } from "@parley/core";

export type ParamHeaders = Readonly<Record<string, string>>;

interface Declared {
  readonly header: string;
  readonly path: readonly string[];
}

const NONE: ParamHeaders = {};
const TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"];
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Schemas are an upstream's own, and may nest deeply. */
const DEPTH_MAX = 32;

/** Returns the function that reads the headers of a call from its arguments. */
export function paramHeaders(inputSchema: JsonObject): (args: JsonObject) => ParamHeaders {
  const declared = [...search(inputSchema, [])];
  if (declared.length === 0) return () => NONE;
  return (args) =>
    Object.fromEntries(
      declared.flatMap(({ header, path }) => {
        const value = path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), args);
        return ["string", "number", "boolean"].includes(typeof value) ? [[header, headerValue(String(value))]] : [];
      }),
    );
}

function* search(schema: unknown, path: readonly string[]): Generator<Declared> {
  if (!isObject(schema) || path.length > DEPTH_MAX) return;
  const { type, properties, "x-mcp-header": name } = schema;
  if (typeof name === "string" && TOKEN.test(name) && TYPES.includes(type)) yield { header: `mcp-param-${name.toLowerCase()}`, path };
  if (!isObject(properties)) return;
  for (const [key, property] of Object.entries(properties)) yield* search(property, [...path, key]);
}

/** Header values are ASCII; anything else is encoded as the specification's `=?base64?…?=`. */
export function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
  return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
