/**
 * A form as data: the fields of a question's schema, for all code that shows, fills in, describes or checks a form.
 *
 *   { type: "object", properties: { size: { type: "integer", title: "Party size" } }, required: ["size"] }
 *     → [{ name: "size", label: "Party size", kind: "integer", isRequired: true, choices: [], … }]
 *
 * It reads every spelling of choices that MCP has had (`enum`, `enumNames`, `oneOf` and `anyOf` of `const` and
 * `title`). Any client or upstream may have written the schema, so nothing about it is assumed. Fields are in the
 * order of the schema's properties.
 */
import type { Json, JsonObject } from "../task.ts";

/** So that a page needs no other module of core. */
export type { Json, JsonObject };

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "choices";

export interface Choice {
  readonly value: string;
  /** Shown to people in place of the value. */
  readonly title?: string;
}

export interface Field {
  readonly name: string;
  /** The title, or the name if there is none. */
  readonly label: string;
  readonly kind: FieldKind;
  readonly description?: string;
  readonly isRequired: boolean;
  /** Present if the value may also be null, as for an optional argument of many servers. The rest of the field is without that. */
  readonly isNullable?: true;
  readonly default?: Json;
  /** Empty unless the kind is `choice` or `choices`. */
  readonly choices: readonly Choice[];
  /** The field's own schema, with limits and formats, and without null. */
  readonly schema: JsonObject;
}

/** The fields of a form's schema. Properties that are not schemas are skipped. */
export function fieldsOf(schema: JsonObject): readonly Field[] {
  const { properties } = schema;
  if (!isJsonObject(properties)) return [];
  const required = textsIn(schema["required"]);
  return Object.entries(properties).flatMap(([name, property]) =>
    isJsonObject(property)
      ? [field(name, withoutNull(resolved(property, schema)), { form: schema, isRequired: required.includes(name) })]
      : [],
  );
}

function field(name: string, given: Nullable, { form, isRequired }: { readonly form: JsonObject; readonly isRequired: boolean }): Field {
  const schema = resolved(given.schema, form);
  const { title, description, default: preset, type } = schema;
  const items = isJsonObject(schema["items"]) ? resolved(schema["items"], form) : undefined;
  const choices = (type === "array" ? items && choicesOf(items) : choicesOf(schema)) || [];
  return {
    name,
    label: typeof title === "string" ? title : name,
    kind: kindOf(type, choices),
    ...(typeof description === "string" && { description }),
    isRequired,
    ...(given.isNullable && { isNullable: true }),
    ...(preset !== undefined && { default: preset }),
    choices,
    schema: items === undefined ? schema : { ...schema, items },
  };
}

/** With the definition that the schema refers to, as Python's models and enumerations are written. A definition that refers to another one is left as it is. */
function resolved(schema: JsonObject, form: JsonObject): JsonObject {
  const { $ref, ...rest } = schema;
  const [, where = "", name = ""] = (typeof $ref === "string" && /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref)) || [];
  const definitions = Object.hasOwn(form, where) ? form[where] : undefined;
  const definition = isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  return isJsonObject(definition) && definition["$ref"] === undefined ? { ...definition, ...rest } : schema;
}

interface Nullable {
  /** The schema without null. */
  readonly schema: JsonObject;
  readonly isNullable: boolean;
}

/** Reads both spellings of a value that may be null: `type: ["integer", "null"]`, and `anyOf` with `{ type: "null" }`. */
function withoutNull(schema: JsonObject): Nullable {
  const { type, enum: values, anyOf, oneOf, default: preset, ...rest } = schema;
  const given = { ...rest, ...(preset !== undefined && preset !== null && { default: preset }) };
  if (Array.isArray(type) && type.includes("null")) {
    const types = type.filter((each) => each !== "null");
    const choices = Array.isArray(values) ? values.filter((value) => value !== null) : values;
    const others = {
      ...given,
      type: types.length === 1 ? (types[0] ?? null) : types,
      ...(choices !== undefined && { enum: choices }),
      ...(anyOf !== undefined && { anyOf }),
      ...(oneOf !== undefined && { oneOf }),
    };
    return { schema: others, isNullable: true };
  }
  const alternatives = anyOf ?? oneOf;
  const other = Array.isArray(alternatives) ? alternatives.filter((each) => !isJsonObject(each) || each["type"] !== "null") : [];
  const [only] = other;
  const isNullable = Array.isArray(alternatives) && alternatives.length === 2 && other.length === 1 && isJsonObject(only);
  return isNullable ? { schema: { ...only, ...given }, isNullable } : { schema, isNullable };
}

function kindOf(type: Json | undefined, choices: readonly Choice[]): FieldKind {
  if (type === "array") return "choices";
  if (type === "boolean" || type === "number" || type === "integer") return type;
  return choices.length > 0 ? "choice" : "text";
}

/** The string choices that a schema offers, in any spelling; undefined if it offers none, or not only strings. */
export function choicesOf(schema: JsonObject): readonly Choice[] | undefined {
  const { const: only, title, enum: values, enumNames, oneOf, anyOf } = schema;
  if (typeof only === "string") return [{ value: only, ...(typeof title === "string" && { title }) }];
  if (isTexts(values)) {
    const titles = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => {
      const name = titles[index];
      return { value, ...(typeof name === "string" && { title: name }) };
    });
  }
  const alternatives = oneOf ?? anyOf;
  if (!Array.isArray(alternatives) || alternatives.length === 0) return undefined;
  const choices = alternatives.map((alternative) => (isJsonObject(alternative) ? choicesOf(alternative) : undefined));
  return choices.every((choice) => choice !== undefined) ? choices.flat() : undefined;
}

/**
 * Converts what a person typed to the field's type: "4" becomes 4 for a number, "soup,fish" a list for a choice of
 * several, unless it is itself a choice ("Rome, Italy"), and "1,2" a list of numbers if the schema has numbers in it. Input that cannot be converted is returned unchanged, so that the schema can report what is wrong with it.
 * That includes integers that are not plain digits ("1.000" is a thousand to some), and digits that a number would round.
 */
export function readTyped(
  text: string,
  { kind, choices = [], schema = {} }: Pick<Field, "kind"> & Partial<Pick<Field, "choices" | "schema">>,
): Json {
  switch (kind) {
    case "number":
    case "integer": {
      const value = Number(text);
      const isPlain = /^\s*[+-]?\d+\s*$/.test(text);
      if (text.trim() === "" || !Number.isFinite(value) || (kind === "integer" && !isPlain)) return text;
      return isPlain && BigInt(text.replace("+", "")) !== BigInt(value) ? text : value;
    }
    case "boolean":
      return /^(true|yes|y|1|on)$/i.test(text) ? true : /^(false|no|n|0|off)$/i.test(text) ? false : text;
    case "choices":
      if (choices.some(({ value }) => value === text)) return [text];
      return text === "" ? [] : text.split(",").map((item) => readTyped(item, { kind: kindOfItems(schema) ?? "text" }));
    case "text":
    case "choice":
      return text;
  }
}

/** The kind of a list's entries, if each of them can be typed as a word. */
export function kindOfItems({ items }: JsonObject): "text" | "number" | "integer" | "boolean" | undefined {
  const type = isJsonObject(items) ? items["type"] : undefined;
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : undefined;
}

/** The field that a violation is about, by its JSON pointer: `/content/partySize`. */
export function fieldAt(schema: JsonObject, pointer: string): Field | undefined {
  const [, , segment] = pointer.split("/");
  if (segment === undefined) return undefined;
  const name = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  return fieldsOf(schema).find((each) => each.name === name);
}

function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}

function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
