import { describe, expect, test } from "vitest";
import { duration, moment, relative } from "./times.ts";

const NOW = Date.parse("2026-11-23T00:50:00.500Z");
const MINUTE = 60_000;

describe("a relative time", () => {
  test.each([
    [-999, "now"],
    [0, "now"],
    [1_000, "in 1 second"],
    [-119_999, "119 seconds ago"],
    [-2 * MINUTE, "2 minutes ago"],
    [119 * MINUTE, "in 119 minutes"],
    [120 * MINUTE, "in 2 hours"],
    [-47 * 60 * MINUTE, "47 hours ago"],
    [48 * 60 * MINUTE, "in 2 days"],
    [400 * 24 * 60 * MINUTE, "in 400 days"],
  ])("%i ms is %s", (ms, says) => {
    expect(relative(NOW + ms, NOW)).toBe(says);
  });

  test("follows the absolute time", () => {
    expect(moment(NOW - 2 * MINUTE, NOW)).toBe("2026-11-23T00:48:00Z, 2 minutes ago");
  });
});

test.each([
  [0, "0 seconds"],
  [400, "0.4 seconds"],
  [1_000, "1 second"],
  [119_999, "120 seconds"],
  [2 * MINUTE, "2 minutes"],
  [49 * 60 * MINUTE, "2 days"],
])("%i ms last %s", (ms, says) => {
  expect(duration(ms)).toBe(says);
});
