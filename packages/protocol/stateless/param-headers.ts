/** The arguments of a tool that Mcp-Param-* headers repeat: those whose schema has `x-mcp-header`, at any depth of `properties`. */
import { isObject, own, type Wire } from "../json-rpc.ts";

export interface ParamHeader {
  readonly headerName: string;
  readonly path: readonly string[];
}

const TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"];
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Cached by schema, since schemas never change. */
const found = new WeakMap<object, readonly ParamHeader[]>();

export function paramHeaders({ inputSchema }: { readonly inputSchema: Wire }): readonly ParamHeader[] {
  let headers = found.get(inputSchema);
  if (!headers) found.set(inputSchema, (headers = [...search(inputSchema, [])]));
  return headers;
}

/** Ignores declarations that the specification does not allow: a bad name, or a type other than string, integer, number or boolean. */
function* search(schema: unknown, path: readonly string[]): Generator<ParamHeader> {
  if (!isObject(schema)) return;
  const name = own(schema, "x-mcp-header");
  const type = own(schema, "type");
  if (typeof name === "string" && TOKEN.test(name) && TYPES.includes(type)) {
    yield { headerName: `Mcp-Param-${name}`, path };
  }
  const properties = own(schema, "properties");
  if (!isObject(properties)) return;
  for (const [key, property] of Object.entries(properties)) yield* search(property, [...path, key]);
}
