/** JSON-RPC 2.0 as MCP restricts it in every revision: ids are strings or integers and never null, and a body holds one message. */
import type { RpcError } from "@parley/core";

export type RequestId = string | number;

/** A parsed object from outside: read own properties only; values are unchecked. */
export type Wire = { readonly [key: string]: unknown };

export interface RpcRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Wire;
}

export type RpcShape =
  | ({ readonly type: "request" } & RpcRequest)
  | { readonly type: "notification"; readonly method: string; readonly params: Wire }
  | { readonly type: "response"; readonly id: RequestId; readonly message: Wire }
  /** `id` is set if it could be read, for the error to repeat. */
  | { readonly type: "invalid"; readonly problem: string; readonly id?: RequestId };

export interface RpcResult {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: object;
}

export interface RpcErrorMessage {
  readonly jsonrpc: "2.0";
  /** Absent if the request's id could not be read: MCP does not allow null here. */
  readonly id?: RequestId;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface RpcNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: object;
}

/** The HTTP status and the message that a front end sends. */
export interface Reply {
  readonly httpStatus: number;
  readonly message: RpcResult | RpcErrorMessage;
  /** The message is an error because the client cancelled its request or ended its session: nothing has failed. */
  readonly isCancelled?: true;
  /** The client itself cancelled the request, so it is sent no message where its transport can do without. */
  readonly isUnwanted?: true;
}

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** Longer ids are refused, because an id is repeated in the reply, and on listen streams in every message. */
const ID_LENGTH_MAX = 1_024;

export function isObject(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own property. Inherited ones such as `constructor` are undefined. */
export function own(object: Wire, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * An own property, where null counts as absent: clients of languages with nil values write null for what they leave out. Every member that MCP
 * defines is read with this; what belongs to a tool, such as the values in `arguments`, is not.
 */
export function given(object: Wire, key: string): unknown {
  return own(object, key) ?? undefined;
}

/** Classifies a parsed body. */
export function shapeOf(body: unknown): RpcShape {
  if (Array.isArray(body))
    return { type: "invalid", problem: "batches are not part of this protocol revision: send one message per request" };
  if (!isObject(body)) return { type: "invalid", problem: "the body must be one JSON-RPC message, an object" };
  const id = own(body, "id");
  const known = isRequestId(id) ? { id } : {};
  if (own(body, "jsonrpc") !== "2.0") return { type: "invalid", problem: 'jsonrpc must be "2.0"', ...known };
  const method = given(body, "method");
  if (method === undefined && (Object.hasOwn(body, "result") || Object.hasOwn(body, "error"))) {
    return isRequestId(id) ? { type: "response", id, message: body } : { type: "invalid", problem: "the response has no valid id" };
  }
  if (typeof method !== "string") return { type: "invalid", problem: "method must be a string", ...known };
  const params = given(body, "params") ?? {};
  if (!isObject(params)) return { type: "invalid", problem: "params must be an object", ...known };
  if (!Object.hasOwn(body, "id")) return { type: "notification", method, params };
  if (!isRequestId(id)) return { type: "invalid", problem: `id must be an integer or a string of at most ${ID_LENGTH_MAX} characters` };
  return { type: "request", id, method, params };
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" ? value.length <= ID_LENGTH_MAX : Number.isSafeInteger(value);
}

export function resultMessage(id: RequestId, result: object): RpcResult {
  return { jsonrpc: "2.0", id, result };
}

export function errorMessage(id: RequestId | undefined, error: RpcError | RpcErrorMessage["error"]): RpcErrorMessage {
  return id === undefined ? { jsonrpc: "2.0", error } : { jsonrpc: "2.0", id, error };
}

export function notificationMessage(method: string, params: object): RpcNotification {
  return { jsonrpc: "2.0", method, params };
}

/** The reply to a body that is not JSON. */
export function parseError(problem = "the body is not valid JSON"): Reply {
  return { httpStatus: 400, message: errorMessage(undefined, { code: PARSE_ERROR, message: problem }) };
}

/** The reply to a body that is not a JSON-RPC message, or is too deep or too large. */
export function invalidRequest(problem: string, id?: RequestId): Reply {
  return { httpStatus: 400, message: errorMessage(id, { code: INVALID_REQUEST, message: problem }) };
}

/** The reply to a request that failed through a defect in Parley, logged under that id. */
export function internalError(defectId: string, id?: RequestId): Reply {
  return { httpStatus: 500, message: errorMessage(id, { code: INTERNAL_ERROR, message: "Internal error", data: { defectId } }) };
}

/** A name from outside in quotes, cut so that the size of an error is bounded. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
