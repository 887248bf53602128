import { expect, test } from "vitest";
import { assertNotFarTooLong } from "./stored-length.ts";

test("a value is refused at once if it is several times the limit, and measured exactly below that", () => {
  const refuse = () => assertNotFarTooLong("the result", "x".repeat(399), 100);
  expect(refuse).toThrow("the result has more than 400 characters of JSON; the limit is 100 (PARLEY_STORED_VALUE_MAX)");
  expect(refuse).toThrow(expect.objectContaining({ code: "TOO_LARGE" }));
  expect(() => assertNotFarTooLong("the result", "x".repeat(398), 100)).not.toThrow();
});
