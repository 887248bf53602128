/** CONTRIBUTING's ten questions and its walks lead somewhere: each path exists, and exports the symbol that is named behind it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const SECTIONS = ["Ten questions", "Where a new thing goes"];
const sections = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8")
  .split("\n## ")
  .map((section) => section.split("\n"))
  .filter(([title = ""]) => SECTIONS.includes(title));
const text = sections.flat().join("\n");

/** `path`, and the symbol in brackets behind it, if there is one. */
const steps = [...text.matchAll(/`((?:apps|packages|docs|test)\/[^`\s]+)`(?:\s*\(`(\w+)`\))?/g)].map(([, path = "", symbol]) => ({
  path,
  symbol,
}));

test("the walks name enough to be walked", () => {
  expect(sections.map(([title]) => title)).toEqual(SECTIONS);
  expect(steps.length).toBeGreaterThan(15);
  expect(steps.filter(({ symbol }) => symbol !== undefined).length).toBeGreaterThan(10);
});

test.each(steps)("$path is there, and exports $symbol", ({ path, symbol }) => {
  expect(existsSync(join(ROOT, path)), path).toBe(true);
  if (symbol === undefined) return;
  const source = readFileSync(join(ROOT, path), "utf8");
  expect(source).toMatch(new RegExp(`export (async )?(const|function|interface|type|class) ${symbol}\\b`));
});

test("there are ten questions, and each names a file", () => {
  const questions = (sections[0] ?? []).filter((line) => /^\| .*\?/.test(line));
  expect(questions.length).toBe(10);
  for (const question of questions) expect(question).toMatch(/`(apps|packages)\/[^`]+\.\w+`/);
});
