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

/** The value as it will be after a trip through the store; `undefined` stays. Throws what JSON.stringify throws. */
export function throughJson(value: unknown): { readonly value: Json | undefined; readonly text: string } {
  const text = JSON.stringify(value);
  // A function or a symbol has no JSON text; like undefined it is stored as nothing.
  if (text === undefined) return { value: undefined, text: "" };
  return { value: JSON.parse(text) as Json, text };
}
