/**
 * An upstream's form in the terms of MCP's forms, as libraries of schemas write it: pydantic, zod and others add keywords that MCP has not.
 *
 *   a reference, `allOf` with one part       the schema that it means
 *   `null` among types or choices, `const`   the type or choice itself
 *   bounds that exclude, choices of numbers  the bounds that include, and a description of the choices
 *   choices or constants without a type      texts
 *   everything else that MCP has not         left out: the upstream validates the answer
 *
 * A pattern is among what is left out, because front ends would compile it: a stranger's could block one of them for as long as its author likes. What is
 * no form even so, such as a nested object, stays as it is, and is refused (question.ts). A form of MCP stays as it is, so that its digest does too (I4).
 */
import type { Json, JsonObject } from "@parley/core";

const FORM_KEYS = ["type", "properties", "required", "title", "description", "$schema", "additionalProperties"];
const COMMON = ["type", "title", "description", "default"];
/** What may stand in a field, by its type. */
export const FIELD_KEYS: Readonly<Record<string, readonly string[]>> = {
  string: [...COMMON, "minLength", "maxLength", "format", "enum", "enumNames", "oneOf"],
  number: [...COMMON, "minimum", "maximum"],
  integer: [...COMMON, "minimum", "maximum"],
  boolean: COMMON,
  array: [...COMMON, "items", "minItems", "maxItems"],
};
const ITEM_KEYS = ["type", "enum", "anyOf", "oneOf"];
const CHOICE_KEYS = ["const", "title"];
const FORMATS: readonly unknown[] = ["email", "uri", "date", "date-time"];

/** Maximum number of references and compositions in one field, which may go in a circle. */
const STEPS_MAX = 10;

export function simpleForm(schema: unknown): unknown {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return schema;
  const properties = Object.fromEntries(Object.entries(schema["properties"]).map(([name, field]) => [name, simpleField(field, schema)]));
  return { ...only(schema, FORM_KEYS), properties };
}

function simpleField(given: Json | undefined, root: JsonObject): Json {
  const meant = meaningOf(given, root);
  if (!isJsonObject(meant)) return meant ?? null;
  const field = withoutNull(withType(meant));
  const { type } = field;
  const known = typeof type === "string" ? FIELD_KEYS[type] : undefined;
  if (!known) return field;
  if (type === "number" || type === "integer") return only(numeric(field), known);
  if (type === "array" && isJsonObject(field["items"])) return only({ ...field, items: simpleItems(field["items"], root) }, known);
  return only(type === "string" ? text(field) : field, known);
}

function simpleItems(given: JsonObject, root: JsonObject): Json {
  const meant = meaningOf(given, root);
  if (!isJsonObject(meant)) return meant ?? null;
  return only({ ...meant, ...choices(meant, "anyOf"), ...choices(meant, "oneOf") }, ITEM_KEYS);
}

/** Follows references, compositions of one part, and alternatives to null. What stands beside them is kept. */
function meaningOf(given: Json | undefined, root: JsonObject): Json | undefined {
  let schema = given;
  for (let step = 0; step < STEPS_MAX && isJsonObject(schema); step += 1) {
    const { $ref, allOf, anyOf, oneOf, ...beside }: JsonObject = schema;
    const alternatives: Json | undefined = anyOf ?? oneOf;
    const others = Array.isArray(alternatives) ? alternatives.filter((each) => !isNull(each)) : [];
    let part: Json | undefined;
    if (typeof $ref === "string") part = referred($ref, root);
    else if (Array.isArray(allOf) && allOf.length === 1) [part] = allOf;
    else if (Array.isArray(alternatives) && others.length === 1 && others.length < alternatives.length) [part] = others;
    if (!isJsonObject(part)) return schema;
    schema = { ...part, ...beside };
  }
  return schema;
}

function referred(ref: string, root: JsonObject): Json | undefined {
  const [start, ...names] = ref.split("/");
  if (start !== "#" || names.length === 0) return undefined;
  return names.reduce<Json | undefined>((at, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, root);
}

const isNull = (schema: Json) => isJsonObject(schema) && schema["type"] === "null";

function withoutNull(field: JsonObject): JsonObject {
  const { type, default: preset, ...rest } = field;
  const types = Array.isArray(type) ? type.filter((each) => each !== "null") : [];
  return {
    ...(type !== undefined && { type: types.length === 1 ? (types[0] ?? null) : type }),
    ...rest,
    ...(preset !== undefined && preset !== null && { default: preset }),
    ...(Array.isArray(rest["enum"]) && rest["enum"].includes(null) && { enum: rest["enum"].filter((each) => each !== null) }),
  };
}

/** Constants and choices say of which type they are. */
function withType(field: JsonObject): JsonObject {
  const { const: constant, anyOf, ...rest } = field;
  const listed = constant !== undefined ? { enum: [constant] } : hasValues(anyOf) && !("oneOf" in rest) ? { oneOf: anyOf } : {};
  const all: JsonObject = { ...rest, ...listed };
  if ("type" in all) return all;
  const given = valuesOf(all);
  if (given.length === 0) return field;
  const types = new Set(given.filter((each) => each !== null).map((each) => typeof each));
  const [type] = types;
  return types.size === 1 && (type === "string" || type === "number" || type === "boolean") ? { type, ...all } : field;
}

/** Alternatives that are schemas are left to the upstream. */
function hasValues(alternatives: Json | undefined): alternatives is Json[] {
  return Array.isArray(alternatives) && alternatives.every((each) => isJsonObject(each) && "const" in each);
}

function valuesOf({ enum: listed, oneOf }: JsonObject): readonly Json[] {
  if (Array.isArray(listed)) return listed;
  return Array.isArray(oneOf) ? oneOf.map((each) => (isJsonObject(each) ? (each["const"] ?? null) : null)) : [];
}

function text(field: JsonObject): JsonObject {
  const { format, ...rest } = { ...field, ...choices(field, "oneOf") } as JsonObject;
  if (format === undefined) return rest;
  return FORMATS.includes(format) ? { ...rest, format } : described(rest, typeof format === "string" ? `Format: ${format}` : "");
}

/** Of titled choices, what MCP has: values and titles. */
function choices(field: JsonObject, keyword: "anyOf" | "oneOf"): JsonObject {
  const listed = field[keyword];
  return Array.isArray(listed) ? { [keyword]: listed.map((each) => (isJsonObject(each) ? only(each, CHOICE_KEYS) : each)) } : {};
}

/** MCP has no choices that are numbers. People see which ones there are, and the upstream validates. */
function numeric(field: JsonObject): JsonObject {
  const { exclusiveMinimum, exclusiveMaximum, ...rest } = field;
  const isWhole = field["type"] === "integer";
  const bound = (name: "minimum" | "maximum", excluded: Json | undefined, next: (value: number) => number): JsonObject => {
    if (typeof excluded !== "number") return {};
    const value = isWhole ? next(excluded) : excluded;
    const own = rest[name];
    return { [name]: typeof own === "number" ? (name === "minimum" ? Math.max(own, value) : Math.min(own, value)) : value };
  };
  const bounded = {
    ...rest,
    ...bound("minimum", exclusiveMinimum, (value) => Math.floor(value) + 1),
    ...bound("maximum", exclusiveMaximum, (value) => Math.ceil(value) - 1),
  };
  const listed = valuesOf(field).filter((each) => typeof each === "number");
  if (listed.length === 0) return bounded;
  const within = { ...bounded, minimum: Math.min(...listed), maximum: Math.max(...listed) };
  return described(within, `One of ${listed.join(", ")}`);
}

function described(field: JsonObject, what: string): JsonObject {
  if (what === "") return field;
  const { description } = field;
  return { ...field, description: typeof description === "string" && description !== "" ? `${description} (${what})` : what };
}

function only(schema: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => keys.includes(key)));
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
