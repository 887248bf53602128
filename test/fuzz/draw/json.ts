/** Random JSON: unusual values, large values in a form that stays small until it is sent, and changes at a path. */
import type { Json, JsonObject } from "@parley/core";
import fc from "fast-check";

export type { Json, JsonObject };
export type Path = readonly (string | number)[];

/** In every text that callers give as arguments or answers, so that it can be found where it must not be. */
export const CONTENT = "c4n4ry";

/**
 * Stands for something large: `times` characters, items or members of `of`, or as many levels of arrays around it. Expanded when it is sent,
 * so that drawing, shrinking and printing it cost nothing.
 */
export interface Large {
  readonly large: "text" | "list" | "members" | "depth";
  readonly of: Json;
  readonly times: number;
}

export type Drawn = Json | Large | readonly Drawn[] | DrawnObject;
export type DrawnObject = { readonly [key: string]: Drawn };

function isLarge(value: unknown): value is Large {
  return isObject(value) && typeof value["large"] === "string" && typeof value["times"] === "number";
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is sent of what was drawn. */
export function expand(value: Drawn): Json {
  if (isLarge(value)) return expandLarge(value);
  if (Array.isArray(value)) return value.map(expand);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item)]));
  return value as Json;
}

function expandLarge({ large, of, times }: Large): Json {
  switch (large) {
    case "text":
      return (typeof of === "string" ? of : JSON.stringify(of)).repeat(times);
    case "list":
      return Array.from({ length: times }, () => of);
    case "members":
      return Object.fromEntries(Array.from({ length: times }, (_, index) => [`m${index}`, of]));
    case "depth": {
      let nested = of;
      for (let level = 0; level < times; level += 1) nested = level % 2 === 0 ? [nested] : { a: nested };
      return nested;
    }
  }
}

export function at(value: Json, path: Path): Json | undefined {
  let here: Json | undefined = value;
  for (const key of path) {
    if (Array.isArray(here)) here = here[Number(key)];
    else if (isObject(here) && Object.hasOwn(here, key)) here = here[key];
    else return undefined;
  }
  return here;
}

/** A copy with another value at the path; undefined takes it away. The same value where the path leads nowhere. */
export function withValue(value: Json, path: Path, replacement: Json | undefined): Json {
  const [key, ...rest] = path;
  if (key === undefined) return replacement ?? null;
  if (Array.isArray(value)) {
    const items = [...value];
    items[Number(key)] = withValue(items[Number(key)] ?? null, rest, replacement);
    return items;
  }
  if (!isObject(value)) return value;
  if (rest.length > 0 && !Object.hasOwn(value, key)) return value;
  const others = Object.entries(value).filter(([name]) => name !== String(key));
  if (rest.length === 0 && replacement === undefined) return Object.fromEntries(others);
  const inner = rest.length === 0 ? replacement : withValue(value[key] ?? null, rest, replacement);
  // As entries: `__proto__` is a member like any other then.
  return Object.fromEntries([...others, [String(key), inner ?? null]]);
}

/**
 * How deep arrays and objects nest, 0 for a scalar, and how many items and members they have in all, an empty one counting as one. Not recursive,
 * since what is sent may be deeper than the stack.
 */
export function extentOf(value: unknown): { readonly depth: number; readonly values: number } {
  let deepest = 0;
  let values = 0;
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (typeof next.value !== "object" || next.value === null) continue;
    const depth = next.depth + 1;
    deepest = Math.max(deepest, depth);
    const items = Object.values(next.value) as unknown[];
    values += Math.max(1, items.length);
    for (const item of items) pending.push({ value: item, depth });
  }
  return { depth: deepest, values };
}

/** Names that mean something to JavaScript, to Redis or to a log. */
export const ODD_NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then", "toJSON", "length"]
  .concat(["", " ", "\u0000", "\n", "a\r\nb: c", "*", "?", "{p0}", "../../etc/passwd", "%00", "%s%d%n", "${7*7}", "'", '"', "<script>"])
  .concat(["\ud800", "\ufeff", "\u202e", "ａ", "e\u0301", "💥", "null", "undefined", "NaN", "-1", "0"]);

export const oddNames = (): fc.Arbitrary<string> => fc.oneof(fc.constantFrom(...ODD_NAMES), fc.string({ maxLength: 12 }));

const SCALARS: readonly Json[] = [null, true, false, 0, -1, 1, 1.5, -0.1, 1e308, 5e-324, 2 ** 53, -(2 ** 53), 4294967296];
const POLLUTION: readonly Json[] = [
  JSON.parse('{"__proto__":{"polluted":"yes"}}') as Json,
  { constructor: { prototype: { polluted: "yes" } } },
  JSON.parse('[{"__proto__":{"polluted":"yes"}}]') as Json,
  JSON.parse('{"__proto__":null}') as Json,
];

/** Anything that is small. */
export const someJson = (): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Json>(...SCALARS) },
    { weight: 3, arbitrary: oddNames() },
    { weight: 2, arbitrary: fc.constantFrom<Json>([], {}, [[]], [null], { a: 1 }, [{}, {}]) },
    { weight: 2, arbitrary: fc.constantFrom<Json>(...POLLUTION) },
    { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json> },
  );

/** Around what a body may be and nest; most are much smaller. */
export const largeJson = (): fc.Arbitrary<Large> =>
  fc.oneof(
    fc.record({ large: fc.constant("text" as const), of: fc.constantFrom<Json>("x", "é", "\u0000", "💥"), times: manyTimes(2, 1_100_000) }),
    fc.record({ large: fc.constant("list" as const), of: fc.constantFrom<Json>(0, "", null, {}, []), times: manyTimes(2, 520_000) }),
    fc.record({ large: fc.constant("members" as const), of: fc.constantFrom<Json>(0, "", {}), times: manyTimes(2, MEMBERS_MAX) }),
    // Around the limit, and what JSON.stringify can still write.
    fc.record({
      large: fc.constant("depth" as const),
      of: fc.constant<Json>(1),
      times: fc.oneof(fc.integer({ min: 55, max: 70 }), manyTimes(2, 3_000)),
    }),
  );

/** JSON.parse alone takes 50 ms and more for twice as many members, which is what a body can hold. */
export const MEMBERS_MAX = 40_000;

/** How often: mostly near the least. What is as large as a body may be costs as much as a thousand others. */
export function manyTimes(least: number, most: number): fc.Arbitrary<number> {
  const few = Math.min(most, least + 2_000);
  return fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: least, max: few }) },
    { weight: 1, arbitrary: fc.integer({ min: few, max: most }) },
  );
}

export function longText(least: number, most: number, of = "x"): fc.Arbitrary<Large> {
  return manyTimes(least, most).map((times) => ({ large: "text", of, times }));
}

export type JsonType = "string" | "object" | "array" | "boolean" | "number" | "integer" | "id";

export function isOf(type: JsonType, value: unknown): boolean {
  switch (type) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isSafeInteger(value);
    case "id":
      return typeof value === "string" || Number.isSafeInteger(value);
    default:
      return typeof value === type;
  }
}

/** Anything small that is of another type. */
export const notOf = (type: JsonType): fc.Arbitrary<Json> => someJson().filter((value) => !isOf(type, value));
