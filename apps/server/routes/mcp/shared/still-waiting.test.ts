import { expect, test } from "vitest";
import { increased, stillWaiting } from "./still-waiting.ts";

test.each([undefined, 0, 0.5, 1e12, 2 ** 53, -1e12])("progress of a call that waits increases from %s, by next to nothing", (last) => {
  const { progress } = stillWaiting(last);
  const before = last ?? 0;
  expect(progress).toBeGreaterThan(before);
  expect(progress - before).toBeLessThan(Math.max(1e-5, Math.abs(before) / 1e15));
});

test.each<[number, number | undefined, number]>([
  [3, undefined, 3],
  [3, 2, 3],
  [-1, -2, -1],
  [3, 3, 3.000_001],
  [1, 3, 3.000_001],
])("progress %s after %s is reported as %s", (progress, last, expected) => {
  expect(increased({ type: "progress", progress, total: 9, message: "m" }, last)).toEqual({
    type: "progress",
    progress: expected,
    total: 9,
    message: "m",
  });
});
