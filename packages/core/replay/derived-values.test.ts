/** Derived random values must stay the same across releases, because waiting tasks have already used them. */
import { sha256Digest } from "@parley/node";
import { expect, test } from "vitest";
import { derivedRandom, derivedUuid } from "./derived-values.ts";

test("a seed and an id always give the same number and uuid", () => {
  expect(derivedRandom(sha256Digest, "seed", "random:random")).toBe(0.3681617773987318);
  expect(derivedRandom(sha256Digest, "seed", "random:random#2")).toBe(0.040996177178695414);
  expect(derivedUuid(sha256Digest, "seed", "uuid:uuid")).toBe("cf5239e2-929b-41be-aed1-06b12d1a1484");
  expect(derivedUuid(sha256Digest, "other seed", "uuid:uuid")).toBe("78a1fabc-c5a2-4270-a7ed-2bc4bbc79b02");
});

test("a number is the leading 53 bits of the digest, a uuid its leading 128 except for version and variant", () => {
  const digest = (letters: string) => () => letters.padEnd(22, "A");
  expect(derivedRandom(digest(""), "", "")).toBe(0);
  expect(derivedRandom(() => "_".repeat(22), "", "")).toBe(1 - 2 ** -53);
  // "g" is 32: the first of six bits.
  expect(derivedRandom(digest("g"), "", "")).toBe(0.5);
  // The ninth letter gives its first five bits: "C" is 2, of which 1 is left; "B" is 1, of which nothing is.
  expect(derivedRandom(digest("AAAAAAAAC"), "", "")).toBe(2 ** -53);
  expect(derivedRandom(digest("AAAAAAAAB"), "", "")).toBe(0);
  expect(derivedUuid(digest(""), "", "")).toBe("00000000-0000-4000-8000-000000000000");
  expect(derivedUuid(() => "_".repeat(22), "", "")).toBe("ffffffff-ffff-4fff-bfff-ffffffffffff");
  const uuid = derivedUuid(() => "ABCDEFGHIJKLMNOPQRSTUV", "", "");
  expect(uuid).toBe("00108310-5187-4092-8b30-d38f41149351");
});
