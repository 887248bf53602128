/**
 * Bounded violations. A value of a megabyte can be wrong in half a million places, each with a path as long as its
 * sender likes. Only the first few are reported, each cut to a length, and a validator searches for all of them only
 * in small values.
 */
import { cut } from "./cut.ts";

/** One problem with a value. */
export interface Violation {
  /** JSON pointer of the field, `""` for the whole value. */
  readonly path: string;
  /** What was expected, as a sentence fragment: `must be at most 20`. */
  readonly message: string;
}

/** Maximum number of reported violations. */
const VIOLATIONS_MAX = 8;
/** Maximum characters of a path and of a message. */
const TEXT_MAX = 200;

/** One more than is reported, which shows that there are more. Collecting further violations is useless. */
export const VIOLATIONS_WANTED = VIOLATIONS_MAX + 1;

/** The violations to report: in errors, in the store, and to the person who is asked again. */
export function boundedViolations(violations: readonly Violation[]): readonly Violation[] {
  return violations.slice(0, VIOLATIONS_MAX).map(({ path, message }) => ({ path: cut(path, TEXT_MAX), message: cut(message, TEXT_MAX) }));
}

/** One readable line: `/partySize must be at most 20; /name is required`. */
export function describeViolations(violations: readonly Violation[]): string {
  const shown = boundedViolations(violations).map(({ path, message }) => `${path === "" ? "the value" : path} ${message}`);
  return [...shown, ...(violations.length > VIOLATIONS_MAX ? ["and more"] : [])].join("; ");
}

/** A small value has at most this many items and members. */
const SMALL = 200;

/**
 * Whether all problems of a value may be searched for. In a large value the first one must do, because it may have as
 * many problems as parts.
 */
export function isSmall(value: unknown): boolean {
  let parts = 0;
  const pending = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Array.isArray(next) && parts + next.length > SMALL) return false;
    // Collecting the values of an object with thousands of members takes as long as parsing it.
    for (const key in next) {
      parts += 1;
      if (parts > SMALL) return false;
      pending.push((next as Record<string, unknown>)[key]);
    }
  }
  return true;
}

/** A problem as a JSON Schema validator reports it, in ajv's shape. */
interface SchemaProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  readonly message?: string | undefined;
}

/** Words a problem the same way for every validator. A missing or unknown field is named by its own path. */
export function schemaViolation({ instancePath, keyword, params, message }: SchemaProblem): Violation {
  const at = (property: unknown) => `${instancePath}/${String(property).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (keyword === "required") return { path: at(params["missingProperty"]), message: "is required" };
  if (keyword === "additionalProperties") return { path: at(params["additionalProperty"]), message: "is not a known field" };
  if (keyword === "enum") return { path: instancePath, message: `must be one of ${JSON.stringify(params["allowedValues"])}` };
  return { path: instancePath, message: message ?? `breaks ${keyword}` };
}
