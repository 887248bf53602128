/** What an upstream fills in by its schema, however its generator spells that. */
import type { Json, JsonObject, Tool } from "@parley/core";
import { expect, test } from "vitest";
import { ADDED_MAX, withDefaults } from "./defaults.ts";

const of = (inputSchema: JsonObject) => ({ kind: "tool", inputSchema }) as unknown as Tool;
const force = { properties: { force: { type: "boolean", default: true } } };

test.each<[string, JsonObject, JsonObject, Json]>([
  ["a default", force, {}, { force: true }],
  ["what is given", force, { force: false }, { force: false }],
  ["null, which is given too", force, { force: null }, { force: null }],
  ["a default in an object", { properties: { options: force } }, { options: {} }, { options: { force: true } }],
  ["a default in the items of a list", { properties: { all: { items: force } } }, { all: [{}, 1] }, { all: [{ force: true }, 1] }],
  [
    "a model of pydantic, by reference",
    { $defs: { Options: force }, properties: { options: { $ref: "#/$defs/Options" } } },
    { options: {} },
    { options: { force: true } },
  ],
  [
    "a reference with a default beside it",
    { $defs: { Options: force }, properties: { options: { allOf: [{ $ref: "#/$defs/Options" }], default: {} } } },
    {},
    { options: { force: true } },
  ],
  [
    "an optional model",
    { $defs: { Options: force }, properties: { options: { anyOf: [{ $ref: "#/$defs/Options" }, { type: "null" }] } } },
    { options: {} },
    { options: { force: true } },
  ],
  ["the default of what is referred to", { $defs: { F: { default: 1 } }, properties: { f: { $ref: "#/$defs/F" } } }, {}, { f: 1 }],
  [
    "members without a schema of their own",
    { properties: { by: { additionalProperties: force } } },
    { by: { a: {} } },
    { by: { a: { force: true } } },
  ],
  ["a tuple", { properties: { pair: { prefixItems: [{}, force], items: false } } }, { pair: [{}, {}] }, { pair: [{}, { force: true }] }],
  ["a root by reference", { $ref: "#/$defs/All", $defs: { All: force } }, {}, { force: true }],
  ["a name with a slash", { $defs: { "a/b": force }, properties: { o: { $ref: "#/$defs/a~1b" } } }, { o: {} }, { o: { force: true } }],
  ["nothing of two alternatives", { anyOf: [force, { properties: { force: { default: false } } }] }, {}, {}],
  ["nothing of a reference elsewhere", { $ref: "https://example.com/schema" }, {}, {}],
  ["nothing of a reference that leads nowhere", { properties: { o: { $ref: "#/$defs/none" } } }, { o: {} }, { o: {} }],
])("%s", (_what, inputSchema, args, expected) => {
  expect(withDefaults(of(inputSchema), args)).toStrictEqual(expected);
});

test("a property that is called as the prototype is filled in like another", () => {
  const inputSchema = { properties: JSON.parse('{"__proto__":{"default":1}}') as JsonObject };
  const done = withDefaults(of(inputSchema), {});
  expect(JSON.stringify(done)).toBe('{"__proto__":1}');
});

test.each<[string, JsonObject, JsonObject]>([
  ["by a default", { properties: { child: { $ref: "#", default: {} } } }, {}],
  ["by two defaults", { properties: { a: { $ref: "#", default: {} }, b: { $ref: "#", default: {} } } }, {}],
  [
    "with more values than are followed",
    { properties: { all: { items: force } } },
    { all: Array.from({ length: ADDED_MAX + 1 }, () => ({})) },
  ],
])("what a schema fills in without end is not guessed: %s", (_what, inputSchema, args) => {
  expect(withDefaults(of(inputSchema), args)).toBeUndefined();
});

test("as many values as are followed are filled in, also those that come last", () => {
  const inputSchema = { properties: { all: { items: force }, force: { default: true } } };
  const all = Array.from({ length: ADDED_MAX - 1 }, () => ({}));
  expect(withDefaults(of(inputSchema), { all })).toMatchObject({ force: true });
  expect(withDefaults(of(inputSchema), { all: [...all, {}] })).toBeUndefined();
});

test("a schema that refers to itself is read once", () => {
  const circle = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } };
  expect(withDefaults(of(circle), { x: 1 })).toStrictEqual({ x: 1 });
  const fan = { $ref: "#/$defs/a", $defs: { a: { allOf: Array.from({ length: 20 }, () => ({ $ref: "#/$defs/a" })) } } };
  expect(withDefaults(of(fan), { x: 1 })).toStrictEqual({ x: 1 });
});
