import { describe, expect, test } from "vitest";
import { choicesOf, type Field, fieldAt, fieldsOf, hasMore, readAny, readTyped } from "./form.ts";
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
      { name: "note", label: "Note", kind: "text", isRequired: false },
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

  test("that may be null keep their choices and defaults, and those of several types are texts", () => {
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
      { kind: "text", schema: { type: "string" }, isNullable: true },
      { kind: "text", schema: { type: "string" } },
    ]);
  });

  test("of a hostile schema are those that can be read, and nothing throws", () => {
    expect(fieldsOf({})).toEqual([]);
    expect(fieldsOf({ properties: "none" })).toEqual([]);
    const odd = form({ nothing: null, text: "x", list: [], array: { type: "array" }, titles: { type: "string", title: 7, enum: [1, 2] } });
    expect(fieldsOf({ ...odd, required: [1, "titles"] })).toMatchObject([
      { name: "array", kind: "choices", choices: [] },
      { name: "titles", label: "Titles", kind: "choice", isRequired: true },
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

describe("one meaning in many spellings", () => {
  const definitions = {
    Priority: { type: "string", enum: ["low", "high"] },
    Alias: { $ref: "#/$defs/Priority" },
    "a/b": { $ref: "#/$defs/Alias" },
  };
  const read = (property: JsonObject, more: JsonObject = {}) =>
    fieldsOf({ ...form({ first: { type: "string", enum: ["low", "high"] }, field: property }), $defs: definitions, ...more }).find(
      ({ name }) => name === "field",
    );
  const choices = [{ value: "low" }, { value: "high" }];

  test.each<JsonObject>([
    { $ref: "#/$defs/Alias" },
    { $ref: "#/$defs/a~1b" },
    { $ref: "#/properties/first" },
    { allOf: [{ $ref: "#/$defs/Priority" }] },
    { oneOf: [{ $ref: "#/$defs/Alias" }] },
    { anyOf: [{ allOf: [{ $ref: "#/$defs/Priority" }] }] },
    { allOf: [{ $ref: "#/$defs/Priority" }, { type: "string" }] },
  ])("has its choices by reference and composition: %j", (property) => {
    expect(read({ ...property, title: "How urgent", default: "low" })).toMatchObject({
      kind: "choice",
      choices,
      label: "How urgent",
      default: "low",
    });
  });

  test.each<JsonObject>([
    { anyOf: [{ $ref: "#/$defs/a~1b" }, { type: "null" }], default: null },
    { enum: ["low", "high", null] },
    { type: ["string", "null"], enum: ["low", "high", null] },
    { oneOf: [{ const: "low" }, { const: "high" }, { const: null }] },
    { allOf: [{ anyOf: [{ $ref: "#/$defs/Priority" }, { type: "null" }] }] },
  ])("may be null: %j", (property) => {
    const field = read(property);
    expect(field).toMatchObject({ kind: "choice", choices, isNullable: true });
    expect(field && "default" in field).toBe(false);
  });

  test("has choices of any type, with their values", () => {
    expect(read({ type: "integer", enum: [5, 10] })).toMatchObject({
      kind: "choice",
      choices: [
        { value: "5", json: 5 },
        { value: "10", json: 10 },
      ],
    });
    expect(read({ oneOf: [{ const: 1, title: "One" }, { const: "auto" }] })?.choices).toEqual([
      { value: "1", json: 1, title: "One" },
      { value: "auto" },
    ]);
    expect(readTyped("10", read({ enum: [5, 10] }) as Field)).toBe(10);
    expect(readTyped("5, 10", read({ type: "array", items: { enum: [5, 10] } }) as Field)).toEqual([5, 10]);
    expect(readTyped("7", read({ enum: [5, 10] }) as Field)).toBe("7");
  });

  test.each<[JsonObject, object]>([
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, { kind: "text", schema: { type: "string" } }],
    [{ type: ["string", "number", "null"] }, { kind: "text", schema: { type: "string" }, isNullable: true }],
    [
      {
        anyOf: [
          { type: "string", format: "uri" },
          { type: "string", maxLength: 9 },
        ],
      },
      { kind: "text", schema: { type: "string" } },
    ],
    [{ type: ["integer", "number"] }, { kind: "number" }],
    [{ anyOf: [{ type: "object" }, { type: "string" }] }, { kind: "text", schema: { anyOf: [{}, {}] } }],
  ])("of several simple types is entered as the widest: %j", (property, expected) => {
    expect(read(property)).toMatchObject(expected);
  });

  test("is left as it is where two parts contradict each other", () => {
    expect(read({ allOf: [{ type: "string" }, { type: "integer" }] })?.schema).toEqual({
      allOf: [{ type: "string" }, { type: "integer" }],
    });
  });

  test("has its fields at the root by reference too, and says when there are more", () => {
    const node = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const byReference = { $ref: "#/$defs/Node", $defs: { Node: node } };
    expect([fieldsOf(byReference).map(({ name, isRequired }) => [name, isRequired]), hasMore(byReference)]).toEqual([
      [["name", true]],
      false,
    ]);
    const roots = [
      { type: "object", oneOf: [node, { type: "object" }] },
      { type: "object", additionalProperties: { type: "string" } },
    ];
    expect(roots.map(hasMore)).toEqual([true, true]);
    const emptyEach = { type: "object", oneOf: [{ type: "object" }, { anyOf: [node, node] }] };
    expect(hasMore(emptyEach)).toBe(true);
    expect([node, { type: "object" }, { ...node, additionalProperties: false }].map(hasMore)).toEqual([false, false, false]);
  });

  test("that is one of several objects has the fields of each, and requires what each of them requires", () => {
    const card = {
      type: "object",
      properties: {
        kind: { type: "string", const: "card" },
        number: { type: "string", default: "4" },
        note: { type: "string", default: "n" },
      },
      required: ["kind", "number"],
      additionalProperties: false,
    };
    const cash = { type: "object", properties: { kind: { const: "cash" }, note: { type: "string", default: "n" } }, required: ["kind"] };
    const schema = {
      oneOf: [{ $ref: "#/$defs/Card" }, cash],
      properties: { amount: { type: "number" } },
      required: ["amount"],
      $defs: { Card: card },
    };
    expect(fieldsOf(schema)).toMatchObject([
      { name: "kind", kind: "choice", isRequired: true, choices: [{ value: "card" }, { value: "cash" }] },
      { name: "number", kind: "text", isRequired: false },
      { name: "note", default: "n", isRequired: false },
      { name: "amount", kind: "number", isRequired: true },
    ]);
    // It would be sent with cash, which has no number.
    expect(fieldsOf(schema)[1]).not.toHaveProperty("default");
    expect(hasMore(schema)).toBe(false);
    const oneOfTwo = { type: "object", properties: { id: {}, name: {} }, anyOf: [{ required: ["id"] }, { required: ["name"] }] };
    expect([fieldsOf(oneOfTwo).map(({ name, isRequired }) => [name, isRequired]), hasMore(oneOfTwo)]).toEqual([
      [
        ["id", false],
        ["name", false],
      ],
      false,
    ]);
  });

  test("has a text that looks like another choice in quotes", () => {
    const [field] = fieldsOf(form({ at: { enum: ["1", 1, "true", true, "auto"] } }));
    expect(field?.choices.map(({ value }) => value)).toEqual(['"1"', "1", '"true"', "true", "auto"]);
    expect(field?.choices.map(({ value }) => readTyped(value, field))).toEqual(["1", 1, "true", true, "auto"]);
  });

  test("of any type is JSON, or a text where it may be one", () => {
    const text = { anyOf: [{ type: "string" }, { type: "array" }] };
    const read = (typed: string, schema: JsonObject) => readAny(typed, schema)?.value;
    expect([read("5", text), read("[5]", text), read("hello", text), read('"5"', text)]).toEqual(["5", [5], "hello", "5"]);
    expect([read("5", {}), read("hello", {}), read("{", {}), read("null", { type: ["string", "null"] })]).toEqual([
      5,
      "hello",
      undefined,
      null,
    ]);
    expect(read("hello", { anyOf: [{ type: "object" }, { type: "number" }] })).toBeUndefined();
  });

  test("of a hostile schema costs little", () => {
    const alternatives = Array.from({ length: 4_000 }, (_, each) => ({ properties: { [`f${each}`]: {}, kind: { const: each } } }));
    expect(fieldsOf({ oneOf: alternatives })).toHaveLength(4_001);
    const levels = Object.fromEntries(
      Array.from({ length: 60 }, (_, level) => [
        `d${level}`,
        { allOf: [{ $ref: `#/$defs/d${level + 1}` }, { $ref: `#/$defs/d${level + 1}` }] },
      ]),
    );
    expect(fieldsOf({ ...form({ field: { $ref: "#/$defs/d0" } }), $defs: levels })).toHaveLength(1);
    expect(fieldsOf({ $ref: "#" })).toEqual([]);
  });
});

test.each([
  ["１０", "integer", 10],
  ["٤", "integer", 4],
  ["१२.५", "number", 12.5],
  ["𝟙𝟚", "integer", 12],
  ["one, two", "choices", ["one", "two"]],
] as const)("%j, typed on another keyboard or with a space, is read in a field of kind %s", (text, kind, value) => {
  expect(readTyped(text, { kind })).toEqual(value);
});
