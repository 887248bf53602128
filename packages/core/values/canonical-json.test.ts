import { describe, expect, test } from "vitest";
import { canonicalJson, STORED_DEPTH_MAX, throughJson } from "./canonical-json.ts";

describe("equal values have one text", () => {
  test.each<[unknown, string]>([
    [{ b: 1, a: 2, B: 3, aa: 4 }, '{"B":3,"a":2,"aa":4,"b":1}'],
    [{ c: { z: [{ y: 1, x: 2 }], a: null } }, '{"c":{"a":null,"z":[{"x":2,"y":1}]}}'],
    [[2, 1, [4, 3]], "[2,1,[4,3]]"],
    [{ a: undefined, b: new Date(0) }, '{"b":"1970-01-01T00:00:00.000Z"}'],
    [{ a: { toJSON: () => "own", z: 1, y: 2 } }, '{"a":"own"}'],
    [null, "null"],
    [undefined, "null"],
  ])("%j", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });
});

describe("a value on its way through the store", () => {
  const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));

  test("is what JSON makes of it", () => {
    expect(throughJson({ a: undefined, at: new Date(0) })).toStrictEqual({
      value: { at: "1970-01-01T00:00:00.000Z" },
      text: '{"at":"1970-01-01T00:00:00.000Z"}',
    });
    for (const nothing of [undefined, () => 1, Symbol("s")]) expect(throughJson(nothing)).toStrictEqual({ value: undefined, text: "" });
    expect(() => throughJson(1n)).toThrow(TypeError);
  });

  test("may be long, and nested as deeply as the store allows, and no deeper", () => {
    expect(throughJson("x".repeat(10_000)).text).toHaveLength(10_002);
    expect(throughJson(nested(STORED_DEPTH_MAX)).value).toStrictEqual(nested(STORED_DEPTH_MAX));
    expect(() => throughJson(nested(STORED_DEPTH_MAX + 1))).toThrow(new RangeError("arrays and objects nest deeper than 1000 levels"));
  });
});
