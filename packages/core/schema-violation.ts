/**
 * What is wrong with a value, in bounds: a value of a megabyte can be wrong in half a million places, each named by a path as long as its
 * sender likes. The first few are told, each cut; and a validator that could find them all looks for them in small values only.
 */
import { cut } from "./cut.ts";
import type { Violation } from "./task.ts";

/** How many violations are told. */
const TOLD = 8;
/** How long the path and the message of each may be. */
const TEXT_MAX = 200;

/** As many as are told and one more, which tells that there are more. A collector of violations needs no further ones. */
export const VIOLATIONS_WANTED = TOLD + 1;

/** Those that are told: in errors, in the store, to the person who is asked again. */
export function toldViolations(violations: readonly Violation[]): readonly Violation[] {
  return violations.slice(0, TOLD).map(({ path, message }) => ({ path: cut(path, TEXT_MAX), message: cut(message, TEXT_MAX) }));
}

/** As one readable line: `/partySize must be at most 20; /name is required`. */
export function describeViolations(violations: readonly Violation[]): string {
  const told = toldViolations(violations).map(({ path, message }) => `${path === "" ? "the value" : path} ${message}`);
  return [...told, ...(violations.length > TOLD ? ["and more"] : [])].join("; ");
}

/** A small value has at most this many items and members. */
const SMALL = 200;

/** Whether all that is wrong with a value may be looked for. In a large one the first problem must do: others can be as many as its parts. */
export function isSmall(value: unknown): boolean {
  let parts = 0;
  const pending = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Array.isArray(next) && parts + next.length > SMALL) return false;
    // To gather the values of an object with thousands of members takes as long as to parse it.
    for (const key in next) {
      parts += 1;
      if (parts > SMALL) return false;
      pending.push((next as Record<string, unknown>)[key]);
    }
  }
  return true;
}

/** What a JSON Schema validator (ajv, by its shape) has to say against a value. */
interface SchemaProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  readonly message?: string | undefined;
}

/** In the words that every caller and every person reads, whichever validator was used. A missing or unknown field is named by its own path. */
export function schemaViolation({ instancePath, keyword, params, message }: SchemaProblem): Violation {
  const at = (property: unknown) => `${instancePath}/${String(property).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (keyword === "required") return { path: at(params["missingProperty"]), message: "is required" };
  if (keyword === "additionalProperties") return { path: at(params["additionalProperty"]), message: "is not a known field" };
  if (keyword === "enum") return { path: instancePath, message: `must be one of ${JSON.stringify(params["allowedValues"])}` };
  return { path: instancePath, message: message ?? `breaks ${keyword}` };
}
