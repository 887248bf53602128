/**
 * Judges the patterns of a schema when the schema is defined. With a pattern of exponential cost (`^(a+)+$`), thirty
 * characters from a caller would block a front end, or thirty characters from a person a worker.
 *
 *   linear         accepted
 *   n², n³ …       accepted for strings of bounded length: the field must have a maxLength, and longer strings are refused before any pattern
 *                  runs, because validators try a pattern at any length
 *   in many ways   the same, with a shorter maxLength: repetitions that are counted, and alternatives, multiply the time
 *   exponential    refused, and so is a pattern that takes too long even for short strings
 *
 * Only the schema is visible here: a refinement that runs a pattern of its own is the author's responsibility.
 */
import type { Json, JsonObject, Violation } from "@parley/core";
import { patternCost, WAYS_FEW } from "./pattern-cost.ts";
import { isObject } from "../values/is-object.ts";

/** Maximum number of steps of a pattern: some tens of milliseconds. */
const STEPS_MAX = 4_000_000;
const SHOWN_MAX = 100;

/**
 * `z.iso.duration()`. Its lookahead is tried once, after the only P at the start, which the judge does not see: a text
 * of a million characters takes 25 ms.
 */
const ISO_DURATION = String.raw`^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$`;

/** The flags that the validator uses, by the pattern's source. */
export type Flags = ReadonlyMap<string, ReadonlySet<string>>;

export interface JudgedPatterns {
  /** By the field's path, with `*` for each item or each additional field. */
  readonly problems: readonly Violation[];
  /** Strings that are too long for their patterns; absent if all patterns are linear. */
  readonly tooLong?: (value: unknown) => readonly Violation[];
}

/** A field, or with a set, all fields except those. */
type Segment = string | { readonly except: ReadonlySet<string> } | typeof KEYS;
const KEYS = Symbol("keys");
const EACH: Segment = { except: new Set() };

interface Guard {
  readonly at: readonly Segment[];
  readonly maxLength: number;
  readonly refs: readonly string[];
  readonly pattern: string;
}

interface Place {
  readonly at: readonly Segment[];
  /** The limit that the surrounding schema puts on the string here. */
  readonly maxLength: number | undefined;
  /** The references that led here. */
  readonly refs: readonly string[];
}

export function judgePatterns(schema: JsonObject, flags: Flags = new Map()): JudgedPatterns {
  const problems: Violation[] = [];
  const guards: Guard[] = [];
  const recursive = new Set<string>();

  function walk(node: Json | undefined, place: Place): void {
    if (!isObject(node)) return;
    const { at, refs } = place;
    const here = { ...place, maxLength: shortest([place.maxLength, node["maxLength"], ...parts(node["allOf"]).map(maxLengthOf)]) };
    const pattern = node["pattern"];
    if (typeof pattern === "string" && !(node["format"] === "duration" && pattern === ISO_DURATION)) judge(pattern, here);
    const reference = node["$ref"];
    if (typeof reference === "string") {
      if (refs.includes(reference)) recursive.add(reference);
      else walk(resolved(schema, reference), { ...here, refs: [...refs, reference] });
    }
    for (const keyword of ["allOf", "anyOf", "oneOf"]) for (const part of parts(node[keyword])) walk(part, here);
    for (const keyword of ["not", "if", "then", "else"]) walk(node[keyword], here);

    const below = (segment: Segment): Place => ({ at: [...at, segment], maxLength: undefined, refs });
    const properties = fieldsOf(node["properties"]);
    for (const [name, field] of properties) walk(field, below(name));
    const others = below({ except: new Set(properties.map(([name]) => name)) });
    for (const [keys, field] of fieldsOf(node["patternProperties"])) {
      judge(keys, below(KEYS));
      walk(field, others);
    }
    walk(node["propertyNames"], below(KEYS));
    for (const keyword of ["additionalProperties", "unevaluatedProperties"]) walk(node[keyword], others);
    for (const keyword of ["items", "additionalItems", "unevaluatedItems", "contains"]) walk(node[keyword], below(EACH));
    for (const part of [...parts(node["prefixItems"]), ...parts(node["items"])]) walk(part, below(EACH));
    for (const [, part] of fieldsOf(node["dependentSchemas"])) walk(part, here);
  }

  function judge(pattern: string, { at, maxLength, refs }: Place): void {
    let guarded: Guard | undefined;
    // With the flags of the author's validator, and as JSON Schema reads it, because forms are validated by both.
    for (const used of new Set([...(flags.get(pattern) ?? []), isValid(pattern, "u") ? "u" : ""])) {
      const shown = `/${pattern.slice(0, SHOWN_MAX)}${pattern.length > SHOWN_MAX ? "…" : ""}/${used}`;
      const problem = problemOf(shown, patternCost(pattern, used), maxLength);
      if (problem === undefined) continue;
      if (typeof problem === "string") {
        problems.push({ path: pathOf(at), message: problem });
        return;
      }
      guarded = { at, maxLength: problem.maxLength, refs, pattern: shown };
    }
    if (guarded) guards.push(guarded);
  }

  walk(schema, { at: [], maxLength: undefined, refs: [] });
  for (const { at, pattern } of guards.filter((guard) => guard.refs.some((reference) => recursive.has(reference)))) {
    const message = `has the pattern ${pattern}, which takes more time than its texts are long, in a schema that contains itself: rewrite the pattern`;
    problems.push({ path: pathOf(at), message });
  }
  if (guards.length === 0) return { problems };
  return {
    problems,
    tooLong(value) {
      const found = guards.flatMap((guard) => tooLong(value, guard, ""));
      return found.filter(({ path }, index) => found.findIndex((other) => other.path === path) === index);
    },
  };
}

/** The problem, the length to guard, or nothing. */
function problemOf(
  shown: string,
  cost: ReturnType<typeof patternCost>,
  maxLength: number | undefined,
): string | { readonly maxLength: number } | undefined {
  switch (cost.type) {
    case "unknown":
      return `has the pattern ${shown}, which cannot be judged: ${cost.why}`;
    case "exponential":
      return `has the pattern ${shown}, which takes time that doubles with each character of some texts: rewrite it so that a text can match in one way only`;
    case "polynomial": {
      const { degree } = cost;
      const ways = cost.ways <= WAYS_FEW ? 1 : cost.ways;
      if (degree === 0 ? ways <= STEPS_MAX : degree === 1 && ways === 1) return undefined;
      const most = degree === 0 ? 0 : Math.floor((STEPS_MAX / ways) ** (1 / degree));
      if (most === 0)
        return `has the pattern ${shown}, whose repetitions and alternatives some texts match in more than ${STEPS_MAX} ways: rewrite it so that a text can match in one way only`;
      if (maxLength !== undefined && maxLength <= most) return { maxLength };
      const time =
        degree === 1
          ? `${ways} times a text's length`
          : `that grows with ${degree === 2 ? "the square" : `the power of ${degree}`} of a text's length`;
      return `has the pattern ${shown}, which takes time ${time}: limit the text to ${most} characters (maxLength), anchor the pattern, or rewrite it`;
    }
  }
}

/** Twice the limit: some count characters, some code points, and the author's schema decides on the limit itself. */
function tooLong(value: unknown, { at: [segment, ...rest], ...guard }: Guard, path: string): Violation[] {
  if (segment === undefined) {
    if (typeof value !== "string" || value.length <= 2 * guard.maxLength) return [];
    return [{ path, message: `must have at most ${guard.maxLength} characters` }];
  }
  if (typeof value !== "object" || value === null) return [];
  const deeper = { ...guard, at: rest };
  if (segment === KEYS) return Object.keys(value).flatMap((key) => tooLong(key, deeper, `${path}/*`));
  if (typeof segment === "string")
    return Object.hasOwn(value, segment)
      ? tooLong((value as { [key: string]: unknown })[segment], deeper, `${path}/${escaped(segment)}`)
      : [];
  return Object.entries(value).flatMap(([key, item]) => (segment.except.has(key) ? [] : tooLong(item, deeper, `${path}/${escaped(key)}`)));
}

function pathOf(at: readonly Segment[]): string {
  return at.map((segment) => `/${typeof segment === "string" ? escaped(segment) : "*"}`).join("");
}

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Whether the engine accepts the pattern with that flag. */
export function isValid(pattern: string, flag: string): boolean {
  try {
    void new RegExp(pattern, flag);
    return true;
  } catch {
    return false;
  }
}

function resolved(root: JsonObject, reference: string): Json | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let target: Json | undefined = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    target = isObject(target) ? target[name] : Array.isArray(target) ? target[Number(name)] : undefined;
  }
  return target;
}

function maxLengthOf(part: Json | undefined): Json | undefined {
  return isObject(part) ? part["maxLength"] : undefined;
}

function shortest(lengths: readonly (Json | undefined)[]): number | undefined {
  const known = lengths.filter((length) => typeof length === "number");
  return known.length === 0 ? undefined : Math.min(...known);
}

function parts(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: Json | undefined): readonly (readonly [string, Json])[] {
  return isObject(value) ? Object.entries(value) : [];
}

/** Whether the validator uses the pattern with flags that change which texts match. `u` and `v` hardly do. */
export function needsFlags(flags: Flags, pattern: string): boolean {
  return [...(flags.get(pattern) ?? [])].some((used) => /[ims]/.test(used));
}

// ── zod ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Zod omits a pattern's flags from its JSON Schema, which has no place for them, but uses them. Returns options for
 * its converter that collect them.
 */
export function gatherFlags(): { readonly flags: Flags; readonly libraryOptions: Record<string, unknown> } {
  const flags = new Map<string, Set<string>>();
  const override = ({ zodSchema }: { readonly zodSchema: { readonly _zod: { readonly def: ZodDef } } }): void => {
    const { def } = zodSchema._zod;
    for (const pattern of [def.pattern, ...(def.checks ?? []).map((each) => each._zod.def.pattern)]) {
      if (!(pattern instanceof RegExp)) continue;
      const known = flags.get(pattern.source) ?? new Set();
      flags.set(pattern.source, known.add(pattern.flags.replaceAll(/[^imsuv]/g, "")));
    }
  };
  return { flags, libraryOptions: { override } };
}

interface ZodDef {
  readonly pattern?: unknown;
  readonly checks?: readonly { readonly _zod: { readonly def: { readonly pattern?: unknown } } }[];
}
