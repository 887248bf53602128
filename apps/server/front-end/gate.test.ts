import { expect, test } from "vitest";
import { gate, gates } from "./gate.ts";

test("a gate is full at its limit, and a place that is released twice is free once", () => {
  const full = gate("things", 2, "OVERLOADED");
  const leave = full.enter();
  full.enter();
  expect(() => full.enter()).toThrow("2 things are open");
  leave();
  leave();
  expect(full.open).toBe(1);
  full.enter();
  expect(() => full.enter()).toThrow("2 things are open");
});

test("each name has its own gate, and releasing a place twice does not free a place of a later gate", () => {
  const own = gates("things", 1, "QUOTA_EXCEEDED");
  const leave = own.enter("a");
  own.enter("b");
  expect(() => own.enter("a")).toThrow("1 things are open");
  leave();
  own.enter("a");
  leave();
  expect(() => own.enter("a")).toThrow("1 things are open");
});
