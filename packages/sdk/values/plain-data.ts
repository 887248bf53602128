import { type Json, ParleyError, STORED_DEPTH_MAX } from "@parley/core";
import { Grant } from "./grant.ts";
import { Secret } from "./secret.ts";

/**
 * Throws NOT_SERIALIZABLE, with the path, for values that JSON would silently drop or change: functions, symbols,
 * bigints, Map, Set, promises, NaN, Infinity, invalid dates, cycles, and instances of classes that JSON would store as
 * `{}` (Response, Headers, URLSearchParams, RegExp, generators). `undefined` in objects is omitted, as in JSON; objects
 * with `toJSON` (Date, URL) are stored as its result.
 */
export function assertPlain(
  what: string,
  value: unknown,
  { mayHaveInstances = false }: { readonly mayHaveInstances?: boolean } = {},
): void {
  const problem = find(value, { path: [], parents: [], mayHaveInstances });
  if (problem) throw new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data: ${problem}`);
}

interface At {
  /** The members that lead to the value, and the objects that they are members of. */
  readonly path: string[];
  readonly parents: object[];
  /** A schema that reads the value next may make plain data of an instance with getters. */
  readonly mayHaveInstances: boolean;
}

/** The value as JSON holds it. Throws as `assertPlain` does. */
export function plainJson(what: string, value: unknown): Json {
  assertPlain(what, value);
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

function find(value: unknown, at: At): string | undefined {
  switch (typeof value) {
    case "function":
    case "symbol":
    case "bigint":
      return `${placeOf(at)} is ${nounFor(value)}`;
    case "number":
      return Number.isFinite(value) ? undefined : `${placeOf(at)} is ${value}`;
    case "object":
      return value === null ? undefined : findIn(value, at);
    default:
      return undefined;
  }
}

function placeOf({ path }: At): string {
  return path.length === 0 ? "it" : path.map((member) => `/${member}`).join("");
}

function findIn(value: object, at: At): string | undefined {
  const { path, parents, mayHaveInstances } = at;
  if (value instanceof Secret) return `${placeOf(at)} is a secret`;
  if (value instanceof Grant) return `${placeOf(at)} is a grant`;
  // Also where the stack of this function would end.
  if (parents.length >= STORED_DEPTH_MAX) return `it nests deeper than ${STORED_DEPTH_MAX} levels`;
  if (parents.includes(value)) return `${placeOf(at)} contains itself`;
  if (value instanceof Date && Number.isNaN(value.getTime())) return `${placeOf(at)} is an invalid date`;
  if (value instanceof Promise) return `${placeOf(at)} is a promise: await it`;
  // A Buffer has toJSON, but what comes back from it is no Buffer.
  if (ArrayBuffer.isView(value))
    return mayHaveInstances ? undefined : `${placeOf(at)} is ${nounFor(value)}: encode it, such as by Buffer.from(…).toString("base64")`;
  if ("toJSON" in value && typeof value.toJSON === "function") return undefined;
  if (value instanceof Map || value instanceof Set || value instanceof Error) return `${placeOf(at)} is ${nounFor(value)}`;
  const entries = Object.entries(value);
  if (entries.length === 0 && !mayHaveInstances && isInstance(value)) return `${placeOf(at)} is ${nounFor(value)}`;
  parents.push(value);
  for (const [key, item] of entries) {
    path.push(key);
    const problem = find(item, at);
    if (problem) return problem;
    path.pop();
  }
  parents.pop();
  return undefined;
}

/** For messages: "a list", "a Map", "an Error", "null". */
export function nounFor(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? "a number" : String(value);
  if (Array.isArray(value)) return "a list";
  const name = typeof value !== "object" ? typeof value : isInstance(value) ? nameOf(value) || "class instance" : "object";
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${name}`;
}

/** Neither a list nor an object literal, of any realm. */
function isInstance(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return !Array.isArray(value) && prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** Of its class. A generator has none. */
function nameOf({ constructor }: { readonly constructor?: unknown }): string | undefined {
  return typeof constructor === "function" ? constructor.name : undefined;
}
