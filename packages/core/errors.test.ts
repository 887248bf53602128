import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERRORS, ParleyError, resourceNotFound } from "./errors.ts";
import { describeViolations } from "./schema-violation.ts";

test("docs/errors.md lists the catalogue, code by code, with the same hint", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const listed = [...page.matchAll(/^\| `([A-Z_]+)` \| (.+) \| .+ \|$/gm)].map(([, code, hint]) => [code, hint]);
  expect(listed).toEqual(Object.entries(ERRORS));
});

test("an error of any kind holds so much and no more", () => {
  const message = (length: number) => new ParleyError("NOT_OPEN", "x".repeat(length)).message;
  expect(message(4_000)).toBe("x".repeat(4_000));
  expect(message(4_001)).toBe(`${"x".repeat(4_000)}…`);

  const violation = (length: number) => ({ path: `/${"p".repeat(length - 1)}`, message: "m".repeat(length) });
  const told = (violations: Parameters<typeof describeViolations>[0]) => new ParleyError("INVALID_ANSWER", "", { violations }).violations;
  expect(told(Array(8).fill(violation(200)))).toEqual(Array(8).fill(violation(200)));
  expect(told(Array(9).fill(violation(200)))).toHaveLength(8);
  expect(told([violation(201)])).toEqual([{ path: `${violation(200).path}…`, message: `${violation(200).message}…` }]);

  const { data } = resourceNotFound("no resource of that uri", `test://${"x".repeat(1_994)}`);
  expect(data).toEqual({ uri: `test://${"x".repeat(1_993)}…` });
});

test("violations are described on one line, with a word for those that are left out", () => {
  expect(describeViolations([])).toBe("");
  expect(describeViolations([{ path: "", message: "must be an object" }])).toBe("the value must be an object");
  const wrong = Array.from({ length: 9 }, (_, index) => ({ path: `/${index}`, message: "is wrong" }));
  expect(describeViolations(wrong.slice(1))).toBe([1, 2, 3, 4, 5, 6, 7, 8].map((index) => `/${index} is wrong`).join("; "));
  expect(describeViolations(wrong)).toBe(`${[0, 1, 2, 3, 4, 5, 6, 7].map((index) => `/${index} is wrong`).join("; ")}; and more`);
});
