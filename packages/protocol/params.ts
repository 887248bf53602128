/**
 * Readers for params, shared by several revisions. They are hand-written because a union of schemas costs more than the rest of a tasks/get, and
 * strips unknown members. A problem is thrown as `BadParams` and becomes -32602.
 */
import { CALL_REASON_CHARS_MAX, cut } from "@parley/core";
import type { CancelTask, Complete, List, ProgressToken } from "./intents.ts";
import { given, isObject, type Wire } from "./json-rpc.ts";

export class BadParams extends Error {}

/** Longer uris are refused: a subscription keeps its uri, and a read matches its uri against each template. */
const URI_CHARS_MAX = 2_048;
/** Bounded because each progress notification repeats it. */
const PROGRESS_TOKEN_CHARS_MAX = 128;

/** The result of `read`, or the problem that it threw. */
export function readParams<T>(read: (params: Wire) => T, params: Wire): T | BadParams {
  try {
    return read(params);
  } catch (error) {
    if (error instanceof BadParams) return error;
    throw error;
  }
}

export function list(type: List["type"]): (params: Wire) => List {
  return (params) => ({ type, ...cursorOf(params) });
}

export function cursorOf(params: Wire): { readonly cursor?: string } {
  const cursor = optional(params, "cursor", isString, "a string");
  return cursor === undefined ? {} : { cursor };
}

export function complete(params: Wire): Complete {
  const ref = member(params, "ref", isObject, "an object");
  const argument = member(params, "argument", isObject, "an object");
  const context = optional(params, "context", isObject, "an object") ?? {};
  return {
    type: "complete",
    of: completed(ref),
    argument: required(argument, "name", "argument.name"),
    value: required(argument, "value", "argument.value"),
    others: strings(context, "arguments", "context.arguments"),
  };
}

function completed(ref: Wire): Complete["of"] {
  switch (given(ref, "type")) {
    case "ref/prompt":
      return { type: "prompt", name: required(ref, "name", "ref.name") };
    case "ref/resource":
      return { type: "template", uri: required(ref, "uri", "ref.uri") };
    default:
      throw new BadParams('ref.type must be "ref/prompt" or "ref/resource"');
  }
}

export function cancelTask(params: Wire): CancelTask {
  return { type: "cancelTask", taskId: required(params, "taskId") };
}

/** The uri of a resource to be read or subscribed to. */
export function isUri(value: unknown): value is string {
  return typeof value === "string" && value.length <= URI_CHARS_MAX;
}

export const BOUNDED_URI = `a string of at most ${URI_CHARS_MAX} characters`;

export function isProgressToken(value: unknown): value is ProgressToken {
  return typeof value === "string" ? value.length <= PROGRESS_TOKEN_CHARS_MAX : Number.isSafeInteger(value);
}

export const PROGRESS_TOKEN = `an integer or a string of at most ${PROGRESS_TOKEN_CHARS_MAX} characters`;

/** The idempotency key of a call, in `_meta` in every revision. */
export const IDEMPOTENCY_KEY = "parley/idempotencyKey";
const IDEMPOTENCY_KEY_TEXT = /^[\x21-\x7e]{1,255}$/;

export function idempotencyKey(params: Wire): { readonly idempotencyKey?: string } {
  const meta = given(params, "_meta");
  if (!isObject(meta)) return {};
  const isKey = (value: unknown): value is string => typeof value === "string" && IDEMPOTENCY_KEY_TEXT.test(value);
  const key = optional(
    meta,
    IDEMPOTENCY_KEY,
    isKey,
    "a string of 1 to 255 printable ASCII characters without spaces",
    `_meta["${IDEMPOTENCY_KEY}"]`,
  );
  return key === undefined ? {} : { idempotencyKey: key };
}

/** Why a call is made, for people who approve it; in `_meta` in every revision. */
export const CALL_REASON = "parley/reason";

export function callReason(params: Wire): { readonly reason?: string } {
  const meta = given(params, "_meta");
  if (!isObject(meta)) return {};
  const isReason = (value: unknown): value is string => typeof value === "string" && value.length <= CALL_REASON_CHARS_MAX;
  const reason = optional(
    meta,
    CALL_REASON,
    isReason,
    `a string of at most ${CALL_REASON_CHARS_MAX} characters`,
    `_meta["${CALL_REASON}"]`,
  );
  return reason === undefined ? {} : { reason };
}

export function callArguments(params: Wire): Wire {
  return optional(params, "arguments", isObject, "an object") ?? {};
}

/** A map of strings. */
export function strings(params: Wire, key: string, name = key): { readonly [name: string]: string } {
  const values = optional(params, key, isObject, "an object", name) ?? {};
  for (const item of Object.keys(values)) {
    if (typeof values[item] !== "string") throw new BadParams(`${name}.${cut(item, 100)} must be a string`);
  }
  return values as { readonly [name: string]: string };
}

export function required(params: Wire, key: string, name = key): string {
  return member(params, key, isString, "a string", name);
}

export function member<T>(params: Wire, key: string, is: (value: unknown) => value is T, what: string, name = key): T {
  const value = given(params, key);
  if (is(value)) return value;
  throw new BadParams(value === undefined ? `${name} is required` : `${name} must be ${what}`);
}

export function optional<T>(params: Wire, key: string, is: (value: unknown) => value is T, what: string, name = key): T | undefined {
  const value = given(params, key);
  if (value === undefined || is(value)) return value;
  throw new BadParams(`${name} must be ${what}`);
}

export function isString(value: unknown): value is string {
  return typeof value === "string";
}
