import { expect, test } from "vitest";
import { cut } from "./cut.ts";

test("a long string is cut, and shows it", () => {
  expect(cut("abc", 3)).toBe("abc");
  expect(cut("abcd", 3)).toBe("abc…");
  expect(cut("", 0)).toBe("");
});

test("a surrogate pair is not split", () => {
  expect(cut("a😀", 3)).toBe("a😀");
  expect(cut("a😀b", 3)).toBe("a😀…");
  expect(cut("a😀b", 2)).toBe("a…");
  // The first and last high surrogates, and their neighbours.
  for (const half of ["\ud800", "\udbff"]) expect(cut(`a${half}bc`, 2)).toBe("a…");
  for (const whole of ["\ud7ff", "\udc00"]) expect(cut(`a${whole}bc`, 2)).toBe(`a${whole}…`);
});
