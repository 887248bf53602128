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
const TYPES: readonly unknown[] = ["string", "integer", "boolean"];
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

/** Members of a schema that contain values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["default", "const", "enum", "examples"]);

/**
 * The place of a declaration that the specification does not allow: a bad name, one that is used twice, another type, or a place that is not a chain
 * of `properties`. The client must not offer such a tool. Undefined if there is none.
 */
export function wrongHeader({ inputSchema }: { readonly inputSchema: JsonObject }): string | undefined {
  const names = new Set<string>();

  function wrongAt(schema: unknown, path: readonly string[], isReachable: boolean): string | undefined {
    if (typeof schema !== "object" || schema === null || path.length > 2 * DEPTH_MAX) return undefined;
    if (!Array.isArray(schema) && Object.hasOwn(schema, "x-mcp-header")) {
      const { type, "x-mcp-header": name } = schema as Record<string, unknown>;
      const key = typeof name === "string" && TOKEN.test(name) && TYPES.includes(type) ? name.toLowerCase() : undefined;
      if (!isReachable || path.length === 0 || key === undefined || names.has(key)) return `/${[...path, "x-mcp-header"].join("/")}`;
      names.add(key);
    }
    for (const [key, value] of Object.entries(schema)) {
      const at = [...path, key];
      if (key === "properties" && isObject(value)) {
        for (const [name, property] of Object.entries(value)) {
          const wrong = wrongAt(property, [...at, name], isReachable);
          if (wrong !== undefined) return wrong;
        }
      } else if (!VALUES.has(key)) {
        const wrong = wrongAt(value, at, false);
        if (wrong !== undefined) return wrong;
      }
    }
    return undefined;
  }

  return wrongAt(inputSchema, [], true);
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
