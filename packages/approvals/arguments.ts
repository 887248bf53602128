/** Arguments of a call, as far as a rule lets people see them. */
import type { JsonObject } from "@parley/core";

/** In place of what a rule does not show. */
export const REDACTED = "(not shown)";

export function redacted(args: JsonObject, pointers: readonly string[]): JsonObject {
  const copy = structuredClone(args);
  for (const pointer of pointers) {
    const path = pointer
      .slice(1)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = path.pop() ?? "";
    let at: unknown = copy;
    for (const part of path) at = isContainer(at) && Object.hasOwn(at, part) ? at[part] : undefined;
    // By assignment, the member __proto__ would stay.
    if (isContainer(at) && Object.hasOwn(at, last)) Object.defineProperty(at, last, { value: REDACTED });
  }
  return copy;
}

/** A pointer also leads through lists. */
function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function isObject(value: unknown): value is JsonObject {
  return isContainer(value) && !Array.isArray(value);
}
