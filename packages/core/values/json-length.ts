/** The length of a value's JSON, measured without building it: a value of 100 MB is refused as soon as the limit is passed. */
import { STORED_DEPTH_MAX } from "./canonical-json.ts";

/** Whether the JSON of a value is longer than `max` characters. Throws what JSON.stringify throws. */
export function isJsonLonger(value: unknown, max: number): boolean {
  return isSurelyLonger(value, max) || (JSON.stringify(value) ?? "").length > max;
}

/**
 * The same by a lower bound, which leaves out escapes, the digits of numbers, and objects with `toJSON`. Looks at no more of the value than makes
 * `max` characters. False for values that JSON cannot represent: JSON.stringify is to say so.
 */
export function isSurelyLonger(value: unknown, max: number): boolean {
  return leftAfter(value, max, new Set()) < 0;
}

/** How many of the characters that are left remain after this value; stops below 0. Infinity for what JSON cannot represent. */
function leftAfter(value: unknown, left: number, around: Set<object>): number {
  switch (typeof value) {
    case "string":
      return left - value.length - '""'.length;
    case "number":
    case "boolean":
      return left - 1;
    case "object":
      return value === null || isWrittenOtherwise(value) ? left : leftAfterObject(value, left, around);
    case "bigint":
      return Infinity;
    default:
      return left;
  }
}

function leftAfterObject(object: object, before: number, around: Set<object>): number {
  if (around.size >= STORED_DEPTH_MAX || around.has(object)) return Infinity;
  around.add(object);
  const left = Array.isArray(object) ? leftAfterItems(object, before, around) : leftAfterMembers(object, before, around);
  around.delete(object);
  return left;
}

function leftAfterItems(items: readonly unknown[], before: number, around: Set<object>): number {
  let left = before - "[]".length - Math.max(0, items.length - 1);
  // By index: a list may have holes, which are written as null.
  for (let index = 0; index < items.length && left >= 0; index += 1) left = leftAfter(items[index], left, around);
  return left;
}

function leftAfterMembers(object: object, before: number, around: Set<object>): number {
  let left = before - "{}".length + ",".length;
  for (const name of Object.keys(object)) {
    const item = (object as Readonly<Record<string, unknown>>)[name];
    if (item === undefined || typeof item === "function" || typeof item === "symbol") continue;
    left = leftAfter(item, left - name.length - '"":,'.length, around);
    if (left < 0) return left;
  }
  return Math.min(left, before - "{}".length);
}

/** Not by its members. */
function isWrittenOtherwise(value: object): boolean {
  return (
    ArrayBuffer.isView(value) ||
    value instanceof String ||
    value instanceof Number ||
    value instanceof Boolean ||
    ("toJSON" in value && typeof value.toJSON === "function")
  );
}
