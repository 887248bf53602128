/**
 * Converts an author's schema to the form that a person sees: MCP's elicitation subset.
 *
 *   flat object ─┬─ string   minLength maxLength pattern format(email uri date date-time) default
 *                ├─ string   enum (enumNames) · oneOf of const + title
 *                ├─ number · integer   minimum maximum default, or choices, which are also named in the description
 *                ├─ boolean  default
 *                └─ array    minItems maxItems default, items: enum · anyOf of const + title
 *
 * Constraints that the subset cannot express (multipleOf, refinements) are left out of the form; the author's own
 * schema also validates the answer. A field that may be null may be left out of the form, and is null for the author.
 * Shapes that the subset cannot express (nesting, free lists) and the format of a password are the author's mistake,
 * and are refused before anything is asked.
 *
 * The form depends on the schema's meaning and not on a generator's spelling, because the ask's digest is taken from
 * it (I4).
 */
import {
  type Choice,
  choicesOf,
  type Field,
  fieldsOf,
  type Json,
  type JsonObject,
  ParleyError,
  rootOf,
  simpleTypes,
  valueOf,
  type Violation,
} from "@parley/core";
import { isValid } from "./patterns.ts";
import { isObject } from "../values/is-object.ts";

const FORMATS = new Set(["email", "uri", "date", "date-time"]);

export interface AskForm {
  readonly form: JsonObject;
  /** What the ask's digest is taken from: the form as versions asked it that left out choices that are numbers. Absent if it is the same. */
  readonly identity?: JsonObject;
  /** Fields that are null if they are left out. */
  readonly nulls: readonly string[];
}

/** The form for `schema`. Throws INVALID_ASK with a violation for each field that cannot be asked. */
export function formSchema(ask: string, schema: JsonObject): AskForm {
  const root = rootOf(schema);
  const properties = root["properties"] ?? {};
  if (root["type"] !== "object" || !isObject(properties)) {
    throw invalidAsk(ask, [{ path: "", message: "must be one flat object, such as z.object({ … }): MCP forms have no other shape" }]);
  }
  const violations: Violation[] = [];
  const made: (readonly [name: string, field: FormField])[] = [];
  const fields = new Map(fieldsOf(schema).map((field) => [field.name, field]));
  for (const name of Object.keys(properties)) {
    const field = fields.get(name);
    const found = field ? formField(field) : "must be a schema";
    if (typeof found === "string") violations.push({ path: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, message: found });
    else made.push([name, found]);
  }
  const wanted = Array.isArray(root["required"]) ? root["required"] : [];
  // No one could fill in such a field, so the question would have no answer.
  for (const name of wanted) {
    if (typeof name !== "string" || !Object.hasOwn(properties, name))
      violations.push({ path: "/required", message: `names ${JSON.stringify(name)}, which is no field of the form` });
  }
  if (violations.length > 0) throw invalidAsk(ask, violations);
  const nulls = [...fields.values()].filter(({ isRequired, isNullable }) => isRequired && isNullable).map(({ name }) => name);
  const required = wanted.filter((name) => !nulls.includes(name as string));
  // A field may have the name `__proto__`.
  const withFields = (fieldOf: (field: FormField) => JsonObject): JsonObject => ({
    type: "object",
    properties: Object.fromEntries(made.map(([name, field]) => [name, fieldOf(field)])),
    ...(required.length > 0 ? { required } : {}),
  });
  const form = withFields(({ field }) => field);
  const isAsBefore = made.every(([, { former }]) => former === undefined);
  return { form, nulls, ...(!isAsBefore && { identity: withFields(({ field, former = field }) => former) }) };
}

function invalidAsk(ask: string, violations: readonly Violation[]): ParleyError {
  const named = violations.map(({ path, message }) => `${path === "" ? "its schema" : path} ${message}`).join("; ");
  return new ParleyError("INVALID_ASK", `the ask "${ask}" is invalid: ${named}`, { violations });
}

interface FormField {
  readonly field: JsonObject;
  readonly former?: JsonObject;
}

/** The field of the form, or the problem with it. */
function formField({ schema: property, choices }: Field): FormField | string {
  const options = singleChoice(property);
  if (options) return { field: withDefault(property, { type: "string", ...texts(property), ...options }, "string") };
  if (choices.length > 0 && property["type"] !== "array" && !isYesOrNoOrText(property)) return numberChoice(property, choices);
  switch (property["type"]) {
    case "string":
      if (property["format"] === "password") return SECRET;
      if (typeof property["pattern"] === "string" && !isValid(property["pattern"], "u")) return NO_PATTERN;
      return { field: withDefault(property, { type: "string", ...texts(property), ...stringLimits(property) }, "string") };
    case "number":
    case "integer":
      return { field: number(property, property["type"]) };
    case "boolean":
      return { field: withDefault(property, { type: "boolean", ...texts(property) }, "boolean") };
    case "array": {
      const field = multipleChoice(property);
      return typeof field === "string" ? field : { field };
    }
    case "object":
      return "is a nested object: forms are flat, so give its fields names of their own (addressStreet, addressCity) or ask again";
    default:
      // MCP knows no field that is a number or a text.
      if (simpleTypes(property)?.includes("string") === true)
        return { field: withDefault(property, { type: "string", ...texts(property) }, "string") };
      return describeUnknown(property);
  }
}

function isYesOrNoOrText(property: JsonObject): boolean {
  const alternatives = property["anyOf"] ?? property["oneOf"];
  const isYesOrNo = (each: Json) =>
    isObject(each) && each["type"] === "boolean" && each["const"] === undefined && each["enum"] === undefined;
  return Array.isArray(alternatives) && alternatives.some(isYesOrNo) && simpleTypes(property)?.includes("string") === true;
}

function number(property: JsonObject, type: "number" | "integer"): JsonObject {
  return withDefault(property, { type, ...texts(property), ...numberLimits(property) }, "number");
}

const NO_PATTERN =
  "has a pattern that is not valid with the flag u, by which forms are judged: escape a hyphen next to a class, as in [\\w\\-.]";

/** Core detects fields whose texts suggest a secret (ask-policy.ts). */
const SECRET = "has the format password: a secret must not pass through the client, so use ctx.secret";

function describeUnknown(property: JsonObject): string {
  const alternatives = property["anyOf"] ?? property["oneOf"] ?? property["type"];
  if (Array.isArray(alternatives)) return "has alternatives of several types: give each its own optional field, or use an enum of strings";
  return "has no type that forms know: use string, number, integer, boolean, an enum of strings or a list of those";
}

// ── choices ────────────────────────────────────────────────────────────────────────────────────────────────────

function singleChoice(property: JsonObject): JsonObject | undefined {
  const { enum: values, enumNames } = property as { enum?: Json; enumNames?: Json };
  // The older spelling of titles is kept, because some clients know no other.
  if (Array.isArray(enumNames) && isTexts(values)) return { enum: values, enumNames };
  // Here the title belongs to the field, not to the choice.
  if (typeof property["const"] === "string") return { enum: [property["const"]] };
  const choices = choicesOf(property);
  if (!choices) return undefined;
  return choices.some(({ title }) => title !== undefined) ? { oneOf: titled(choices) } : { enum: choices.map(({ value }) => value) };
}

/** MCP's choices are strings. Clients that know no others for a number drop them, so the description names them too. */
function numberChoice(property: JsonObject, choices: readonly Choice[]): FormField | string {
  const values = choices.map(valueOf);
  if (property["type"] === "boolean") return { field: withDefault(property, { type: "boolean", ...texts(property) }, "boolean") };
  if (!values.every((value) => typeof value === "number"))
    return "has choices of several types, or choices that are neither strings nor numbers";
  const type = property["type"] === "integer" || values.every(Number.isInteger) ? "integer" : "number";
  const isTitled = choices.some(({ title }) => title !== undefined);
  const named = choices.map(({ value, title }) => (title === undefined ? value : `${value} (${title})`));
  const { description } = property;
  const said = `${typeof description === "string" && description !== "" ? `${description} ` : ""}One of ${named.join(", ")}.`;
  const offered = isTitled
    ? { oneOf: choices.map(({ value, title }, index) => ({ const: values[index] ?? null, title: title ?? value })) }
    : { enum: values };
  const field = withDefault(property, { type, ...texts(property), description: said, ...offered }, "number");
  const { type: given } = property;
  return { field, ...((given === "number" || given === "integer") && { former: number(property, given) }) };
}

function multipleChoice(property: JsonObject): JsonObject | string {
  const items = property["items"];
  const choices = isObject(items) ? choicesOf(items) : undefined;
  if (!choices)
    return "is a list of something else than choices: forms know lists of an enum only, so take one text and split it, or ask again";
  const shown = choices.some(({ title }) => title !== undefined)
    ? { anyOf: titled(choices) }
    : { type: "string", enum: choices.map(({ value }) => value) };
  const limits = picked(property, ["minItems", "maxItems"], "number");
  return withDefault(property, { type: "array", ...texts(property), ...limits, items: shown }, "array");
}

function titled(choices: readonly Choice[]): JsonObject[] {
  return choices.map(({ value, title }) => ({ const: value, title: title ?? value }));
}

// ── keywords ───────────────────────────────────────────────────────────────────────────────────────────────────

function texts(schema: JsonObject): JsonObject {
  return picked(schema, ["title", "description"], "string");
}

function stringLimits(property: JsonObject): JsonObject {
  const format = property["format"];
  if (typeof format === "string" && FORMATS.has(format)) return { ...picked(property, ["minLength", "maxLength"], "number"), format };
  return { ...picked(property, ["minLength", "maxLength"], "number"), ...picked(property, ["pattern"], "string") };
}

function numberLimits(property: JsonObject): JsonObject {
  const integer = property["type"] === "integer";
  const { exclusiveMinimum, exclusiveMaximum } = property as { exclusiveMinimum?: Json; exclusiveMaximum?: Json };
  // Forms have only inclusive bounds. For numbers the form accepts the bound itself, and the author's schema refuses
  // it.
  return {
    ...(typeof exclusiveMinimum === "number" ? { minimum: integer ? Math.floor(exclusiveMinimum) + 1 : exclusiveMinimum } : {}),
    ...(typeof exclusiveMaximum === "number" ? { maximum: integer ? Math.ceil(exclusiveMaximum) - 1 : exclusiveMaximum } : {}),
    ...picked(property, ["minimum", "maximum"], "number"),
  };
}

function withDefault(property: JsonObject, shown: JsonObject, type: "string" | "number" | "boolean" | "array"): JsonObject {
  const value = property["default"];
  if (value === undefined) return shown;
  const fits = type === "array" ? isTexts(value) : typeof value === type;
  return fits ? { ...shown, default: value } : shown;
}

function picked(schema: JsonObject, keywords: readonly string[], type: "string" | "number"): JsonObject {
  return Object.fromEntries(
    keywords.flatMap((keyword) => {
      const value = schema[keyword];
      return value !== undefined && typeof value === type ? [[keyword, value]] : [];
    }),
  );
}

function isTexts(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}
