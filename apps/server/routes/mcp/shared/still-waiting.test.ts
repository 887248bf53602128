import { expect, test } from "vitest";
import { stillWaiting } from "./still-waiting.ts";

test.each([undefined, 0, 0.5, 1e12, 2 ** 53, -1e12])("progress of a call that waits increases from %s, by next to nothing", (last) => {
  const { progress } = stillWaiting(last);
  const before = last ?? 0;
  expect(progress).toBeGreaterThan(before);
  expect(progress - before).toBeLessThan(Math.max(1e-5, Math.abs(before) / 1e15));
});
