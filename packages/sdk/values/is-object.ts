import type { JsonObject } from "@parley/core";

/** An object of JSON: no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
