import { jsonExceeds } from "./json-extent.ts";
import type { Json } from "./task.ts";

/** JSON with sorted keys and without `undefined`: equal values give equal texts. Throws a TypeError for what JSON cannot hold. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value)) ?? "null";
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

/**
 * How deep arrays and objects may nest in what is stored. JSON.stringify takes more than what stores do with a value takes, at a depth that
 * depends on the stack that is left: what passes here must not fail behind its side effect, as it is recorded.
 */
export const STORED_DEPTH_MAX = 1_000;

/**
 * The value as it will be after a trip through the store; `undefined` stays. Throws what JSON.stringify throws, and a RangeError for what nests
 * too deep.
 */
export function throughJson(value: unknown): { readonly value: Json | undefined; readonly text: string } {
  const text = JSON.stringify(value);
  // A function or a symbol has no JSON text; like undefined it is stored as nothing.
  if (text === undefined) return { value: undefined, text: "" };
  // Each level takes two characters.
  const mayBeDeep = text.length > 2 * STORED_DEPTH_MAX;
  if (mayBeDeep && jsonExceeds(text, { depthMax: STORED_DEPTH_MAX, valuesMax: Infinity }) !== undefined)
    throw new RangeError(`arrays and objects nest deeper than ${STORED_DEPTH_MAX} levels`);
  return { value: JSON.parse(text) as Json, text };
}
