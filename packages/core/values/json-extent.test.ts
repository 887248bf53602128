import { expect, test } from "vitest";
import { jsonExceeds } from "./json-extent.ts";

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const deep = (depthMax: number) => ({ depthMax, valuesMax: Infinity });
const many = (valuesMax: number) => ({ depthMax: Infinity, valuesMax });

test("depth counts arrays and objects, and the limit itself is allowed", () => {
  expect(jsonExceeds(nested(64, "[", "]"), deep(64))).toBeUndefined();
  expect(jsonExceeds(nested(65, "[", "]"), deep(64))).toBe("depthMax");
  expect(jsonExceeds(nested(64, '{"a":', "}").replace(":}", ":1}"), deep(64))).toBeUndefined();
  expect(jsonExceeds(nested(65, '{"a":', "}").replace(":}", ":1}"), deep(64))).toBe("depthMax");
});

test("values without members have no depth and count as one", () => {
  for (const text of ["1", '"x"', "null", "true", ""]) expect(jsonExceeds(text, { depthMax: 0, valuesMax: 0 })).toBeUndefined();
  expect(jsonExceeds("{}", deep(0))).toBe("depthMax");
  expect(jsonExceeds(JSON.stringify(Array.from({ length: 100_000 }, () => ({ a: [1] }))), deep(3))).toBeUndefined();
});

test("items and members count at every depth, and the limit itself is allowed", () => {
  for (const value of [
    Array(1_000).fill(0),
    Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key ${index}`, index])),
    Array(200).fill({ a: 1, b: [{ c: 1 }] }),
  ]) {
    const text = JSON.stringify(value);
    expect(jsonExceeds(text, many(1_000))).toBeUndefined();
    expect(jsonExceeds(text, many(999))).toBe("valuesMax");
  }
});

test("brackets and commas in strings do not count", () => {
  const tricky = ['[{,"', "\\", '\\"', '"', '\\\\"[', "]}", "\\u0022", ",,,,"];
  for (const text of [JSON.stringify(tricky), JSON.stringify(tricky, undefined, 2), JSON.stringify({ [tricky.join("")]: tricky })]) {
    expect(jsonExceeds(text, { depthMax: 2, valuesMax: tricky.length + 1 })).toBeUndefined();
    expect(jsonExceeds(text, many(tricky.length - 1))).toBe("valuesMax");
  }
});

test("random JSON has the depth and the number of values that it has", () => {
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const scalar = () => [null, true, 0.5, "", 'a "quoted" \\ [text, with] {all}', -1e9][random(6)];
  const draw = (depth: number): unknown => {
    const length = random(5);
    if (depth === 0 || random(3) === 0) return scalar();
    if (random(2) === 0) return Array.from({ length }, () => draw(depth - 1));
    return Object.fromEntries(Array.from({ length }, (_, index) => [`${index}\\"[`, draw(depth - 1)]));
  };
  const measure = (value: unknown): { depth: number; values: number } => {
    if (typeof value !== "object" || value === null) return { depth: 0, values: 0 };
    const items = Object.values(value).map(measure);
    const values = items.reduce((sum, item) => sum + item.values, Math.max(1, items.length));
    return { depth: 1 + Math.max(0, ...items.map(({ depth }) => depth)), values };
  };
  for (let round = 0; round < 2_000; round += 1) {
    const value = draw(6);
    const { depth, values } = measure(value);
    const text = JSON.stringify(value, undefined, random(3));
    expect(jsonExceeds(text, { depthMax: depth, valuesMax: values }), text).toBeUndefined();
    if (depth > 0) expect(jsonExceeds(text, deep(depth - 1)), text).toBe("depthMax");
    if (values > 0) expect(jsonExceeds(text, many(values - 1)), text).toBe("valuesMax");
  }
});

test("a bomb is recognised, and the scan ends at invalid JSON", () => {
  expect(jsonExceeds("[".repeat(1_000_000), deep(64))).toBe("depthMax");
  expect(jsonExceeds(`[${"0,".repeat(1_000_000)}`, many(50_000))).toBe("valuesMax");
  expect(jsonExceeds(`"${"[".repeat(1_000)}`, deep(64))).toBeUndefined();
  expect(jsonExceeds("]".repeat(1_000), deep(64))).toBeUndefined();
});

test("a megabyte of quotes or backslashes is scanned once", () => {
  for (const text of [
    JSON.stringify('"'.repeat(500_000)),
    JSON.stringify("\\".repeat(500_000)),
    JSON.stringify(Array(240_000).fill("\\")),
  ]) {
    const before = process.threadCpuUsage();
    expect(jsonExceeds(text, { depthMax: 64, valuesMax: 1_000_000 })).toBeUndefined();
    const { user, system } = process.threadCpuUsage(before);
    // One scan takes 10 ms; a scan for each quote would take many minutes.
    expect(user + system).toBeLessThan(1_000_000);
  }
});
