import type { Json, JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { createValidator } from "./validate.ts";

const validate = createValidator();
const form = (properties: JsonObject): JsonObject => ({ type: "object", properties });

describe("choices with titles", () => {
  const choices = [
    { const: "a", title: "Alpha" },
    { const: "b", title: "Beta", description: "the second" },
  ];

  test.each(["oneOf", "anyOf"])("spelt with %s are all named in the one problem of a wrong choice", (keyword) => {
    const schema = form({ one: { type: "string", [keyword]: choices }, many: { type: "array", items: { [keyword]: choices } } });
    expect(validate(schema, { one: "a", many: ["a", "b", "a"] })).toEqual([]);
    const message = 'must be one of "a", "b"';
    expect(validate(schema, { one: "Alpha", many: ["b", "c", "d"] })).toEqual([
      { path: "/one", message },
      { path: "/many/1", message },
      { path: "/many/2", message },
    ]);
  });

  test("with further keywords, or in two lists, keep their meaning in JSON Schema", () => {
    const cases: readonly (readonly [schema: JsonObject, fits: Json, wrong: Json])[] = [
      [{ oneOf: choices, anyOf: [{ const: "b" }, { const: "c" }] }, "b", "a"],
      [{ enum: ["a"], anyOf: choices }, "a", "b"],
      [{ oneOf: [{ const: "a" }, { const: "b", type: "number" }] }, "a", "b"],
      [{ oneOf: [{ const: "a" }, { const: "a" }, { const: "b" }] }, "b", "a"],
      [{ oneOf: [{ const: "a" }, { type: "number" }] }, 7, "b"],
      [{ anyOf: [{ const: 1 }, { const: 2 }] }, 2, "2"],
    ];
    for (const [schema, fits, wrong] of cases) {
      expect(validate(form({ field: schema }), { field: fits }), JSON.stringify(schema)).toEqual([]);
      expect(validate(form({ field: schema }), { field: wrong }), JSON.stringify(schema)).not.toEqual([]);
    }
  });

  test("are left alone where they are data or names of fields", () => {
    const data = { oneOf: choices };
    expect(validate({ const: data }, data)).toEqual([]);
    expect(validate({ enum: [data] }, { enum: ["a", "b"] })).not.toEqual([]);
    const named = form({ oneOf: { type: "number" }, enum: { anyOf: choices }, default: { type: "boolean" } });
    expect(validate(named, { oneOf: 1, enum: "a", default: true })).toEqual([]);
    expect(validate(named, { oneOf: "a", enum: "c", default: 1 })).toHaveLength(3);
  });
});

test("a field of any name may be left out, also one with a name that every object inherits", () => {
  const names = ["constructor", "toString", "__proto__", "hasOwnProperty"];
  const schema = form(Object.fromEntries(names.map((name) => [name, { type: "string" }])));
  expect(validate(schema, {})).toEqual([]);
  expect(validate({ ...schema, required: names }, {})).toHaveLength(names.length);
  expect(validate(schema, { constructor: 7 })).toEqual([{ path: "/constructor", message: "must be a text" }]);
});

describe("a problem", () => {
  const schema = form({ list: { type: "array", items: { type: "string" } } });
  const wrong = (length: number) => validate(schema, { list: Array<number>(length).fill(0) });

  test("with a small value is reported with the others, up to one more than an error shows", () => {
    expect(wrong(8)).toHaveLength(8);
    expect(wrong(9)).toHaveLength(9);
    // The list itself counts as a value.
    expect(wrong(199)).toHaveLength(9);
  });

  test("with a large value is reported alone", () => {
    expect(wrong(200)).toEqual([{ path: "/list/0", message: "must be a text" }]);
    const members = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, index]));
    expect(validate({ additionalProperties: false }, members)).toHaveLength(9);
    expect(validate({ additionalProperties: false }, { ...members, one: 1 })).toHaveLength(1);
    const nested = { list: Array.from({ length: 100 }, () => ({ a: 1 })) };
    expect(validate(form({ list: { items: { type: "string" } } }), nested)).toHaveLength(1);
  });
});

describe("a check for which ajv takes quadratic time", () => {
  const cpuMs = (work: () => void): number => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };

  test("takes one pass: distinct items", () => {
    const list = Array.from({ length: 25_000 }, (_, index) => [index]);
    expect(cpuMs(() => expect(validate({ uniqueItems: true }, list)).toEqual([]))).toBeLessThan(1_000);
    expect(validate({ uniqueItems: true }, [...list, [3]])).toEqual([{ path: "", message: "must not hold the same item twice" }]);
    expect(validate({ uniqueItems: false }, [1, 1])).toEqual([]);
    expect(validate({ uniqueItems: true }, [1, "1", [1], { a: 1 }, { a: 2 }, null, true, 0, "", {}, []])).toEqual([]);
    expect(
      validate({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).toHaveLength(1);
    expect(validate({ uniqueItems: true }, "no list")).toEqual([]);
  });

  test("takes one pass: the format url", () => {
    const text = `http://${":".repeat(250_000)}`;
    expect(cpuMs(() => expect(validate({ format: "url" }, text)).toHaveLength(1))).toBeLessThan(1_000);
    expect(validate({ format: "url" }, "https://example.com/a?b=c")).toEqual([]);
  });
});

test.each([
  ["number", "a number"],
  ["integer", "a whole number"],
])("a %s beyond what JSON can store is refused", (type, wanted) => {
  expect(validate(form({ n: { type } }), JSON.parse('{"n":1e400}') as Json)).toEqual([{ path: "/n", message: `must be ${wanted}` }]);
  expect(validate(form({ n: { type } }), { n: 1e300 })).toEqual([]);
});
