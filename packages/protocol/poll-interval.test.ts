import type { TaskStatus } from "@parley/core";
import { describe, expect, test } from "vitest";
import { growingPollInterval } from "./poll-interval.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** The interval that a client receives for a task that has not changed for `ageMs`. */
function intervalMs(ageMs: number, bounds = { shortestMs: SECOND, longestMs: 5 * MINUTE }, status: TaskStatus = "working"): number {
  return growingPollInterval({ ...bounds, now: () => 1_700_000_000_000 + ageMs })({ status, updatedAtMs: 1_700_000_000_000 });
}

/** How often a client that follows the interval polls in that time. */
function pollsIn(waitMs: number, longestMs: number): number {
  let polls = 0;
  for (let atMs = 0; atMs < waitMs; atMs += intervalMs(atMs, { shortestMs: SECOND, longestMs })) polls += 1;
  return polls;
}

describe("the poll interval", () => {
  test("is the shortest until a tenth of the wait is more, and grows from there", () => {
    expect([0, 10 * SECOND, 10 * SECOND + 10, 20 * SECOND].map((ageMs) => intervalMs(ageMs))).toEqual([
      SECOND,
      SECOND,
      SECOND + 1,
      2 * SECOND,
    ]);
  });

  test("is the longest from the wait on whose tenth that is, at the limit and one beyond", () => {
    const longestAtMs = 50 * MINUTE;
    expect([longestAtMs - 10, longestAtMs, longestAtMs + 10, DAY].map((ageMs) => intervalMs(ageMs))).toEqual([
      5 * MINUTE - 1,
      5 * MINUTE,
      5 * MINUTE,
      5 * MINUTE,
    ]);
  });

  test.each<[TaskStatus, number]>([
    ["working", 5 * MINUTE],
    ["input_required", 5 * MINUTE],
    ["completed", SECOND],
    ["failed", SECOND],
    ["cancelled", SECOND],
  ])("of a task that has been %s for a day is %i ms", (status, expectedMs) => {
    expect(intervalMs(DAY, undefined, status)).toBe(expectedMs);
  });

  test("is constant where the longest is no more than the shortest", () => {
    for (const longestMs of [0, SECOND]) expect(intervalMs(DAY, { shortestMs: SECOND, longestMs })).toBe(SECOND);
  });

  test("is a whole number, and the shortest for a task whose clock is ahead of this process'", () => {
    expect(intervalMs(12_345)).toBe(1_234);
    expect(intervalMs(-MINUTE)).toBe(SECOND);
  });

  test("a client that waits for a day asks 348 times with the default bound and 106 without one, where it asked 86,400 times", () => {
    expect(pollsIn(DAY, SECOND)).toBe(86_400);
    expect(pollsIn(DAY, 5 * MINUTE)).toBe(348);
    expect(pollsIn(DAY, DAY)).toBe(106);
  });

  test("without a bound a hundred times the wait is 48 more looks", () => {
    expect(pollsIn(100 * DAY, 100 * DAY) - pollsIn(DAY, 100 * DAY)).toBe(48);
  });
});
