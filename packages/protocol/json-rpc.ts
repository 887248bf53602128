/**
 * JSON-RPC 2.0 as MCP narrows it, shared by every revision: ids are strings or integers and never null, one message per body.
 */
import type { RpcError } from "@parley/core";

export type RequestId = string | number;

/** An object as it came off the wire: own properties only, values unknown. */
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
  /** `id` is there when it could be read, so that the error can name it. */
  | { readonly type: "invalid"; readonly problem: string; readonly id?: RequestId };

export interface RpcResult {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: object;
}

export interface RpcErrorMessage {
  readonly jsonrpc: "2.0";
  /** Absent when the request's own could not be read: MCP allows no null here. */
  readonly id?: RequestId;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface RpcNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: object;
}

/** What a front end writes into the body of its reply. */
export interface Reply {
  readonly httpStatus: number;
  readonly message: RpcResult | RpcErrorMessage;
}

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** An id is echoed, on listen streams with every message: longer ones than this are refused. */
const ID_LENGTH_MAX = 1_024;

export function isObject(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own property; inherited ones such as `constructor` are not there. */
export function own(object: Wire, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Which kind of message a parsed body is. */
export function shapeOf(body: unknown): RpcShape {
  if (Array.isArray(body))
    return { type: "invalid", problem: "batches are not part of this protocol revision: send one message per request" };
  if (!isObject(body)) return { type: "invalid", problem: "the body must be one JSON-RPC message, an object" };
  const id = own(body, "id");
  const known = isRequestId(id) ? { id } : {};
  if (own(body, "jsonrpc") !== "2.0") return { type: "invalid", problem: 'jsonrpc must be "2.0"', ...known };
  const method = own(body, "method");
  if (method === undefined && (Object.hasOwn(body, "result") || Object.hasOwn(body, "error"))) {
    return isRequestId(id) ? { type: "response", id, message: body } : { type: "invalid", problem: "the response has no valid id" };
  }
  if (typeof method !== "string") return { type: "invalid", problem: "method must be a string", ...known };
  const params = Object.hasOwn(body, "params") ? body["params"] : {};
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

/** The reply to a body that is no JSON-RPC message, and to one that is too deep or too large to look at. */
export function invalidRequest(problem: string, id?: RequestId): Reply {
  return { httpStatus: 400, message: errorMessage(id, { code: INVALID_REQUEST, message: problem }) };
}

/** The reply to a request that met a defect in Parley, logged under that id. */
export function internalError(defectId: string, id?: RequestId): Reply {
  return { httpStatus: 500, message: errorMessage(id, { code: INTERNAL_ERROR, message: "Internal error", data: { defectId } }) };
}

/** Names from outside, cut so that an error never grows with its cause. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
