/**
 * The standard headers, which repeat parts of the body so that proxies can route and filter without parsing it. They must match the body;
 * otherwise a proxy would have checked a different request than the one served (S26 basic/transports/streamable-http, "Request metadata").
 */
import type { Tool } from "@parley/core";
import { decodeHeaderValue, type Headers, headerValue } from "../header-value.ts";
import { isObject, own, quoted, type RpcRequest, type Wire } from "../json-rpc.ts";
import { paramHeaders } from "./param-headers.ts";

/** A header that contradicts the body. Becomes -32020 with `data.mismatch`. */
export interface Mismatch {
  readonly header: string;
  readonly body: string;
}

/** The member of `params` that Mcp-Name repeats. */
const NAMED_BY: { readonly [method: string]: { readonly member: string; readonly mayBeAbsent: boolean } } = {
  "tools/call": { member: "name", mayBeAbsent: false },
  "prompts/get": { member: "name", mayBeAbsent: false },
  "resources/read": { member: "uri", mayBeAbsent: false },
  // FastMCP's client sends no header here. A wrong one is still refused.
  "tasks/get": { member: "taskId", mayBeAbsent: true },
  "tasks/update": { member: "taskId", mayBeAbsent: true },
  "tasks/cancel": { member: "taskId", mayBeAbsent: true },
};

export function methodMismatch(headers: Headers, method: string): Mismatch | undefined {
  const header = headerValue(headers, "mcp-method");
  if (header === method) return undefined;
  return { header: header ?? "(missing)", body: `the Mcp-Method header must be ${quoted(method)}, the body's method` };
}

export function nameMismatch(headers: Headers, { method, params }: RpcRequest): Mismatch | undefined {
  const named = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (!named) return undefined;
  const header = headerValue(headers, "mcp-name");
  const value = own(params, named.member);
  if (header === undefined) {
    // A body without the member is refused later, with a more specific error.
    if (named.mayBeAbsent || typeof value !== "string") return undefined;
    return { header: "(missing)", body: `the Mcp-Name header must repeat params.${named.member}` };
  }
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return { header, body: "the Mcp-Name header is not valid base64 of UTF-8" };
  if (typeof value !== "string" || decoded === value) return undefined;
  return { header, body: `the Mcp-Name header must be params.${named.member}` };
}

/** Checks Mcp-Param-*: the header must repeat a value that the arguments have. Without such a value, the header is ignored. */
export function paramMismatch(headers: Headers, tool: Tool, args: Wire): Mismatch | undefined {
  for (const { headerName, path } of paramHeaders(tool)) {
    const value = valueAt(args, path);
    if (typeof value !== "string" && typeof value !== "boolean" && !Number.isSafeInteger(value) && !isFraction(value)) continue;
    const header = headerValue(headers, headerName.toLowerCase());
    const member = `arguments.${path.join(".")}`;
    if (header === undefined) return { header: "(missing)", body: `the ${headerName} header must repeat ${member}` };
    const decoded = decodeHeaderValue(header);
    if (decoded === undefined) return { header, body: `the ${headerName} header is not valid base64 of UTF-8` };
    // 42 and 42.0 are the same number.
    const equal = typeof value === "number" && /^-?\d+(\.\d+)?$/.test(decoded) ? Number(decoded) === value : decoded === String(value);
    if (!equal) return { header, body: `the ${headerName} header must be ${member}` };
  }
  return undefined;
}

function isFraction(value: unknown): boolean {
  return Number.isFinite(value) && !Number.isInteger(value);
}

function valueAt(args: Wire, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) value = isObject(value) ? own(value, key) : undefined;
  return value;
}
