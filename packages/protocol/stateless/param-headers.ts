/** Which arguments of a tool travel in Mcp-Param-* headers too: those whose schema carries `x-mcp-header`, at any depth of `properties`. */
import { isObject, own, type Wire } from "../json-rpc.ts";

export interface ParamHeader {
  readonly headerName: string;
  readonly path: readonly string[];
}

const TYPES: readonly unknown[] = ["string", "integer", "number", "boolean"];
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Schemas are built once and never change, so each is searched once. */
const found = new WeakMap<object, readonly ParamHeader[]>();

export function paramHeaders({ inputSchema }: { readonly inputSchema: Wire }): readonly ParamHeader[] {
  let headers = found.get(inputSchema);
  if (!headers) found.set(inputSchema, (headers = [...search(inputSchema, [])]));
  return headers;
}

/** A declaration that the specification does not allow (a bad name, a type other than string, integer, number, boolean) is ignored. */
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
