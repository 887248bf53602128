import { describe, expect, test } from "vitest";
import { boundedViolations, describeViolations, isSmall, schemaViolation, VIOLATIONS_WANTED } from "./schema-violation.ts";

describe("a problem of a validator", () => {
  const problem = (keyword: string, params: object, message?: string) =>
    schemaViolation({ instancePath: "/party", keyword, params: { ...params }, message });

  test.each([
    [problem("required", { missingProperty: "size" }), { path: "/party/size", message: "is required" }],
    [problem("required", { missingProperty: "a/b~c" }), { path: "/party/a~1b~0c", message: "is required" }],
    [problem("additionalProperties", { additionalProperty: "~1" }), { path: "/party/~01", message: "is not a known field" }],
    [problem("enum", { allowedValues: ["a", 1] }, "no"), { path: "/party", message: 'must be one of "a", 1' }],
    [problem("maximum", { limit: 20 }, "must be <= 20"), { path: "/party", message: "must be at most 20" }],
    [problem("unevaluatedItems", {}), { path: "/party", message: "breaks unevaluatedItems" }],
  ])("is named by its place, and worded alike: %j", (found, expected) => {
    expect(found).toStrictEqual(expected);
  });
});

describe("a value", () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, index]));

  test.each<[string, unknown, unknown]>([
    ["items", Array.from({ length: 200 }, () => null), Array.from({ length: 201 }, () => null)],
    ["members", members(200), members(201)],
    ["items below", [Array.from({ length: 199 }, () => 1)], [Array.from({ length: 200 }, () => 1)]],
    [
      "parts together",
      { a: members(99), b: Array.from({ length: 99 }, () => 1) },
      { a: members(99), b: Array.from({ length: 100 }, () => 1) },
    ],
  ])("is small up to 200 %s, at any depth", (_, small, large) => {
    expect([isSmall(small), isSmall(large)]).toStrictEqual([true, false]);
  });

  test.each([null, undefined, "x".repeat(1_000), 7, [], {}])("without parts is small: %j", (value) => {
    expect(isSmall(value)).toBe(true);
  });
});

describe("violations", () => {
  const several = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ path: index === 0 ? "" : `/${index}`, message: "is wrong" }));

  test("are reported up to eight, and one more is searched for", () => {
    expect(VIOLATIONS_WANTED).toBe(9);
    expect(boundedViolations(several(9))).toStrictEqual(several(8));
    const eight = `the value is wrong; ${[1, 2, 3, 4, 5, 6, 7].map((index) => `/${index} is wrong`).join("; ")}`;
    expect([describeViolations(several(8)), describeViolations(several(9))]).toStrictEqual([eight, `${eight}; and more`]);
  });

  test("are cut to 200 characters, both path and message", () => {
    expect(boundedViolations([{ path: "p".repeat(201), message: "m".repeat(201) }])).toStrictEqual([
      { path: `${"p".repeat(200)}…`, message: `${"m".repeat(200)}…` },
    ]);
    const kept = [{ path: "p".repeat(200), message: "m".repeat(200) }];
    expect(boundedViolations(kept)).toStrictEqual(kept);
  });
});
