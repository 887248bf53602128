import { expect, test } from "vitest";
import { boundedMap } from "./bounded-map.ts";

test("a bounded map drops the least recently used entries beyond its limit", () => {
  const map = boundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect([map.get("a"), map.get("b"), map.size]).toEqual([1, 2, 2]);
  map.get("a");
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([1, undefined, 3, 2]);
  map.set("c", 5);
  map.set("b", 6);
  map.set("c", 3);
  map.set("a", 4);
  expect(map.get("b")).toBeUndefined();
  expect([map.get("a"), map.size]).toEqual([4, 2]);
  map.delete("a");
  expect([map.get("a"), map.size]).toEqual([undefined, 1]);
});
