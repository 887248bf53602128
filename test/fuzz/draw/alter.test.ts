import fc from "fast-check";
import { expect, test } from "vitest";
import { altered, alterations, meansTheSame } from "./alter.ts";

const SEALED = "eyJhbGciOiJkaXIifQ..vt1f1Ym0ZLR7bh1K.GkTl2w.Wk3vJ0o5T0aP1qfM2t0q8g";

test("an altered text is different, and never equal by accident", () => {
  const ways = new Set<string>();
  fc.assert(
    fc.property(alterations(), (alteration) => {
      const text = altered(SEALED, alteration);
      if (alteration.how === "none") expect(text).toBe(SEALED);
      else if (text !== SEALED) ways.add(alteration.how);
    }),
    { numRuns: 2_000 },
  );
  expect([...ways].toSorted()).toEqual(
    [
      "another",
      "before",
      "behind",
      "character",
      "cut",
      "encoded",
      "last part dropped",
      "lower case",
      "parts emptied",
      "parts swapped",
      "reversed",
    ].concat(["twice", "upper case", "without"]),
  );
});

test("bits without a meaning are distinguished from those with one", () => {
  // 16 octets are 22 characters, of which the last has two bits that count.
  const tag = "Wk3vJ0o5T0aP1qfM2t0q8g";
  expect(meansTheSame(`a.${tag}`, `a.${tag.slice(0, -1)}h`)).toBe(true);
  expect(meansTheSame(`a.${tag}`, `a.${tag.slice(0, -1)}w`)).toBe(false);
  expect(meansTheSame(`a.${tag}`, `b.${tag}`)).toBe(false);
  expect(meansTheSame(tag, `${tag}.`)).toBe(false);
});
