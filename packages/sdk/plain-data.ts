import { type Json, ParleyError } from "@parley/core";
import { Grant } from "./grant.ts";
import { Secret } from "./secret.ts";

/**
 * Throws NOT_SERIALIZABLE, with the path, for values that JSON would silently drop or change: functions, symbols,
 * bigints, Map, Set, promises, NaN, Infinity, cycles. `undefined` in objects is omitted, as in JSON; objects with
 * `toJSON` (Date, URL) are stored as its result.
 */
export function assertPlain(what: string, value: unknown): void {
  const problem = find(value, "", []);
  if (problem) throw new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data: ${problem}`);
}

/** The value as JSON holds it. Throws as `assertPlain` does. */
export function plainJson(what: string, value: unknown): Json {
  assertPlain(what, value);
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

function find(value: unknown, path: string, parents: readonly object[]): string | undefined {
  const place = path === "" ? "it" : path;
  switch (typeof value) {
    case "function":
    case "symbol":
    case "bigint":
      return `${place} is a ${typeof value}`;
    case "number":
      return Number.isFinite(value) ? undefined : `${place} is ${value}`;
    case "object": {
      if (value === null) return undefined;
      if (value instanceof Secret) return `${place} is a secret`;
      if (value instanceof Grant) return `${place} is a grant`;
      if (parents.includes(value)) return `${place} contains itself`;
      if ("toJSON" in value && typeof value.toJSON === "function") return undefined;
      if (value instanceof Map || value instanceof Set || value instanceof Promise || value instanceof Error || ArrayBuffer.isView(value)) {
        return `${place} is a ${value.constructor.name}`;
      }
      for (const [key, item] of Object.entries(value)) {
        const problem = find(item, `${path}/${key}`, [...parents, value]);
        if (problem) return problem;
      }
      return undefined;
    }
    default:
      return undefined;
  }
}
