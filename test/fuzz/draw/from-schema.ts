/**
 * Values that fit a JSON Schema, and values that break it in one place, drawn from the schema itself: what tools/list publishes about
 * arguments, what a question says about its form. The test beside it compares both with ajv.
 */
import fc from "fast-check";
import { CONTENT, type Drawn, isObject, type Json, type JsonObject, longText, manyTimes, notOf } from "./json.ts";

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

function* waysToBreak(schema: JsonObject): Generator<fc.Arbitrary<BrokenValue>> {
  const { type } = schema;
  const named = (name: string, value: fc.Arbitrary<Drawn>) => value.map((each): BrokenValue => ({ name, value: each }));
  const choices = choicesOf(schema);
  if (choices.length > 0) {
    yield named(
      "no choice",
      fc.string({ maxLength: 8 }).filter((text) => !choices.includes(text)),
    );
    yield named("wrong type", notOf("string"));
    return;
  }
  switch (type) {
    case "string": {
      yield named("wrong type", notOf("string"));
      const { minLength: least, maxLength: most, pattern, format } = schema;
      if (typeof least === "number" && least > 0) yield named("too short", fc.string({ maxLength: least - 1 }));
      if (typeof most === "number") {
        yield named(
          "too long",
          fc.constantFrom(1, 100).map((more) => "x".repeat(most + more)),
        );
        yield named("too long", longText(most + 1, 900_000));
      }
      if (typeof pattern === "string")
        yield named(
          "no match",
          fc.string({ maxLength: 30 }).filter((text) => !new RegExp(pattern, "u").test(text)),
        );
      else if (typeof format === "string")
        yield named("no such format", fc.constantFrom("", CONTENT, "2026-13-45", "a@", "://", "@example.com"));
      return;
    }
    case "integer":
    case "number": {
      yield named("wrong type", notOf("number"));
      if (type === "integer") yield named("a fraction", fc.constantFrom(0.5, -1.25, 1e-7));
      if (Number.isFinite(lowest(schema))) yield named("too small", fc.constantFrom(lowest(schema) - 1, -1e300));
      if (Number.isFinite(highest(schema)))
        yield named(
          "too large",
          fc.constantFrom(highest(schema) + 1, 1e300).filter((value) => value > highest(schema)),
        );
      return;
    }
    case "boolean":
      yield named("wrong type", notOf("boolean"));
      return;
    case "array": {
      yield named("wrong type", notOf("array"));
      const items = isObject(schema["items"]) ? schema["items"] : {};
      const { minItems: least, maxItems: most } = schema;
      if (typeof least === "number" && least > 0) yield named("too few items", fc.constant([]));
      if (typeof most === "number")
        yield named(
          "too many items",
          fitting(items).map((item) => Array.from({ length: most + 1 }, () => item)),
        );
      const item = breaking(items);
      if (item) {
        yield item.map(({ name, value }) => ({ name: `item ${name}`, value: [value] as Drawn }));
        yield named(
          "many wrong items",
          manyTimes(2, 480_000).map((times) => ({ large: "list" as const, of: 0, times })),
        );
      }
      return;
    }
    default: {
      yield named("wrong type", notOf("object"));
      const properties = propertiesOf(schema);
      const required = requiredOf(schema);
      const whole = fittingObject(schema);
      for (const name of required) {
        yield whole.map((value) => ({
          name: `${name} missing`,
          value: Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)),
        }));
      }
      for (const [name, property] of properties) {
        const inner = breaking(property);
        if (inner) {
          yield fc.tuple(whole, inner).map(([value, wrong]) => ({
            name: `${name} ${wrong.name}`,
            value: { ...value, [name]: wrong.value } as Drawn,
          }));
        }
      }
      if (schema["additionalProperties"] === false) {
        yield whole.map((value) => ({ name: "unknown member", value: { ...value, surplus: 1 } }));
        yield fc
          .tuple(whole, manyTimes(2, 60_000))
          .map(([, times]) => ({ name: "many unknown members", value: { large: "members" as const, of: 0, times } }));
      }
    }
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
