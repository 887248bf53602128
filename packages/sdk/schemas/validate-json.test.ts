import type { JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { compiled, validateJson, validateShape } from "./validate-json.ts";

const listOf = (items: JsonObject): JsonObject => ({ type: "object", properties: { list: { type: "array", items } } });
const list = (length: number, item: unknown = 0) => ({ list: Array<unknown>(length).fill(item) });

describe("a JSON Schema", () => {
  test("reports all problems of a small value, up to what an error shows and one more, and the first of a large one", () => {
    const schema = listOf({ type: "string" });
    expect(validateJson(schema, list(8))).toHaveLength(8);
    expect(validateJson(schema, list(199))).toHaveLength(9);
    expect(validateJson(schema, list(200))).toEqual([{ path: "/list/0", message: "must be a text" }]);
  });

  test.each([
    ["number", "a number"],
    ["integer", "a whole number"],
  ])("has no %s beyond what JSON can store", (type, wanted) => {
    expect(validateJson({ type }, JSON.parse("1e400"))).toEqual([{ path: "", message: `must be ${wanted}` }]);
    expect(validateJson({ type }, JSON.parse("1e300"))).toEqual([]);
  });

  test("checks in linear time whether items are distinct, and what is a URL", () => {
    const before = process.threadCpuUsage();
    const items = Array.from({ length: 25_000 }, (_, index) => ({ index }));
    expect(validateJson({ uniqueItems: true }, items)).toEqual([]);
    expect(validateJson({ uniqueItems: true }, [...items, { index: 5 }])).toHaveLength(1);
    expect(validateJson({ format: "url" }, `http://${":".repeat(250_000)}`)).toHaveLength(1);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});

test("a schema is compiled once, by object and by text, and the least recently used of more than 500 texts is forgotten", () => {
  const schema = (index: number): JsonObject => ({ const: `forgotten ${index}` });
  const held = schema(1);
  const [first, second] = [compiled(schema(0)), compiled(held)];
  for (let index = 2; index < 500; index += 1) compiled(schema(index));
  expect(compiled(schema(0))).toBe(first);
  compiled(schema(500));
  expect(compiled(schema(0))).toBe(first);
  expect(compiled(held)).toBe(second);
  expect(compiled(schema(1))).not.toBe(second);
  expect(compiled({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema(0) })).toBe(first);
});

describe("the shape of a value, before its author's schema sees it", () => {
  test("is checked for large values only, because small ones are checked fast enough", () => {
    const schema = listOf({ type: "string" });
    expect(validateShape(schema, list(199))).toEqual([]);
    expect(validateShape(schema, list(200))).toEqual([{ path: "/list/0", message: "must be a text" }]);
    expect(validateShape(schema, list(200, "a"))).toEqual([]);
  });

  test("leaves formats to the author's own schema, which may have others", () => {
    expect(validateShape(listOf({ format: "uri" }), list(200, "https://bücher.example"))).toEqual([]);
    expect(validateJson(listOf({ format: "uri" }), list(200, "https://bücher.example"))).toHaveLength(1);
  });

  test("has no violations if ajv cannot read the schema", () => {
    expect(validateShape(listOf({ $ref: "https://elsewhere.example/schema" }), list(200))).toEqual([]);
    expect(validateShape(listOf({ pattern: "(" }), list(200))).toEqual([]);
  });
});
