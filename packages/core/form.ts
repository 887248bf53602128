/**
 * A form as data: the fields of a question's schema, for everybody who shows, fills in, words or checks one.
 *
 *   { type: "object", properties: { size: { type: "integer", title: "Party size" } }, required: ["size"] }
 *     → [{ name: "size", label: "Party size", kind: "integer", isRequired: true, choices: [], … }]
 *
 * It reads every spelling of choices that MCP has had (`enum`, `enumNames`, `oneOf` and `anyOf` of `const` and `title`), and takes nothing for
 * granted: a schema may come from any client or upstream. Fields are in the order of the schema's properties.
 */
import type { Json, JsonObject } from "./task.ts";

/** So that a page needs nothing else of core. */
export type { Json, JsonObject };

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "choices";

export interface Choice {
  readonly value: string;
  /** What a person reads instead of the value. */
  readonly title?: string;
}

export interface Field {
  readonly name: string;
  /** The title, or else the name. */
  readonly label: string;
  readonly kind: FieldKind;
  readonly description?: string;
  readonly isRequired: boolean;
  readonly default?: Json;
  /** Empty unless the kind is `choice` or `choices`. */
  readonly choices: readonly Choice[];
  /** Limits and formats, as the form says them. */
  readonly schema: JsonObject;
}

/** The fields of a form's schema. Properties that are no schemas are left out. */
export function fieldsOf(schema: JsonObject): readonly Field[] {
  const { properties } = schema;
  if (!isJsonObject(properties)) return [];
  const required = textsIn(schema["required"]);
  return Object.entries(properties).flatMap(([name, property]) =>
    isJsonObject(property) ? [field(name, property, required.includes(name))] : [],
  );
}

function field(name: string, schema: JsonObject, isRequired: boolean): Field {
  const { title, description, default: preset, type, items } = schema;
  const choices = (type === "array" ? isJsonObject(items) && choicesOf(items) : choicesOf(schema)) || [];
  return {
    name,
    label: typeof title === "string" ? title : name,
    kind: kindOf(type, choices),
    ...(typeof description === "string" && { description }),
    isRequired,
    ...(preset !== undefined && { default: preset }),
    choices,
    schema,
  };
}

function kindOf(type: Json | undefined, choices: readonly Choice[]): FieldKind {
  if (type === "array") return "choices";
  if (type === "boolean" || type === "number" || type === "integer") return type;
  return choices.length > 0 ? "choice" : "text";
}

/** The choices among strings that a schema offers, however it spells them; undefined when it offers none, or others as well. */
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
 * What a person typed for a field, as the field's type: "4" becomes 4 where a number is asked for, "soup,fish" a list where several may be
 * chosen. Text that does not read as the type is returned unchanged, so that the schema can say what is wrong with it.
 */
export function readTyped(text: string, { kind }: Pick<Field, "kind">): Json {
  switch (kind) {
    case "number":
    case "integer":
      return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
    case "boolean":
      return /^(true|yes|y|1|on)$/i.test(text) ? true : /^(false|no|n|0|off)$/i.test(text) ? false : text;
    case "choices":
      return text === "" ? [] : text.split(",");
    case "text":
    case "choice":
      return text;
  }
}

/** The field that a violation of an answer is about, by its JSON pointer: `/content/partySize`. */
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
