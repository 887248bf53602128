import { createValidator } from "@parley/node";
import { expect, test } from "vitest";
import { isMultipleOf } from "./multiple-of.ts";

const upTo = (count: number, divisor: number) => Array.from({ length: count }, (_, index) => index / divisor);

test.each([
  [0.01, 100],
  [0.1, 10],
  [0.001, 1_000],
])("every multiple of %d is one, as a person writes it", (step, divisor) => {
  expect(upTo(10_000, divisor).filter((value) => !isMultipleOf(step, value))).toEqual([]);
  expect(upTo(10_000, divisor).filter((value) => isMultipleOf(step, value + step / 4))).toEqual([]);
});

test.each<[number, number, boolean]>([
  [5, -15, true],
  [5, 0, true],
  [5, 7, false],
  [0.5, 1e21, true],
  [1e-7, 3e-7, true],
  [1e300, 1, false],
  [0.01, 9_007_199_254_740_991, true],
  [3, 9_007_199_254_740_991, false],
  [5e-324, 1e308, true],
])("of %d: %d is %s", (step, value, expected) => {
  expect(isMultipleOf(step, value)).toBe(expected);
});

test("a price of 19.99 is in hundredths", () => {
  expect(createValidator()({ properties: { price: { multipleOf: 0.01 } } }, { price: 19.99 })).toEqual([]);
});
