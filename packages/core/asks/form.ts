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
import { inexactNumber } from "../values/json-text.ts";
import { plainName } from "../values/plain-name.ts";

/** So that a page needs no other module of core. */
export type { Json, JsonObject };

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "choices";

export interface Choice {
  /** As it is typed: a text as it is, any other value as JSON. */
  readonly value: string;
  /** The value, if it is not a text. */
  readonly json?: Json;
  /** Shown to people in place of the value. */
  readonly title?: string;
}

export interface Field {
  readonly name: string;
  /** The title, or the name in words if there is none. */
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

/** The fields of a schema. Properties that are not schemas are skipped. */
export function fieldsOf(schema: JsonObject): readonly Field[] {
  const whole = { schema, left: READ_MAX };
  const given = read(schema, whole).schema;
  const root = withAlternatives(given, whole) ?? given;
  const { properties } = root;
  if (!isJsonObject(properties)) return [];
  const required = textsIn(root["required"]);
  return Object.entries(properties).flatMap(([name, property]) =>
    isJsonObject(property) ? [field(name, read(property, whole), { root: whole, isRequired: required.includes(name) })] : [],
  );
}

/** The object that a schema describes, with what its root says by reference or composition. */
export function rootOf(schema: JsonObject): JsonObject {
  return read(schema, { schema, left: READ_MAX }).schema;
}

/**
 * The object with the fields of all its alternatives, such as those of a discriminated union: a person leaves the ones of
 * the others empty. The schema itself still judges which go together. Undefined if an alternative is more than an object
 * with named fields.
 */
function withAlternatives(root: JsonObject, whole: Whole): JsonObject | undefined {
  const { anyOf, oneOf, ...rest } = root;
  const given = oneOf ?? anyOf;
  if (!Array.isArray(given) || given.length === 0 || (anyOf !== undefined && oneOf !== undefined)) return undefined;
  const parts = given.map((each) => (isJsonObject(each) ? read(each, whole).schema : {}));
  if (!parts.every(isPlainObject)) return undefined;
  const own = isJsonObject(rest["properties"]) ? rest["properties"] : {};
  const spelt = new Map<string, Json[]>();
  for (const [name, each] of parts.flatMap(({ properties: named = {} }) => Object.entries(named))) {
    const before = spelt.get(name);
    if (before) before.push(each);
    else spelt.set(name, [each]);
  }
  const properties = [...spelt].map(([name, schemas]): [string, Json] => {
    const [first = null, ...others] = new Map(schemas.map((each) => [JSON.stringify(each), each])).values();
    const schema = others.length === 0 ? first : { anyOf: [first, ...others] };
    if (schemas.length === parts.length || !isJsonObject(schema)) return [name, schema];
    // A default would be sent with the fields of another alternative.
    const { default: _, ...without } = read(schema, whole).schema;
    return [name, without];
  });
  const wanted = parts.map(({ required }) => new Set(textsIn(required)));
  // Nobody could enter it as a field.
  if (wanted.some((names) => [...names].some((name) => !spelt.has(name) && !Object.hasOwn(own, name)))) return undefined;
  const [one, ...more] = wanted;
  const always = [...(one ?? [])].filter((name) => more.every((each) => each.has(name)));
  return {
    ...rest,
    type: "object",
    // What the root says of a field is about each alternative.
    properties: { ...Object.fromEntries(properties), ...own },
    required: [...textsIn(rest["required"]), ...always],
  };
}

type PlainObject = JsonObject & { readonly properties?: JsonObject };

function isPlainObject(schema: JsonObject): schema is PlainObject {
  const { properties = {}, required = [], type = "object", ...others } = schema;
  if (!isJsonObject(properties)) return false;
  const isNamed = Object.keys(properties).length > 0 || textsIn(required).length > 0;
  return type === "object" && isNamed && Object.keys(others).every((keyword) => BESIDE_FIELDS.has(keyword));
}

const BESIDE_FIELDS: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "examples",
  "additionalProperties",
  "unevaluatedProperties",
]);

/**
 * Whether members beyond `fieldsOf` may be required or allowed: by alternatives at the root, or by names that the
 * author does not know. They are entered as one JSON object.
 */
export function hasMore(schema: JsonObject): boolean {
  const whole = { schema, left: READ_MAX };
  const given = read(schema, whole).schema;
  const { properties, additionalProperties, patternProperties, ...root } = withAlternatives(given, whole) ?? given;
  const isOpen = additionalProperties === true || isJsonObject(additionalProperties) || isJsonObject(patternProperties);
  const hasFields = isJsonObject(properties) && Object.keys(properties).length > 0;
  return ["oneOf", "anyOf", "allOf", "$ref", "if"].some((keyword) => root[keyword] !== undefined) || (isOpen && !hasFields);
}

function field(
  name: string,
  { schema, isNullable }: Nullable,
  { root, isRequired }: { readonly root: Whole; readonly isRequired: boolean },
): Field {
  const { title, description, default: preset, type } = schema;
  const items = isJsonObject(schema["items"]) ? read(schema["items"], root).schema : undefined;
  const choices = (type === "array" ? items && anyChoicesOf(items) : anyChoicesOf(schema)) || [];
  return {
    name,
    label: typeof title === "string" ? title : plainName(name),
    kind: kindOf(type, choices),
    ...(typeof description === "string" && { description }),
    isRequired,
    ...(isNullable && { isNullable: true }),
    ...(preset !== undefined && { default: preset }),
    choices,
    schema: items === undefined ? schema : { ...schema, items },
  };
}

interface Nullable {
  /** The schema without null, references and compositions, as far as they say one thing. */
  readonly schema: JsonObject;
  readonly isNullable: boolean;
}

/** References to references could be read without end: a schema of a stranger is read up to so many parts, and the rest is left as it is. */
const READ_MAX = 5_000;

interface Whole {
  readonly schema: JsonObject;
  /** Parts that may still be read. */
  left: number;
}

/** What a schema says, however its generator spells it: by reference, by `allOf`, by alternatives of which one remains without null. */
function read(given: JsonObject, root: Whole, seen: readonly string[] = []): Nullable {
  if ((root.left -= 1) < 0) return { schema: given, isNullable: false };
  const { $ref, ...beside } = given;
  if (typeof $ref === "string") {
    const target = seen.includes($ref) ? undefined : at(root.schema, $ref);
    return target ? read({ ...target, ...beside }, root, [...seen, $ref]) : { schema: given, isNullable: false };
  }
  const { allOf, ...rest } = given;
  if (Array.isArray(allOf)) {
    const parts = allOf.map((part) => (isJsonObject(part) ? read(part, root, seen) : undefined));
    const merged = merge([...parts.map((part) => part?.schema), rest]);
    // Null is allowed where each part allows it.
    if (merged) return nullable(merged, { root, seen, isNullable: parts.every((part) => part?.isNullable) });
  }
  return nullable(given, { root, seen, isNullable: false });
}

interface Reading {
  readonly root: Whole;
  readonly seen: readonly string[];
  readonly isNullable: boolean;
}

/** Reads all spellings of a value that may be null: in `type`, in `enum`, and as one of the alternatives. */
function nullable(given: JsonObject, { root, seen, isNullable }: Reading): Nullable {
  const { type: types, enum: values, anyOf, oneOf, ...rest } = given;
  const hasNull =
    (Array.isArray(types) && types.includes("null")) || (types === undefined && Array.isArray(values) && values.includes(null));
  if (hasNull) {
    const others = Array.isArray(types) ? types.filter((each) => each !== "null") : undefined;
    const schema = {
      ...withoutNullDefault(rest),
      ...(others && { type: others.length === 1 ? (others[0] ?? null) : others }),
      ...(values !== undefined && { enum: Array.isArray(values) ? values.filter((value) => value !== null) : values }),
      ...(anyOf !== undefined && { anyOf }),
      ...(oneOf !== undefined && { oneOf }),
    };
    return { schema: simple(schema), isNullable: true };
  }
  const keyword = anyOf === undefined ? "oneOf" : "anyOf";
  const alternatives = anyOf ?? oneOf;
  if (!Array.isArray(alternatives) || (anyOf !== undefined && oneOf !== undefined)) return { schema: simple(given), isNullable };
  const parts = alternatives.map((each) => (isJsonObject(each) ? read(each, root, seen) : undefined));
  const left = parts.filter(
    (part) => part?.schema["type"] !== "null" && !(part && "const" in part.schema && part.schema["const"] === null),
  );
  const mayBeNull = isNullable || left.length < parts.length || parts.some((part) => part?.isNullable);
  const others = { ...given };
  delete others[keyword];
  const kept = mayBeNull ? withoutNullDefault(others) : others;
  const [only] = left;
  // A constant is a list of one choice: its title is the choice's, and not the field's.
  const merged = left.length === 1 && only && !("const" in only.schema) ? merge([only.schema, kept]) : undefined;
  if (merged) return { schema: simple(merged), isNullable: mayBeNull };
  if (left.includes(undefined)) return { schema: given, isNullable };
  return { schema: simple({ ...kept, [keyword]: left.map((part) => part?.schema ?? null) }), isNullable: mayBeNull };
}

function withoutNullDefault({ default: preset, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(preset !== undefined && preset !== null && { default: preset }) };
}

/**
 * A union of simple types is entered as its widest: a text, if it may be any text. A text with limits, beside a number or yes and no, stays as it is: what is
 * typed is what it looks like (`readAny`), because as a text it could never be the number.
 */
function simple(schema: JsonObject): JsonObject {
  const { type, anyOf, oneOf, ...rest } = schema;
  if (anyChoicesOf(schema)) return schema;
  if (Array.isArray(type) && type.length === 1) return { ...schema, type: type[0] ?? null };
  const alternatives = Array.isArray(type) ? type.map((each): Json => ({ ...rest, type: each })) : (anyOf ?? oneOf);
  if (!Array.isArray(alternatives)) return schema;
  const parts = alternatives.filter(isJsonObject);
  const types = parts.map(simpleTypes);
  if (parts.length < 2 || parts.length !== alternatives.length || types.includes(undefined)) return schema;
  const all = new Set(types.flatMap((each) => each ?? []));
  const texts = parts.filter((_, index) => types[index]?.includes("string"));
  if (texts.length > 0 && all.size > 1 && texts.every(isLimited)) return schema;
  const widest = texts.length > 0 ? "string" : all.has("boolean") ? undefined : "number";
  // Where other types are allowed, the limits of the text do not bind each value: the schema of the whole form judges it.
  return widest === undefined ? schema : { ...rest, type: widest };
}

const SIMPLE: ReadonlySet<Json> = new Set(["string", "number", "integer", "boolean"]);

/** The types that a value may have, if each is entered in one line: by the schema's type, or by its alternatives and choices. */
export function simpleTypes(schema: JsonObject): readonly string[] | undefined {
  const types = typesIn(schema);
  return types?.every((type): type is string => SIMPLE.has(type)) ? types : undefined;
}

function isLimited({ enum: values, const: only, pattern, format, minLength }: JsonObject): boolean {
  return [values, only, pattern, format].some((limit) => limit !== undefined) || (typeof minLength === "number" && minLength > 1);
}

/** The schemas as one; undefined if two of them say different things with one keyword, or one is no schema. Later texts and defaults win. */
function merge(schemas: readonly (JsonObject | undefined)[]): JsonObject | undefined {
  const merged: JsonObject = {};
  for (const schema of schemas) {
    if (!schema) return undefined;
    for (const [keyword, value] of Object.entries(schema)) {
      const before = Object.hasOwn(merged, keyword) ? merged[keyword] : undefined;
      if (keyword === "properties" && isJsonObject(before) && isJsonObject(value)) merged[keyword] = { ...before, ...value };
      else if (keyword === "required" && Array.isArray(before) && Array.isArray(value))
        merged[keyword] = [...new Set([...before, ...value])];
      else if (before === undefined || TEXTS.has(keyword) || JSON.stringify(before) === JSON.stringify(value)) merged[keyword] = value;
      else return undefined;
    }
  }
  return merged;
}

const TEXTS: ReadonlySet<string> = new Set(["title", "description", "default", "examples", "$comment", "additionalProperties"]);

/** The schema that a reference within the schema leads to. */
function at(root: JsonObject, reference: string): JsonObject | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let target: Json | undefined = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = unescaped(segment);
    if (Array.isArray(target)) target = target[Number(name)];
    else target = isJsonObject(target) && Object.hasOwn(target, name) ? target[name] : undefined;
  }
  return isJsonObject(target) ? target : undefined;
}

function unescaped(segment: string): string {
  const name = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function kindOf(type: Json | undefined, choices: readonly Choice[]): FieldKind {
  if (type === "array") return "choices";
  if (choices.length > 0) return "choice";
  if (type === "boolean" || type === "number" || type === "integer") return type;
  return "text";
}

/** What a choice stands for in an answer. */
export function valueOf({ value, json = value }: Choice): Json {
  return json;
}

/** The choices that a schema offers, of any type. A schema of a boolean offers its two values without being a choice. */
function anyChoicesOf(schema: JsonObject): readonly Choice[] | undefined {
  const choices = mixedChoicesOf(schema);
  const others = new Set(choices?.flatMap(({ value, json }) => (json === undefined ? [] : [value])));
  // The text "1" beside the number 1 is typed with its quotes.
  return choices?.map((each) =>
    each.json === undefined && others.has(each.value) ? { ...each, value: JSON.stringify(each.value), json: each.value } : each,
  );
}

function mixedChoicesOf(schema: JsonObject): readonly Choice[] | undefined {
  const { const: only, title, enum: values, oneOf, anyOf } = schema;
  const texts = choicesOf(schema);
  if (texts) return texts;
  if (only !== undefined) return [choice(only, title)];
  if (Array.isArray(values) && values.length > 0) return values.map((value) => choice(value));
  const alternatives = oneOf ?? anyOf;
  if (!Array.isArray(alternatives) || alternatives.length === 0) return undefined;
  const choices = alternatives.map((alternative) =>
    isJsonObject(alternative) ? (mixedChoicesOf(alternative) ?? yesAndNo(alternative)) : undefined,
  );
  if (!choices.every((each) => each !== undefined)) return undefined;
  return [...new Map(choices.flat().map((each) => [JSON.stringify(valueOf(each)), each])).values()];
}

/** Beside other choices, a boolean is two of them. */
function yesAndNo({ type }: JsonObject): readonly Choice[] | undefined {
  return type === "boolean" ? [choice(true), choice(false)] : undefined;
}

function choice(value: Json, title?: Json): Choice {
  const named = typeof title === "string" ? { title } : {};
  return typeof value === "string" ? { value, ...named } : { value: JSON.stringify(value), json: value, ...named };
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
 * several, unless it is itself a choice ("Rome, Italy"), and "1,2" a list of numbers if the schema has numbers in it. Input
 * that cannot be converted is returned unchanged, so that the schema can report what is wrong with it. That includes integers
 * that are not plain digits ("1.000" is a thousand to some), and digits that a number would round. A number may have a decimal comma, unless what is
 * behind it may be thousands.
 */
export function readTyped(
  text: string,
  { kind, choices = [], schema = {} }: Pick<Field, "kind"> & Partial<Pick<Field, "choices" | "schema">>,
): Json {
  switch (kind) {
    case "number":
    case "integer": {
      const digits = kind === "number" ? withPoint(withPlainDigits(text)) : withPlainDigits(text);
      const value = Number(digits);
      const isPlain = /^\s*[+-]?\d+\s*$/.test(digits);
      if (text.trim() === "" || !Number.isFinite(value) || (kind === "integer" && !isPlain)) return text;
      // The shortest digits of a number are taken as that number, as JSON does; digits that it would round are not.
      const isRounded = isPlain && BigInt(digits.replace("+", "")) !== BigInt(value) && digits.trim().replace(/^\+/, "") !== `${value}`;
      return isRounded ? text : value;
    }
    case "boolean":
      return /^(true|yes|y|1|on)$/i.test(text) ? true : /^(false|no|n|0|off)$/i.test(text) ? false : text;
    case "choices": {
      const exact = choices.find(({ value }) => value === text);
      if (exact) return [valueOf(exact)];
      if (text === "") return [];
      // People write a space after a comma.
      const items = text.split(",").map((item) => item.trim());
      if (choices.length > 0) return items.map((item) => chosen(item, choices));
      return items.map((item) => readTyped(item, { kind: kindOfItems(schema) ?? "text" }));
    }
    case "choice":
      return chosen(text, choices);
    case "text":
      return text;
  }
}

/**
 * Reads a value of a field that has no one type: JSON, or a text where the field may be one. What looks like a number is
 * that only if the field may be one. Undefined for broken JSON.
 */
export function readAny(typed: string, schema: JsonObject): { readonly value: Json } | undefined {
  const types = typesIn(schema);
  const mayBe = (value: Json) =>
    types?.includes(typeOf(value)) === true || (Number.isInteger(value) && types?.includes("integer") === true);
  const read = readJson(typed);
  if (!read) {
    // With a comma it is a text, where it may be one.
    const number = typed.includes(",") && mayBe(typed) ? typed : readTyped(typed, { kind: "number" });
    if (typeof number === "number" && mayBe(number)) return { value: number };
    const isText = !/^\s*[{["]/.test(typed) && (types?.includes("string") ?? true);
    return isText ? { value: typed } : undefined;
  }
  return types?.includes("string") && !mayBe(read.value) ? { value: typed } : read;
}

/** Undefined if the schema allows values of any type. */
function typesIn({ type, enum: values, const: only, anyOf, oneOf = anyOf }: JsonObject): readonly Json[] | undefined {
  if (type !== undefined) return Array.isArray(type) ? type : [type];
  const choices = only === undefined ? values : [only];
  if (Array.isArray(choices)) return choices.map(typeOf);
  if (!Array.isArray(oneOf)) return undefined;
  const types = oneOf.map((each) => (isJsonObject(each) ? typesIn(each) : undefined));
  return types.every((each) => each !== undefined) ? types.flat() : undefined;
}

function typeOf(value: Json): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** JSON that a person typed. Undefined if it is broken, or has digits that a number would round. */
export function readJson(typed: string): { readonly value: Json } | undefined {
  if (inexactNumber(typed) !== undefined) return undefined;
  try {
    return { value: JSON.parse(typed) as Json };
  } catch {
    return undefined;
  }
}

function chosen(text: string, choices: readonly Choice[]): Json {
  const found = choices.find(({ value }) => value === text);
  return found ? valueOf(found) : text;
}

function withPoint(digits: string): string {
  const [, behind] = /^\s*[+-]?\d+,(\d+)\s*$/.exec(digits) ?? [];
  return behind === undefined || behind.length === 3 ? digits : digits.replace(",", ".");
}

/** Digits of any script as 0 to 9. Each script has its ten in a row. */
function withPlainDigits(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, (digit) => {
    let start = digit.codePointAt(0) ?? 0;
    const point = start;
    while (/^\p{Nd}$/u.test(String.fromCodePoint(start - 1))) start -= 1;
    return `${(point - start) % 10}`;
  });
}

/** The kind of a list's entries, if each of them can be typed as a word. */
export function kindOfItems({ items }: JsonObject): "text" | "number" | "integer" | "boolean" | undefined {
  const type = isJsonObject(items) ? items["type"] : undefined;
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : undefined;
}

/** Whether the field has no one type, so that its values are read by `readAny`. */
export function isAny({ kind, schema }: Pick<Field, "kind" | "schema">): boolean {
  return kind === "text" && typeof schema["type"] !== "string";
}

/** Whether the tool says that what follows a yes cannot be undone. People are asked about it by itself, and nothing is chosen for them. */
export function isRisky({ hints }: { readonly hints?: Readonly<Record<string, unknown>> | undefined }): boolean {
  return hints?.["destructive"] === true || hints?.["dangerous"] === true;
}

/**
 * Whether the defaults of a risky question stay in its fields: they are what will be done anyway, as the arguments of a call that is to be approved, or
 * what the person has answered, and the tool has found a problem with.
 */
export function isFilledIn({ hints }: { readonly hints?: Readonly<Record<string, unknown>> | undefined }): boolean {
  return hints?.["filledIn"] === true || hints?.["problems"] !== undefined;
}

/**
 * The field of a question as a person is to see it: what cannot be undone has nothing chosen for them, unless the fields show what will be done. It is
 * required then, because a field that is left out gets its default.
 */
export function asShown<F extends Pick<Field, "default" | "isRequired">>(field: F, hints: Readonly<Record<string, unknown>>): F {
  if (field.default === undefined || !isRisky({ hints }) || isFilledIn({ hints })) return field;
  const { default: _, ...rest } = field;
  return { ...rest, isRequired: true } as F;
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
