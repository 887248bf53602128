import { jsonExceeds } from "./json-extent.ts";
import type { Json } from "./json.ts";

/**
 * JSON with sorted keys and without `undefined`, so that equal values give equal strings. Throws a TypeError for
 * values that JSON cannot represent.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value)) ?? "null";
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  // No two keys are equal.
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

/**
 * Maximum nesting of arrays and objects in stored values. JSON.stringify accepts deeper values than the store's own
 * functions, depending on the free stack. A value that passes here must not fail later, when its side effect has
 * happened and is being recorded.
 */
export const STORED_DEPTH_MAX = 1_000;

/**
 * The value as it will be after a round trip through the store; `undefined` stays. Throws what JSON.stringify throws,
 * and a RangeError for values that are nested too deeply.
 */
export function throughJson(value: unknown): { readonly value: Json | undefined; readonly text: string } {
  const text = JSON.stringify(value);
  // Functions and symbols have no JSON form. Like undefined, they are stored as nothing.
  if (text === undefined) return { value: undefined, text: "" };
  // Each level takes at least two characters.
  const mayBeDeep = text.length > 2 * STORED_DEPTH_MAX;
  if (mayBeDeep && jsonExceeds(text, { depthMax: STORED_DEPTH_MAX, valuesMax: Infinity }) !== undefined)
    throw new RangeError(`arrays and objects nest deeper than ${STORED_DEPTH_MAX} levels`);
  return { value: JSON.parse(text) as Json, text };
}
