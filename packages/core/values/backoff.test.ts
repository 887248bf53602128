import { expect, test } from "vitest";
import { backoff } from "./backoff.ts";

const DAY_MS = 86_400_000;

test("doubles after each failed attempt, up to a day", () => {
  expect([0, 1, 2, 16, 17, 5_000].map((failed) => backoff(1_000, failed))).toEqual([1_000, 2_000, 4_000, 65_536_000, DAY_MS, DAY_MS]);
});

test("is never shorter than the author's own, and zero if that is invalid", () => {
  expect([0, 3].map((failed) => backoff(2 * DAY_MS, failed))).toEqual([2 * DAY_MS, 2 * DAY_MS]);
  expect(backoff(0, 9)).toBe(0);
});
