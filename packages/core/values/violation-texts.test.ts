import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { describeProblems, VIOLATIONS_WANTED } from "./schema-violation.ts";
import type { Json, JsonObject } from "./json.ts";
import { cpuMs } from "../../../test/support/cpu-ms.ts";
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

  test("is said once of alternatives that are references, and in full where a reference leads to further ones", () => {
    const $defs = {
      size: { type: "integer" },
      unit: { enum: ["cm", "in"] },
      box: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
      shelf: { type: "object", required: ["name"], properties: { box: { $ref: "#/$defs/box" } } },
      tree: { anyOf: [{ type: "integer" }, { type: "array", items: { $ref: "#/$defs/tree" } }] },
    };
    const either = (...names: string[]) => ({ anyOf: [...names.map((name) => ({ $ref: `#/$defs/${name}` })), { type: "null" }] });
    const properties = {
      size: either("size", "unit"),
      box: either("box"),
      boxOrSize: { anyOf: [either("box"), { $ref: "#/$defs/size" }] },
      shelf: either("shelf"),
      tree: { $ref: "#/$defs/tree" },
    };
    for (const check of [validate, validateJson]) {
      const saidOf = (name: keyof typeof properties, value: Json) =>
        check({ properties, $defs }, { [name]: value }).map(({ path, message }) => `${path} ${message}`);
      expect(saidOf("size", true)).toStrictEqual(['/size must be a whole number or one of "cm", "in"']);
      expect(saidOf("box", {})).toStrictEqual(["/box/name is required"]);
      expect(saidOf("box", 7)).toStrictEqual(["/box must be an object"]);
      expect(saidOf("boxOrSize", {})).toStrictEqual(["/boxOrSize/name is required"]);
      const unclear = "fits none of its alternatives";
      expect(saidOf("shelf", { name: "a", box: {} })).toStrictEqual([
        "/shelf/box/name is required",
        "/shelf must be null",
        `/shelf ${unclear}`,
      ]);
      expect(saidOf("tree", [["x"]])).toStrictEqual([
        "/tree must be a whole number",
        "/tree/0 must be a whole number",
        "/tree/0/0 must be a whole number or a list",
        `/tree/0 ${unclear}`,
        `/tree ${unclear}`,
      ]);
    }
  });

  test("is judged by a choice that another part of the schema refers to", () => {
    const schema = { properties: { a: { oneOf: [{ const: "x" }, { const: 1 }] }, b: { $ref: "#/properties/a/oneOf/1" } } };
    for (const check of [validate, validateJson]) {
      expect(check(schema, { a: "x", b: 1 })).toStrictEqual([]);
      expect(check(schema, { a: "y", b: "x" })).toStrictEqual([
        { path: "/a", message: 'must be one of "x", 1' },
        { path: "/b", message: "must be 1" },
      ]);
    }
  });

  test("does not read a long list of choices again for each wrong item", async () => {
    const values = Array.from({ length: 100_000 }, (_, index) => `${index}`);
    const lists: readonly JsonObject[] = [
      { oneOf: values.slice(0, 2_000).map((value) => ({ const: value })) },
      { anyOf: [{ type: "integer" }, { enum: values }] },
    ];
    for (const items of lists) {
      const schema = { type: "array", items };
      const listOf = (value: string) => Array.from({ length: 190 }, () => value);
      expect(validateJson(schema, listOf(items["anyOf"] ? "99999" : "1999"))).toHaveLength(0);
      // The validator alone looks through all choices for the last one.
      const rightMs = await cpuMs(() => validateJson(schema, listOf(items["anyOf"] ? "99999" : "1999")));
      const wrongMs = await cpuMs(() => expect(validateJson(schema, listOf("x"))).toHaveLength(VIOLATIONS_WANTED));
      expect(wrongMs).toBeLessThan(2 * rightMs + 200);
    }
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
