/** docs/limits.md agrees with the schemas, and each of its rows names an existing test. */
import { existsSync, readFileSync } from "node:fs";
import { defineTool } from "@parley/sdk";
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { expect, test } from "vitest";

const schemas = { ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape };
const page = readFileSync(new URL("../docs/limits.md", import.meta.url), "utf8");
const table = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| bound |"))
  .map((line) => line.slice(2, -2).split(" | "));
const rows = table.flatMap(([, setting = "", fallback = ""]) => {
  const [, name] = /^`(PARLEY_[A-Z_]+)`$/.exec(setting) ?? [];
  const [, value] = /^`([^`]+)`$/.exec(fallback) ?? [];
  return name === undefined || value === undefined ? [] : [{ name, value }];
});

test("every setting on the page is in one row, with its default", () => {
  const named = [...page.matchAll(/PARLEY_[A-Z_]+/g)].map(([name]) => name);
  expect(rows.map(({ name }) => name)).toEqual(named);
  expect(new Set(named).size).toBe(named.length);
});

test.each(table.map(([bound = "", , , , link = ""]) => [bound, link]))("a test shows what happens at the bound: %s", (_bound, link) => {
  const [, file = "", title = ""] = /^\[test\]\((\S+) "(.+)"\)$/.exec(link) ?? [];
  const url = new URL(`../docs/${file}`, import.meta.url);
  expect(existsSync(url), link).toBe(true);
  expect(file).toMatch(/\.test\.ts$|-contract\.ts$/);
  expect(readFileSync(url, "utf8")).toContain(`"${title}"`);
});

test("every setting that is a bound by its name is on the page", () => {
  const bounds = Object.keys(schemas).filter((name) => name.startsWith("PARLEY_") && /_(MAX|MIN|LIMIT|TIMEOUT)(_|$)/.test(name));
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(bounds));
});

test.each(rows)("$name is $value unless set otherwise", ({ name, value }) => {
  expect(Object.keys(schemas)).toContain(name);
  const schema = schemas[name as keyof typeof schemas];
  expect(schema.parse(value)).toEqual(schema.parse(undefined));
});

test("docs/writing-tools.md repeats some of them as they are", () => {
  const guide = readFileSync(new URL("../docs/writing-tools.md", import.meta.url), "utf8");
  const repeated = [...guide.matchAll(/\| `(PARLEY_[A-Z_]+)` \| ([\d,]+) \|/g)].map(([, name, value = ""]) => ({
    name,
    value: value.replaceAll(",", ""),
  }));
  expect(repeated.length).toBeGreaterThan(4);
  expect(rows).toEqual(expect.arrayContaining(repeated));
});

test("a tool's own bounds are what the page says", () => {
  const { settings } = defineTool({ name: "tool", run: () => "done" });
  expect(settings).toMatchObject({ attempts: 1, runTimeoutMs: 5 * 60_000 });
  expect(page).toContain("| `runTimeout` | 5 minutes |");
  expect(page).toContain("| `attempts` of the tool | 1 |");
});
