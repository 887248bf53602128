import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { describeProblems, VIOLATIONS_WANTED } from "./schema-violation.ts";
import { validateJson } from "../../sdk/schemas/validate-json.ts";
import { SENTENCES } from "./violation-texts.fixture.ts";
import { problemAt } from "./violation-texts.ts";

const validate = createValidator();

describe("what a person reads about a value", () => {
  test.each(SENTENCES)("%j of %j is a sentence: %s", (schema, value, text) => {
    expect(validate({ properties: { field: schema } }, { field: value }).at(-1)?.message).toBe(text);
    expect(validateJson({ properties: { field: schema } }, { field: value }).at(-1)?.message).toBe(text);
  });

  test("is said once of alternatives, at the place that is wrong", () => {
    const pair = { anyOf: [{ type: "integer" }, { const: "auto" }] };
    const schema = {
      properties: { list: { type: "array", items: pair }, one: pair, thing: { anyOf: [{ type: "object", required: ["a"] }, pair] } },
    };
    const wrong = { list: ["x", 1, "y"], one: "z", thing: {} };
    const text = 'must be a whole number or "auto"';
    expect(validate(schema, wrong)).toStrictEqual([
      { path: "/list/0", message: text },
      { path: "/list/2", message: text },
      { path: "/one", message: text },
      { path: "/thing/a", message: "is required" },
    ]);
    expect(validate(schema, { list: [1, "auto"], one: 2, thing: { a: 1 } })).toStrictEqual([]);
  });

  test("of alternatives keeps what is wrong beside them, and in other entries", () => {
    const pair = { anyOf: [{ type: "integer" }, { const: "auto" }] };
    const long = { anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] };
    const either = { anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    expect(validate({ properties: { one: { allOf: [{ minLength: 3 }, pair] } } }, { one: "x" })).toStrictEqual([
      { path: "/one", message: "must have at least 3 characters" },
      { path: "/one", message: 'must be a whole number or "auto"' },
    ]);
    expect(validate({ type: "array", items: long }, ["x", 5])).toStrictEqual([
      { path: "/0", message: "must have at least 3 characters" },
      { path: "/1", message: "must be a text" },
    ]);
    expect(validate({ properties: { one: either } }, { one: {} })).toStrictEqual([
      { path: "/one", message: "fits none of its alternatives" },
    ]);
  });

  test("does not take longer per choice, however many choices there are", () => {
    const choices = { oneOf: Array.from({ length: 2_000 }, (_, index) => ({ const: `${index}` })) };
    const schema = { type: "array", items: choices };
    const startedAt = performance.now();
    expect(
      validateJson(
        schema,
        Array.from({ length: 100 }, () => "x"),
      ),
    ).toHaveLength(VIOLATIONS_WANTED);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  test("names fields by their titles or names, never by a pointer", () => {
    expect(
      describeProblems([
        { path: "/party-size/content/n", message: "must be at most 20", label: "Party size" },
        { path: "/party-size/content/a~1b", message: "is required" },
        { path: "/content/guests/0/name", message: "is required" },
        { path: "", message: "Choose one" },
      ]),
    ).toBe("Party size must be at most 20; a/b is required; Guests 1 name is required; the answer: Choose one");
  });

  test("continues with a text of ours, and separates an author's sentence", () => {
    expect(problemAt("Party size", "must be at most 20")).toBe("Party size must be at most 20");
    expect(problemAt("Return", "the return must not be before the start")).toBe("Return: the return must not be before the start");
    expect(problemAt("Return", "isolated sites have no return")).toBe("Return: isolated sites have no return");
  });
});
