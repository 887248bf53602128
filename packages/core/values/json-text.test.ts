import { describe, expect, test } from "vitest";
import { inexactNumber, oneLine } from "./json-text.ts";

describe("a number that would be another one", () => {
  test.each([
    ['{"at":1234567890123456789}', "1234567890123456789"],
    ["[9007199254740993]", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["[1,2,1e400]", "1e400"],
    // The double that is nearest prints as 18446744073709552000.
    ["18446744073709551616", "18446744073709551616"],
    ['{"text":"\\"1","id":12345678901234567890}', "12345678901234567890"],
  ])("is found in %s", (text, number) => {
    expect(inexactNumber(text)).toBe(number);
  });

  test.each([
    '{"id":"1234567890123456789","1234567890123456789":1}',
    "[9007199254740991,-9007199254740991]",
    // Each prints as it was written.
    "[9007199254740992,18446744073709552000,1234567890123456800]",
    "[0.12345678901234567890,1.5e300,1e-400]",
    '["a\\\\",1]',
    '"12345678901234567890',
    "",
  ])("is not found in %s", (text) => {
    expect(inexactNumber(text)).toBeUndefined();
  });
});

test("characters at which some readers end a line are escaped, and mean the same", () => {
  const value = { text: "a\u2028b\u2029c\u0085d\ne" };
  const line = oneLine(JSON.stringify(value));
  expect(line).toBe('{"text":"a\\u2028b\\u2029c\\u0085d\\ne"}');
  expect(JSON.parse(line)).toStrictEqual(value);
  expect(oneLine('{"a":1}')).toBe('{"a":1}');
});
