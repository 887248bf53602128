import { expect, test } from "vitest";
import { assertPlain, plainJson } from "./plain-data.ts";

class Price {
  readonly #amount: number;
  constructor(amount: number) {
    this.#amount = amount;
  }
  get amount(): number {
    return this.#amount;
  }
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;

const ENCODED = 'encode it, such as by Buffer.from(…).toString("base64")';

test.each([
  ["a function", { a: { f: () => 1 } }, "/a/f is a function"],
  ["a bigint", [1n], "/0 is a bigint"],
  ["a symbol", Symbol("x"), "it is a symbol"],
  ["NaN", { n: Number.NaN }, "/n is NaN"],
  ["a map", { m: new Map() }, "/m is a Map"],
  ["a set", new Set(), "it is a Set"],
  ["bytes", { b: new Uint8Array(1) }, `/b is a Uint8Array: ${ENCODED}`],
  ["bytes that have toJSON", Buffer.from("a"), `it is a Buffer: ${ENCODED}`],
  ["a promise that was not awaited", { p: Promise.resolve() }, "/p is a promise: await it"],
  ["an error", { e: new Error("x") }, "/e is an Error"],
  ["a response", { r: new Response("x") }, "/r is a Response"],
  ["search parameters", new URLSearchParams("a=1"), "it is a URLSearchParams"],
  ["a regular expression", [/a/], "/0 is a RegExp"],
  ["a buffer", new ArrayBuffer(1), "it is an ArrayBuffer"],
  ["an instance that keeps its data private", { p: new Price(5) }, "/p is a Price"],
  ["a generator", [(function* () {})()], "/0 is a class instance"],
  ["an invalid date", { at: new Date("tomorrow") }, "/at is an invalid date"],
  ["what stands behind what is plain", { a: 1, b: { c: "x" }, d: 1n }, "/d is a bigint"],
  ["what is within something with data named toJSON", { toJSON: 5, n: 1n }, "/n is a bigint"],
  ["a cycle", cycle, "/self contains itself"],
])("%s is refused, with its path", (_what, value, problem) => {
  expect(() => assertPlain("the result", value)).toThrow(
    expect.objectContaining({ code: "NOT_SERIALIZABLE", message: `the result is not plain data: ${problem}` }),
  );
});

test("instances with fields, and empty objects and lists, are plain", () => {
  class Point {
    x = 1;
  }
  const empty = { literal: {}, bare: Object.create(null) as object, list: [], own: new (class extends Array {})() };
  expect(plainJson("it", { p: new Point(), ...empty })).toStrictEqual({ p: { x: 1 }, literal: {}, bare: {}, list: [], own: [] });
});

test("dates, repeated objects and undefined fields are plain", () => {
  const shared = { n: 1 };
  expect(plainJson("it", { at: new Date(0), a: shared, b: shared, c: undefined })).toEqual({
    at: "1970-01-01T00:00:00.000Z",
    a: { n: 1 },
    b: { n: 1 },
  });
  expect(plainJson("it", { nothing: null, own: { toJSON: () => "own", n: 1n } })).toStrictEqual({ nothing: null, own: "own" });
  expect(plainJson("it", undefined)).toBeNull();
});

test("is plain up to the depth that can be stored, and deeper data is refused however deep it is", () => {
  const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
  expect(() => assertPlain("it", nested(1_000))).not.toThrow();
  for (const levels of [1_001, 7_000])
    expect(() => assertPlain("the result", nested(levels))).toThrow("the result is not plain data: it nests deeper than 1000 levels");
});
