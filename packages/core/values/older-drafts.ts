/**
 * JSON Schemas of older drafts in the words of 2020-12, which the validators know.
 *
 *   items: [a, b], additionalItems: c      (to 2019-09)   →  prefixItems: [a, b], items: c
 *   minimum: 5, exclusiveMinimum: true     (draft-04)     →  exclusiveMinimum: 5
 *   id                                     (draft-04)     →  left out: references are within the schema
 *   $schema                                               →  left out
 *
 * None of these spellings means anything in 2020-12, so they are read in every schema, whichever draft it names.
 */
import type { Json, JsonObject } from "./json.ts";

/** What these keywords hold is data, whatever its members are called. */
export const HOLDS_DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);
/** The members of these keywords are named by the author of the schema; they are not keywords. */
export const NAMES_SCHEMAS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependencies",
  "dependentSchemas",
  "definitions",
  "$defs",
]);

export function inCurrentDraft(schema: JsonObject): JsonObject {
  const { $schema: _draft, id, ...kept } = schema;
  const { items, additionalItems, ...rest } = { ...kept, ...(id !== undefined && typeof id !== "string" && { id }) } as JsonObject;
  const read: [string, Json][] = Object.entries(rest).map(([keyword, value]) => [keyword, member(keyword, value)]);
  if (Array.isArray(items)) {
    read.push(["prefixItems", nested(items)]);
    if (additionalItems !== undefined) read.push(["items", nested(additionalItems)]);
  } else if (items !== undefined) read.push(["items", nested(items)]);
  return withExclusiveBounds(Object.fromEntries(read));
}

function member(keyword: string, value: Json): Json {
  if (HOLDS_DATA.has(keyword)) return value;
  if (keyword === "$ref" && typeof value === "string") return intoTuples(value);
  if (NAMES_SCHEMAS.has(keyword) && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, nested(each)]));
  return nested(value);
}

function intoTuples(reference: string): string {
  const segments = reference.split("/");
  return segments.map((segment, at) => (segment === "items" && /^\d+$/.test(segments[at + 1] ?? "") ? "prefixItems" : segment)).join("/");
}

function nested(value: Json): Json {
  if (Array.isArray(value)) return value.map(nested);
  return isJsonObject(value) ? inCurrentDraft(value) : value;
}

function withExclusiveBounds(schema: JsonObject): JsonObject {
  let read = schema;
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const { [bound]: value, [exclusive]: isExclusive, ...others } = read;
    if (typeof isExclusive !== "boolean") continue;
    read = { ...others, ...(value !== undefined && { [isExclusive ? exclusive : bound]: value }) };
  }
  return read;
}

/** Whether the draft that the schema names is one of those that are read. A schema that names none is of 2020-12. */
export function isKnownDraft({ $schema = "https://json-schema.org/draft/2020-12/schema" }: JsonObject): boolean {
  return (
    typeof $schema === "string" &&
    /^https?:\/\/(json-schema\.org\/(draft-0[467]|draft\/(2019-09|2020-12))\/schema#?|json-schema\.org\/schema#?|spec\.openapis\.org\/oas\/3\.1\/.*)$/.test(
      $schema,
    )
  );
}

function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
