/**
 * Values that are valid for a JSON Schema, and values that violate it in one place, drawn from the schema itself: from the arguments that
 * tools/list publishes, or from the form of a question. The test beside it compares both with ajv.
 */
import fc from "fast-check";
import { CONTENT, type Drawn, isObject, type Json, type JsonObject, longText, manyTimes, MEMBERS_MAX, notOf } from "./json.ts";

/** Breaks the schema; `name` says how, without what was drawn. */
export interface BrokenValue {
  readonly name: string;
  readonly value: Drawn;
}

const ASCII = "abcdefghijklmnopqrstuvwxyz ABC012!%&/()=?\"'\\<>{}[]:;,.-_#*+~|";
const CHARS = [...ASCII.split(""), "é", "ß", "漢", "\u0000", "\n", "\u2028", "\ud800"];
/** Headers repeat some arguments, and cannot carry half a character. */
const HEADER_CHARS = CHARS.filter((char) => char !== "\ud800");
const TEXT_MAX = 60;
const LIST_MAX = 4;

export function fitting(schema: JsonObject): fc.Arbitrary<Json> {
  const choices = choicesOf(schema);
  if (choices.length > 0) return fc.constantFrom(...choices);
  switch (schema["type"]) {
    case "string":
      return fittingText(schema);
    case "integer":
      return fc.integer({ min: Math.max(lowest(schema), -(2 ** 31)), max: Math.min(highest(schema), 2 ** 31 - 1) });
    case "number":
      // Forms have no exclusive bounds, and the author's own schema may: the bounds themselves are left out.
      return fc
        .double({ min: lowest(schema), max: highest(schema), minExcluded: true, maxExcluded: true, noNaN: true })
        .map((value) => value + 0);
    case "boolean":
      return fc.boolean();
    case "array": {
      const items = fitting(isObject(schema["items"]) ? schema["items"] : {});
      const { minLength, maxLength } = lengths(schema, "minItems", "maxItems", LIST_MAX);
      // Authors refuse repeated items more often than they say so.
      return fc.uniqueArray(items, { minLength, maxLength, comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b) });
    }
    default:
      return fittingObject(schema);
  }
}

/** Undefined for a schema that everything fits. */
export function breaking(schema: JsonObject): fc.Arbitrary<BrokenValue> | undefined {
  const ways = [...waysToBreak(schema)];
  return ways.length === 0 ? undefined : fc.oneof(...ways);
}

/** Breaks it by something large: what is said about it must not be larger still. Undefined where nothing large is wrong. */
export function breakingAtLength(schema: JsonObject): fc.Arbitrary<BrokenValue> | undefined {
  const ways = [...waysAtLength(schema)];
  return ways.length === 0 ? undefined : fc.oneof(...ways);
}

type Way = fc.Arbitrary<BrokenValue>;

function way(name: string, value: fc.Arbitrary<Drawn>): Way {
  return value.map((each) => ({ name, value: each }));
}

function* waysToBreak(schema: JsonObject): Generator<Way> {
  const choices = choicesOf(schema);
  if (choices.length > 0) {
    yield way("wrong type", notOf("string"));
    const others = fc.string({ maxLength: 8 }).filter((text) => !choices.includes(text));
    yield way("no choice", others);
    return;
  }
  switch (schema["type"]) {
    case "string":
      yield way("wrong type", notOf("string"));
      return yield* textsThatBreak(schema);
    case "integer":
    case "number":
      yield way("wrong type", notOf("number"));
      return yield* numbersThatBreak(schema);
    case "boolean":
      return yield way("wrong type", notOf("boolean"));
    case "array":
      yield way("wrong type", notOf("array"));
      return yield* listsThatBreak(schema);
    default:
      yield way("wrong type", notOf("object"));
      return yield* objectsThatBreak(schema);
  }
}

function* textsThatBreak({ minLength: least, maxLength: most, pattern, format }: JsonObject): Generator<Way> {
  if (typeof least === "number" && least > 0) yield way("too short", fc.string({ maxLength: least - 1 }));
  if (typeof most === "number") {
    const longer = fc.constantFrom(1, 100).map((more) => "x".repeat(most + more));
    yield way("too long", longer);
  }
  if (typeof pattern === "string") {
    const others = fc.string({ maxLength: 30 }).filter((text) => !new RegExp(pattern, "u").test(text));
    yield way("no match", others);
  } else if (typeof format === "string") {
    yield way("no such format", fc.constantFrom("", CONTENT, "2026-13-45", "a@", "://", "@example.com"));
  }
}

function* numbersThatBreak(schema: JsonObject): Generator<Way> {
  if (schema["type"] === "integer") yield way("a fraction", fc.constantFrom(0.5, -1.25, 1e-7));
  const [least, most] = [lowest(schema), highest(schema)];
  if (Number.isFinite(least)) yield way("too small", fc.constantFrom(least - 1, -1e300));
  // Beyond the largest whole number that is safe there is no next one.
  if (most < 2 ** 53 - 1) yield way("too large", fc.constantFrom(most + 1, 1e300));
}

function* listsThatBreak(schema: JsonObject): Generator<Way> {
  const items = isObject(schema["items"]) ? schema["items"] : {};
  const { minItems: least, maxItems: most } = schema;
  if (typeof least === "number" && least > 0) yield way("too few items", fc.constant([]));
  if (typeof most === "number") {
    const longer = fitting(items).map((item) => Array.from({ length: most + 1 }, () => item));
    yield way("too many items", longer);
  }
  const item = breaking(items);
  if (item) yield item.map(({ name, value }) => ({ name: `item ${name}`, value: [value] }));
}

function* objectsThatBreak(schema: JsonObject): Generator<Way> {
  const whole = fittingObject(schema);
  for (const name of requiredOf(schema)) {
    const without = whole.map((value) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)));
    yield way(`${name} missing`, without);
  }
  yield* membersThatBreak(schema, breaking);
  if (schema["additionalProperties"] === false) {
    const more = whole.map((value) => ({ ...value, surplus: 1 }));
    yield way("unknown member", more);
  }
}

function* membersThatBreak(schema: JsonObject, breakMember: (schema: JsonObject) => Way | undefined): Generator<Way> {
  const whole = fittingObject(schema);
  for (const [name, property] of propertiesOf(schema)) {
    const member = breakMember(property);
    if (!member) continue;
    yield fc.tuple(whole, member).map(([value, wrong]) => ({ name: `${name} ${wrong.name}`, value: { ...value, [name]: wrong.value } }));
  }
}

function* waysAtLength(schema: JsonObject): Generator<Way> {
  const { type, items, maxLength } = schema;
  if (choicesOf(schema).length > 0) return yield way("too long", longText(1_000, 900_000));
  if (type === "string" && typeof maxLength === "number") return yield way("too long", longText(maxLength + 1, 900_000));
  if (type === "array" && isObject(items) && breaking(items)) {
    const wrong = manyTimes(2, 480_000).map((times) => ({ large: "list" as const, of: 0, times }));
    return yield way("many wrong items", wrong);
  }
  if (type !== "object") return;
  yield* membersThatBreak(schema, breakingAtLength);
  if (schema["additionalProperties"] === false) {
    const unknown = manyTimes(2, MEMBERS_MAX).map((times) => ({ large: "members" as const, of: 0, times }));
    yield way("many unknown members", unknown);
  }
}

function fittingObject(schema: JsonObject): fc.Arbitrary<JsonObject> {
  const required = requiredOf(schema);
  const fields = Object.fromEntries([...propertiesOf(schema)].map(([name, property]) => [name, fitting(property)]));
  return fc.record(fields, { requiredKeys: Object.keys(fields).filter((name) => required.includes(name)) }) as fc.Arbitrary<JsonObject>;
}

function fittingText(schema: JsonObject): fc.Arbitrary<string> {
  const { pattern, format } = schema;
  const day = fc.date({ min: new Date("2000-01-01"), max: new Date("2099-12-31"), noInvalidDate: true });
  if (format === "date") return day.map((date) => date.toISOString().slice(0, 10));
  if (format === "date-time") return day.map((date) => date.toISOString());
  const name = fc.stringMatching(/^[a-z0-9]{1,12}$/);
  if (format === "email") return name.map((each) => `${CONTENT}.${each}@example.com`);
  if (format === "uri") return name.map((each) => `https://example.com/${CONTENT}/${each}`);
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern, "u"), { maxLength: 80 });
  const { minLength, maxLength } = lengths(schema, "minLength", "maxLength", TEXT_MAX);
  const chars = "x-mcp-header" in schema ? HEADER_CHARS : CHARS;
  const text = fc.array(fc.constantFrom(...chars), { minLength, maxLength }).map((drawn) => drawn.join(""));
  return text.map((drawn) => (drawn.length + CONTENT.length <= maxLength ? `${CONTENT}${drawn}` : drawn));
}

function lengths(schema: JsonObject, least: string, most: string, usual: number): { minLength: number; maxLength: number } {
  const min = schema[least];
  const max = schema[most];
  const minLength = typeof min === "number" ? min : 0;
  return { minLength, maxLength: Math.max(minLength, Math.min(typeof max === "number" ? max : usual, usual)) };
}

function lowest({ type, minimum, exclusiveMinimum }: JsonObject): number {
  if (typeof exclusiveMinimum === "number") return type === "integer" ? exclusiveMinimum + 1 : exclusiveMinimum;
  return typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
}

function highest({ type, maximum, exclusiveMaximum }: JsonObject): number {
  if (typeof exclusiveMaximum === "number") return type === "integer" ? exclusiveMaximum - 1 : exclusiveMaximum;
  return typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
}

function choicesOf(schema: JsonObject): readonly Json[] {
  if (typeof schema["const"] === "string") return [schema["const"]];
  if (Array.isArray(schema["enum"])) return schema["enum"] as readonly Json[];
  const alternatives = schema["oneOf"] ?? schema["anyOf"];
  return Array.isArray(alternatives) ? alternatives.flatMap((each) => (isObject(each as Json) ? choicesOf(each as JsonObject) : [])) : [];
}

function propertiesOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  const { properties } = schema;
  return isObject(properties) ? Object.entries(properties).filter((entry): entry is [string, JsonObject] => isObject(entry[1])) : [];
}

function requiredOf({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? (required as readonly string[]) : [];
}
