/**
 * One reader of schemas: what the page and the command line make of what a person typed is what the server's validator
 * accepts, for each type in each spelling, and no value changes on its way through a control.
 */
import { fieldsOf, type Json, type JsonObject, readTyped } from "@parley/core";
import { createValidator } from "@parley/node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentOf, inputsOf, untouched } from "../../apps/web/form/inputs.ts";
import { shown } from "./doors.ts";

const validate = createValidator();

interface Kind {
  readonly schema: JsonObject;
  readonly values: fc.Arbitrary<Json>;
}

const text = fc.string({ minLength: 1, unit: "grapheme" }).filter((each) => each.trim() !== "" && !/[\r\n]/.test(each));
const line = fc.stringMatching(/^[a-z]{1,9}( [a-z]{1,9})?$/);

const KINDS: Readonly<Record<string, Kind>> = {
  text: { schema: { type: "string" }, values: text },
  integer: { schema: { type: "integer" }, values: fc.maxSafeInteger() },
  number: { schema: { type: "number" }, values: fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each + 0) },
  price: { schema: { type: "number", multipleOf: 0.01 }, values: fc.nat(1_000_000).map((cents) => Number((cents / 100).toFixed(2))) },
  boolean: { schema: { type: "boolean" }, values: fc.boolean() },
  choice: { schema: { type: "string", enum: ["a", "b, c", ""] }, values: fc.constantFrom("a", "b, c", "") },
  numbered: { schema: { type: "integer", enum: [5, 10, 25] }, values: fc.constantFrom(5, 10, 25) },
  mixed: { schema: { enum: ["auto", 1, true] }, values: fc.constantFrom<Json[]>("auto", 1, true) },
  titled: { schema: { oneOf: [{ const: 1, title: "One" }, { const: 2 }] }, values: fc.constantFrom(1, 2) },
  fixed: { schema: { const: 7 }, values: fc.constant(7) },
  several: { schema: { type: "array", items: { enum: [1, 2, 3] }, uniqueItems: true }, values: fc.subarray([1, 2, 3], { minLength: 1 }) },
  lines: { schema: { type: "array", items: { type: "string" } }, values: fc.array(line, { minLength: 1 }) },
  union: { schema: { anyOf: [{ type: "string" }, { type: "integer" }] }, values: text },
  object: { schema: { type: "object" }, values: fc.dictionary(line, fc.integer()) },
  time: { schema: { type: "string", format: "time" }, values: fc.constantFrom("19:30:00", "19:30:00Z") },
};

const SPELLINGS: Readonly<Record<string, (schema: JsonObject) => JsonObject>> = {
  "as it is": (schema) => ({ properties: { field: schema } }),
  "by reference": (schema) => ({ properties: { field: { $ref: "#/$defs/A" } }, $defs: { A: { $ref: "#/$defs/B" }, B: schema } }),
  "in allOf": (schema) => ({ properties: { field: { allOf: [{ $ref: "#/$defs/A" }] } }, $defs: { A: schema } }),
  "in oneOf": (schema) => ({ properties: { field: { oneOf: [schema] } } }),
  "or null": (schema) => ({
    properties: { field: { anyOf: [{ $ref: "#/definitions/A" }, { type: "null" }] } },
    definitions: { A: schema },
  }),
};

const cases = Object.keys(KINDS).flatMap((kind) => Object.keys(SPELLINGS).map((spelling) => [kind, spelling] as const));

describe.each(cases)("a field of the kind %s, spelt %s", (kind, spelling) => {
  const { schema: bare, values } = KINDS[kind] as Kind;
  const schema: JsonObject = { type: "object", required: ["field"], ...SPELLINGS[spelling]?.(bare) };

  test("keeps every value through the page's control, and the server accepts what the page sends", () => {
    const [input, ...others] = inputsOf(schema);
    expect(others).toEqual([]);
    if (!input) throw new Error("no field");
    fc.assert(
      fc.property(values, (value) => {
        expect(validate(schema, { field: value })).toEqual([]);
        // An empty choice is chosen by its position.
        const typed = shown(input, value);
        const { content, problems } = contentOf([input], { field: typed });
        expect([content, problems]).toEqual([{ field: value }, {}]);
      }),
      { numRuns: 50 },
    );
  });

  test("is never sent as something else than what the server would accept, whatever is typed", () => {
    const [input] = inputsOf(schema);
    if (!input || ["json", "time", "tristate"].includes(input.control) || typeof untouched(input) !== "string") return;
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (typed) => {
        const { content, problems } = contentOf([input], { field: typed });
        const isSent = Object.keys(problems).length === 0 && "field" in content;
        if (isSent && bare["multipleOf"] === undefined) expect(validate(schema, content)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  test("has each choice and number by the same text on the command line", () => {
    const [field] = fieldsOf(schema);
    if (!field) throw new Error("no field");
    fc.assert(
      fc.property(values, (value) => {
        if (typeof value === "object") return;
        const typed = typeof value === "string" ? value : JSON.stringify(value);
        expect(readTyped(typed, field)).toEqual(value);
      }),
      { numRuns: 50 },
    );
  });
});
