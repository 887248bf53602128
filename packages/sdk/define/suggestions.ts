import { ParleyError } from "@parley/core";
import { nounFor } from "../values/plain-data.ts";

/** Suggestions of an author without types, who may return anything. No client could read other values than a list of strings; nothing means none. */
export function suggestions(what: string, returned: unknown): readonly string[] {
  if (returned === undefined || returned === null) return [];
  if (Array.isArray(returned) && returned.every((value): value is string => typeof value === "string")) return returned;
  const wrong = Array.isArray(returned) ? "a list with other values" : nounFor(returned);
  throw new ParleyError("INVALID_OUTPUT", `${what} must return a list of strings, and returned ${wrong}`);
}
