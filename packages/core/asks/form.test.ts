import { describe, expect, test } from "vitest";
import { choicesOf, fieldAt, fieldsOf, readTyped } from "./form.ts";
import type { JsonObject } from "../task.ts";

const form = (properties: JsonObject, required: string[] = []): JsonObject => ({ type: "object", properties, required });

describe("the fields of a form", () => {
  test("are in the order of the schema, with the labels that people read", () => {
    const schema = form(
      {
        size: { type: "integer", title: "Party size", description: "Without children", default: 2, minimum: 1 },
        note: { type: "string" },
        window: { type: "boolean", default: false },
        share: { type: "number" },
      },
      ["size"],
    );
    expect(fieldsOf(schema)).toMatchObject([
      { name: "size", label: "Party size", kind: "integer", description: "Without children", isRequired: true, default: 2, choices: [] },
      { name: "note", label: "note", kind: "text", isRequired: false },
      { name: "window", kind: "boolean", default: false },
      { name: "share", kind: "number" },
    ]);
    expect(fieldsOf(schema)[0]?.schema).toMatchObject({ minimum: 1 });
  });

  test.each([
    { enum: ["a", "b"], enumNames: ["Apple", "Bean"] },
    {
      oneOf: [
        { const: "a", title: "Apple" },
        { const: "b", title: "Bean" },
      ],
    },
    {
      anyOf: [
        { const: "a", title: "Apple" },
        { const: "b", title: "Bean" },
      ],
    },
  ] as JsonObject[])("have their choices from every spelling: %j", (spelling) => {
    const choices = [
      { value: "a", title: "Apple" },
      { value: "b", title: "Bean" },
    ];
    const schema = form({ one: { type: "string", ...spelling }, many: { type: "array", items: spelling } });
    expect(fieldsOf(schema)).toMatchObject([
      { name: "one", kind: "choice", choices },
      { name: "many", kind: "choices", choices },
    ]);
  });

  test.each([
    { type: ["integer", "null"] },
    { anyOf: [{ type: "integer" }, { type: "null" }] },
    { oneOf: [{ type: "null" }, { type: "integer" }] },
  ])("that may be null are like others, and say so: %j", (spelling) => {
    const [field] = fieldsOf(form({ size: { title: "Size", default: null, ...spelling } }, ["size"]));
    expect(field).toStrictEqual({
      name: "size",
      label: "Size",
      kind: "integer",
      isRequired: true,
      isNullable: true,
      choices: [],
      schema: { title: "Size", type: "integer" },
    });
  });

  test("are those that they refer to, also for null and in a list, and a reference that leads nowhere is left as it is", () => {
    const color = { type: "string", enum: ["red", "blue"], title: "Color" };
    const schema = {
      ...form({
        color: { $ref: "#/$defs/Color", default: "red" },
        maybe: { anyOf: [{ $ref: "#/$defs/Color" }, { type: "null" }], default: null, title: "Maybe" },
        many: { type: "array", items: { $ref: "#/$defs/Color" } },
        item: { $ref: "#/definitions/Item" },
        loop: { $ref: "#/$defs/Loop" },
        none: { $ref: "#/$defs/constructor" },
        away: { $ref: "https://example.com/Color" },
      }),
      $defs: { Color: color, Loop: { $ref: "#/$defs/Loop" } },
      definitions: { Item: { type: "object" } },
    };
    const choices = [{ value: "red" }, { value: "blue" }];
    expect(fieldsOf(schema)).toMatchObject([
      { name: "color", label: "Color", kind: "choice", choices, default: "red", schema: { enum: ["red", "blue"] } },
      { name: "maybe", label: "Maybe", kind: "choice", choices, isNullable: true },
      { name: "many", kind: "choices", choices },
      { name: "item", kind: "text", schema: { type: "object" } },
      { name: "loop", kind: "text", schema: { $ref: "#/$defs/Loop" } },
      { name: "none", kind: "text" },
      { name: "away", kind: "text" },
    ]);
  });

  test("that may be null keep their choices and defaults, and those of several types are left as they are", () => {
    expect(
      fieldsOf(
        form({
          plan: { type: ["string", "null"], enum: ["a", "b", null], default: "b" },
          kind: { anyOf: [{ enum: ["a", "b"] }, { type: "null" }], default: "a" },
          mixed: { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
          types: { type: ["string", "integer"] },
        }),
      ),
    ).toMatchObject([
      { kind: "choice", choices: [{ value: "a" }, { value: "b" }], default: "b", isNullable: true },
      { kind: "choice", choices: [{ value: "a" }, { value: "b" }], default: "a", isNullable: true },
      { kind: "text", schema: { anyOf: [{}, {}, {}] } },
      { kind: "text", schema: { type: ["string", "integer"] } },
    ]);
  });

  test("of a hostile schema are those that can be read, and nothing throws", () => {
    expect(fieldsOf({})).toEqual([]);
    expect(fieldsOf({ properties: "none" })).toEqual([]);
    const odd = form({ nothing: null, text: "x", list: [], array: { type: "array" }, titles: { type: "string", title: 7, enum: [1, 2] } });
    expect(fieldsOf({ ...odd, required: [1, "titles"] })).toMatchObject([
      { name: "array", kind: "choices", choices: [] },
      { name: "titles", label: "titles", kind: "text", isRequired: true, choices: [] },
    ]);
    const inherited = fieldsOf(form(JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}') as JsonObject));
    expect(inherited.map(({ name }) => name)).toEqual(["__proto__", "constructor"]);
  });
});

test("have no choices if something other than a choice among strings is offered too", () => {
  expect(choicesOf({ oneOf: [{ const: "a" }, { type: "number" }] })).toBeUndefined();
  expect(choicesOf({ enum: ["a", 1] })).toBeUndefined();
  expect(choicesOf({ enum: [] })).toBeUndefined();
  expect(choicesOf({ anyOf: [{ enum: ["a", "b"] }, { const: "c", title: "C" }] })).toEqual([
    { value: "a" },
    { value: "b" },
    { value: "c", title: "C" },
  ]);
});

test.each([
  ["4", "integer", 4],
  ["0.5", "number", 0.5],
  ["four", "number", "four"],
  [" ", "number", " "],
  ["yes", "boolean", true],
  ["0", "boolean", false],
  ["perhaps", "boolean", "perhaps"],
  ["soup,fish", "choices", ["soup", "fish"]],
  ["", "choices", []],
  ["4", "text", "4"],
  ["a,b", "choice", "a,b"],
  ["Infinity", "number", "Infinity"],
  ["1e999", "integer", "1e999"],
  [" -4 ", "integer", -4],
  ["+4", "integer", 4],
  ["1.000", "integer", "1.000"],
  ["1e3", "integer", "1e3"],
  ["0x10", "integer", "0x10"],
  ["1e3", "number", 1_000],
  ["9007199254740991", "integer", Number.MAX_SAFE_INTEGER],
  ["9007199254740993", "integer", "9007199254740993"],
  ["123456789012345678", "number", "123456789012345678"],
  ["100000000000000000000", "number", 1e20],
] as const)("%j typed for a field of kind %s is %j", (text, kind, value) => {
  expect(readTyped(text, { kind })).toEqual(value);
});

test("a choice with a comma is one choice, alone and not among others", () => {
  const cities = { kind: "choices", choices: [{ value: "Rome, Italy" }, { value: "Rome" }, { value: "Oslo" }] } as const;
  expect(readTyped("Rome, Italy", cities)).toEqual(["Rome, Italy"]);
  expect(readTyped("Rome,Oslo", cities)).toEqual(["Rome", "Oslo"]);
});

test("entries of a list have the type that its schema gives them", () => {
  const list = (type: string, text: string) => readTyped(text, { kind: "choices", schema: { type: "array", items: { type } } });
  expect(list("integer", "1, 2")).toEqual([1, 2]);
  expect(list("number", "1.5")).toEqual([1.5]);
  expect(list("boolean", "yes,false")).toEqual([true, false]);
  expect(list("string", "1,2")).toEqual(["1", "2"]);
  expect(list("integer", "1,two")).toEqual([1, "two"]);
});

test("are found by the pointer of a violation, with any characters in the name", () => {
  const schema = form({ "a/b~c": { type: "string", title: "Odd" } });
  expect(fieldAt(schema, "/content/a~1b~0c")?.label).toBe("Odd");
  expect(fieldAt(schema, "/content/a~1b~0c/0")?.label).toBe("Odd");
  expect(fieldAt(schema, "/content/other")).toBeUndefined();
  expect(fieldAt(schema, "/content")).toBeUndefined();
});
