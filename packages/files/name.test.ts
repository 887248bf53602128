import { expect, test } from "vitest";
import { cpuMs } from "../../test/support/cpu-ms.ts";
import { fileName } from "./name.ts";

/** As much as a browser's form may say of a name. */
const CHARS = 80_000;

test.each([
  ["points", `a${".".repeat(CHARS)}b.png`],
  ["marks, whose order is to be found", `a${"\u0301\u0316".repeat(CHARS / 2)}.png`],
  ["folders", `${"x/".repeat(CHARS / 2)}a.png`],
])("a name that is full of %s is cleaned at once, and keeps its ending", async (_what, given) => {
  let name = "";
  expect(await cpuMs(() => (name = fileName(given)))).toBeLessThan(100);
  expect(name).toMatch(/\.png$/);
  expect(Array.from(name).length).toBeLessThanOrEqual(200);
});

test("a name that is cut within a character is still text", () => {
  const name = fileName("\u{1F600}".repeat(1_000));
  expect(name.isWellFormed()).toBe(true);
});
