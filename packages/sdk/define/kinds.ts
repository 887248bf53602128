/**
 * What each option of a definition must be, for authors without types. A wrong one would be taken for yes, ignored, or fail when it is needed; in a
 * list, the official clients refuse all its items because of one.
 */
import { DefinitionError } from "../failures.ts";

export interface Kind {
  is(value: unknown): boolean;
  readonly wanted: string;
}

export type Kinds = Readonly<Record<string, Kind>>;

export const TEXT: Kind = { is: (value) => typeof value === "string", wanted: "a string" };
export const SWITCH: Kind = { is: (value) => typeof value === "boolean", wanted: "true or false" };
export const LIST: Kind = { is: Array.isArray, wanted: "a list" };
export const FUNCTION: Kind = { is: (value) => typeof value === "function", wanted: "a function" };
export const OBJECT: Kind = { is: isPlain, wanted: "an object" };

export function wholeNumberFrom(min: number): Kind {
  return { is: (value) => Number.isSafeInteger(value) && Number(value) >= min, wanted: `a whole number from ${min}` };
}

export function oneOf(...words: readonly string[]): Kind {
  const shown = words.map((word) => JSON.stringify(word));
  return { is: (value) => words.includes(value as string), wanted: `${shown.slice(0, -1).join(", ")} or ${shown.at(-1)}` };
}

/** Throws DefinitionError for the first option of another kind. `prefix` comes before its name. */
export function checkKinds(what: string, given: object, kinds: Kinds, prefix = ""): void {
  for (const [option, { is, wanted }] of Object.entries(kinds)) {
    const value: unknown = (given as Readonly<Record<string, unknown>>)[option];
    if (value !== undefined && !is(value)) throw new DefinitionError(`${what}: ${prefix}${option} must be ${wanted}`);
  }
}

/** The same for options that are objects themselves; absent ones are skipped. */
export function checkNested(what: string, option: string, value: unknown, kinds: Kinds): void {
  if (value === undefined) return;
  if (!isPlain(value)) throw new DefinitionError(`${what}: ${option} must be an object`);
  checkKinds(what, value, kinds, `${option}.`);
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
