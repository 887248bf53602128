import { expect, test } from "vitest";
import { subjectOf } from "./token-subject.ts";

const jwt = (claims: object) => `e30.${btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}.c2ln`;

test("a renewed token names the same person, and a token of another person or provider does not", () => {
  const ann = { iss: "https://id.example", sub: "ann?>~", exp: 1 };
  expect(subjectOf(jwt(ann))).toBe(subjectOf(jwt({ ...ann, exp: 2 })));
  expect(subjectOf(jwt(ann))).not.toBe(subjectOf(jwt({ ...ann, sub: "bob" })));
  expect(subjectOf(jwt(ann))).not.toBe(subjectOf(jwt({ ...ann, iss: "https://other.example" })));
});

test("other tokens name nobody", () => {
  for (const token of ["", "parley_key", "a.b.c", jwt({ iss: "https://id.example" })]) expect(subjectOf(token)).toBeUndefined();
});
