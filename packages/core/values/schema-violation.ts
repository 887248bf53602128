/**
 * Bounded violations. A value of a megabyte can be wrong in half a million places, each with a path as long as its
 * sender likes. Only the first few are reported, each cut to a length, and a validator searches for all of them only
 * in small values.
 */
import { cut } from "./cut.ts";
import { plainPath } from "./plain-name.ts";
import { ENGLISH, problemAt, type SchemaProblem, type ViolationTexts } from "./violation-texts.ts";

/** One problem with a value. */
export interface Violation {
  /** JSON pointer of the field, `""` for the whole value. */
  readonly path: string;
  /** What was expected, as a sentence fragment: `must be at most 20`. */
  readonly message: string;
  /** The title of the form's field, if it has one. */
  readonly label?: string;
}

/** Maximum number of reported violations. */
const VIOLATIONS_MAX = 8;
/** Maximum characters of a path and of a message. */
const TEXT_MAX = 200;

/** One more than is reported, which shows that there are more. Collecting further violations is useless. */
export const VIOLATIONS_WANTED = VIOLATIONS_MAX + 1;

/** The violations to report: in errors, in the store, and to the person who is asked again. */
export function boundedViolations(violations: readonly Violation[]): readonly Violation[] {
  return violations.slice(0, VIOLATIONS_MAX).map(({ path, message, label }) => ({
    path: cut(path, TEXT_MAX),
    message: cut(message, TEXT_MAX),
    ...(label !== undefined && { label: cut(label, TEXT_MAX) }),
  }));
}

/** One line for the people whose answer is refused: `Party size must be at most 20; Name is required`. Fields have their titles, or else their names in words. */
export function describeProblems(violations: readonly Violation[]): string {
  const shown = boundedViolations(violations).map(({ path, message, label }) => problemAt(label ?? nameIn(path), message));
  return [...shown, ...(violations.length > VIOLATIONS_MAX ? ["and more"] : [])].join("; ");
}

/** `/party-size/content/guests/0/firstName` → `Guests 1 first name`. */
function nameIn(path: string): string {
  const segments = path.split("/").slice(1);
  const content = segments.indexOf("content");
  const names = content === 0 || content === 1 ? segments.slice(content + 1) : segments;
  const named = names.map((name) => (/^\d+$/.test(name) ? `${Number(name) + 1}` : name.replaceAll("~1", "/").replaceAll("~0", "~")));
  return named.length === 0 ? "the answer" : plainPath(named);
}

/** One line for those who write a call: `/partySize must be at most 20; /name is required`. */
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

/** Words a problem the same way for every validator. A missing or unknown field is named by its own path. */
export function schemaViolation({ instancePath, ...problem }: SchemaProblem, texts: ViolationTexts = ENGLISH): Violation {
  const { keyword, params, message } = problem;
  const at = (property: unknown) => `${instancePath}/${String(property).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (keyword === "required" || keyword === "dependentRequired") return { path: at(params["missingProperty"]), message: texts.isRequired };
  if (keyword === "additionalProperties") return { path: at(params["additionalProperty"]), message: texts.isUnknown };
  if (keyword === "unevaluatedProperties") return { path: at(params["unevaluatedProperty"]), message: texts.isUnknown };
  return { path: instancePath, message: texts.of(problem) ?? message ?? `breaks ${keyword}` };
}
