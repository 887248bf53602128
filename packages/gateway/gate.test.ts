import { expect, test } from "vitest";
import { gate, gates } from "./gate.ts";

test("a gate is full at its limit, and a place that is left twice is free once", () => {
  const full = gate(2);
  const leave = full.enter();
  full.enter();
  expect(full.enter()).toBeUndefined();
  leave?.();
  leave?.();
  expect(full.open).toBe(1);
  expect(full.enter()).toBeTypeOf("function");
  expect(full.enter()).toBeUndefined();
});

test("each name has its own gate, and one that is left twice frees no place of a later one", () => {
  const gateOf = gates(1);
  const leave = gateOf("a").enter();
  expect(gateOf("b").enter()).toBeTypeOf("function");
  expect(gateOf("a").enter()).toBeUndefined();
  leave?.();
  expect(gateOf("a").enter()).toBeTypeOf("function");
  leave?.();
  expect(gateOf("a").enter()).toBeUndefined();
});

test("a name has one gate, whenever it was looked up", () => {
  const gateOf = gates(1);
  const [early, late] = [gateOf("a"), gateOf("a")];
  const leave = early.enter();
  expect(late.enter()).toBeUndefined();
  expect([early.open, late.open]).toEqual([1, 1]);
  leave?.();
  expect(late.enter()).toBeTypeOf("function");
  expect(early.enter()).toBeUndefined();
});
