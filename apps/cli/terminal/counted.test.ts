import { expect, test } from "vitest";
import { counted } from "./counted.ts";

test("one is singular, and any other number plural", () => {
  expect([0, 1, 2].map((count) => counted(count, "tool"))).toEqual(["0 tools", "1 tool", "2 tools"]);
  expect([0, 1, 2].map((count) => counted(count, "grant is", "grants are"))).toEqual(["0 grants are", "1 grant is", "2 grants are"]);
});
