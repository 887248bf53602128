import { expect, test } from "vitest";
import { jsonDepthExceeds } from "./index.ts";

const nested = (depth: number, open: string, close: string): unknown =>
  JSON.parse(open.repeat(depth - 1) + (open.endsWith("[") ? "[]" : "{}") + close.repeat(depth - 1));

test("depth counts arrays and objects, and the limit itself is allowed", () => {
  expect(jsonDepthExceeds(nested(64, "[", "]"), 64)).toBe(false);
  expect(jsonDepthExceeds(nested(65, "[", "]"), 64)).toBe(true);
  expect(jsonDepthExceeds(nested(64, '{"a":', "}"), 64)).toBe(false);
  expect(jsonDepthExceeds(nested(65, '{"a":', "}"), 64)).toBe(true);
});

test("values without members have no depth", () => {
  for (const value of [1, "x", null, true, undefined]) expect(jsonDepthExceeds(value, 0)).toBe(false);
  expect(jsonDepthExceeds({}, 0)).toBe(true);
});

test("breadth is no depth", () => {
  expect(
    jsonDepthExceeds(
      Array.from({ length: 100_000 }, () => ({ a: [1] })),
      3,
    ),
  ).toBe(false);
});

test("a bomb is seen for what it is, without recursion", () => {
  // Deep enough to overflow the stack of whatever walks it by calling itself.
  expect(jsonDepthExceeds(nested(5_000, "[", "]"), 64)).toBe(true);
  let bomb: unknown = [];
  for (let depth = 0; depth < 1_000_000; depth += 1) bomb = [bomb];
  expect(jsonDepthExceeds(bomb, 64)).toBe(true);
  expect(jsonDepthExceeds(bomb, 2_000_000)).toBe(false);
});
