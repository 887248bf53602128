import { describe, expect, test } from "vitest";
import { STORED_DEPTH_MAX } from "./canonical-json.ts";
import { isJsonLonger, isSurelyLonger } from "./json-length.ts";

const VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  1.5e300,
  "",
  "text",
  'ä"\n\u0000',
  [],
  [[]],
  [undefined, () => 1, Symbol("s"), null],
  Array.from({ length: 3 }),
  {},
  { a: undefined },
  { a: undefined, b: () => 1, c: 2 },
  { 'with "quotes"': { deep: [{ a: "b" }, "c"] } },
  new Date(0),
  { at: new URL("https://example.com/") },
  // oxlint-disable-next-line no-new-wrappers -- JSON writes them as what they hold
  [new String("boxed"), new Number(1), new Boolean(false)],
  Buffer.from("some bytes"),
  new Uint8Array(10),
  new Map([[1, 2]]),
];

describe("a value's length as JSON", () => {
  test.each(VALUES.map((value) => [JSON.stringify(value) ?? "undefined", value]))("is never overrated: %s", (_, value) => {
    const { length } = JSON.stringify(value) ?? "";
    expect(isSurelyLonger(value, length)).toBe(false);
    expect(isJsonLonger(value, length)).toBe(false);
    if (length > 0) expect(isJsonLonger(value, length - 1)).toBe(true);
  });

  test("is certain for what holds texts alone, at the limit and one beyond", () => {
    for (const value of ["abc", ["a", ["b", []]], { name: { of: "it" }, list: ["x", {}] }]) {
      const { length } = JSON.stringify(value);
      expect([isSurelyLonger(value, length), isSurelyLonger(value, length - 1)]).toEqual([false, true]);
    }
  });

  test("is not looked for beyond the limit", () => {
    let read = 0;
    const item = {
      get text() {
        read += 1;
        return "x".repeat(100);
      },
    };
    expect(
      isJsonLonger(
        Array.from({ length: 1_000_000 }, () => item),
        1_000_100,
      ),
    ).toBe(true);
    expect(read).toBeLessThan(10);
    const holes: unknown[] = [];
    holes.length = 4_000_000_000;
    expect(isJsonLonger(holes, 1_000)).toBe(true);
    // Two to the power of forty texts, which JSON.stringify would try to write.
    let doubled: unknown = "text";
    for (let times = 0; times < 40; times += 1) doubled = [doubled, doubled];
    expect(isJsonLonger(doubled, 10_000)).toBe(true);
  });

  test("is left to JSON.stringify for what has none", () => {
    const round: { itself?: unknown } = {};
    round.itself = round;
    for (const value of [round, [round, round], 1n, [1n]]) {
      expect(isSurelyLonger(value, 100)).toBe(false);
      expect(() => isJsonLonger(value, 1_000_000)).toThrow(TypeError);
    }
    let deep: unknown = [];
    for (let depth = 0; depth < 10 * STORED_DEPTH_MAX; depth += 1) deep = [deep];
    expect(isSurelyLonger(deep, 10 * STORED_DEPTH_MAX)).toBe(false);
  });
});
