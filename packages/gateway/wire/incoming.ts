/**
 * The one border at which messages of an upstream are read, over HTTP and over stdio. The MCP client drops a message that is not exactly JSON-RPC, and its
 * call never ends; and it throws away a result for a null where it expects no member, after the call has taken effect. So a message is mended first:
 *
 *   - Null counts as absent in each member that MCP defines. Within `_meta`, schemas and structured content, null is a value.
 *   - Members that JSON-RPC does not have are left out, and `jsonrpc` and the code of an error are filled in.
 *   - A response without a result, or whose result has a number that would be rounded, becomes an error by which its call ends at once.
 */
import { randomUUID } from "node:crypto";
import { describeInexact, inexactNumber } from "@parley/core";

/** Names an error of this module. Different in each process, so that no upstream can send one. */
const MARK = `parley-${randomUUID()}`;
const INTERNAL_ERROR = -32603;

/** Parsed JSON of an upstream as the MCP client reads it, with the text that it was parsed from. A batch is mended message by message. */
export function mended(given: unknown, text: string): unknown {
  if (Array.isArray(given)) return given.map((message) => mended(message, text));
  if (!isObject(given)) return given;
  const { id, method, params, result, error } = given;
  if (typeof method === "string") {
    const number = method === "sampling/createMessage" ? inexactNumber(text) : undefined;
    const read = number === undefined ? params : { [MARK]: describeInexact(number) };
    return {
      jsonrpc: "2.0",
      ...(id !== undefined && id !== null && { id }),
      method,
      ...(isPresent(read) && { params: isObject(read) ? membersOf(read) : read }),
    };
  }
  if (id === undefined) return given;
  if (isPresent(error)) return { jsonrpc: "2.0", ...(id !== null && { id }), error: errorOf(error) };
  if (!isObject(result)) return unreadable(id, "answered without a result");
  const number = isOfCall(result) ? inexactNumber(text) : undefined;
  if (number !== undefined) return unreadable(id, `answered with a result that ${describeInexact(number)}`);
  try {
    return { jsonrpc: "2.0", id, result: resultOf(result) };
  } catch {
    // Parsing takes less of the stack than reading: it nests too deeply, which is reported where its size is.
    return { jsonrpc: "2.0", id, result };
  }
}

/** Why a response could not be read, if the error is one of `mended`. */
export function whyUnreadable(error: { readonly message: string; readonly data?: unknown }): string | undefined {
  return error.data === MARK ? error.message : undefined;
}

/** What is wrong with the params of a request, if `mended` has replaced them. */
export function whyUnreadableParams(params: object): string | undefined {
  return (params as Readonly<Record<string, string | undefined>>)[MARK];
}

function unreadable(id: unknown, message: string): object {
  return { jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message, data: MARK } };
}

function errorOf(error: unknown): object {
  const { code, message, data } = isObject(error) ? error : { message: error };
  return {
    code: Number.isSafeInteger(code) ? code : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "the upstream gave no reason",
    ...(isPresent(data) && { data }),
  };
}

/** Lists are not: the bounds of a schema, such as 2^63, do no harm if they are rounded. */
function isOfCall(result: Record<string, unknown>): boolean {
  return ["content", "structuredContent", "contents", "messages", "result"].some((key) => isPresent(result[key]));
}

/** Structured content is an object before 2026, and there may be text beside it. Results of 2026 say what they are. */
function resultOf(given: Record<string, unknown>): object {
  const result = withoutNulls(given) as Record<string, unknown>;
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || isObject(structuredContent) || "resultType" in result) return result;
  const { content } = rest;
  const isTold = Array.isArray(content) && content.length > 0;
  return isTold ? rest : { ...rest, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
}

/** Members whose content belongs to the upstream. `result` is that of a task, which `withoutNulls` reads like the others. */
const SCHEMAS: ReadonlySet<string> = new Set(["inputSchema", "outputSchema"]);
const OPAQUE: ReadonlySet<string> = new Set(["_meta", "structuredContent", "requestedSchema", "input"]);

/** Some servers write a member that is absent as null. Within a schema, in `_meta` and in structured content, null is a value. */
export function withoutNulls(item: unknown): unknown {
  if (Array.isArray(item)) return item.map(withoutNulls);
  return membersOf(item, (key, member) => (SCHEMAS.has(key) ? membersOf(member) : OPAQUE.has(key) ? member : withoutNulls(member)));
}

function membersOf(value: unknown, read = (_key: string, member: unknown) => member): unknown {
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, read(key, member)]));
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
