/**
 * Every snippet on the pages for authors is, except for white space, part of a file that is compiled and run. A page therefore cannot show
 * code that no longer works.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

/** Without what a formatter adds when it breaks lines elsewhere. */
const tokens = (code: string) => code.replaceAll(/\s+/g, "").replaceAll(/,(?=[)\]}])/g, "");

describe.each([
  ["writing-tools", ["writing-tools-page.test.ts", "node-test.ts"]],
  ["changing-tools", ["changing-tools-page.test.ts"]],
  ["generator-tools", ["generator-tools.ts"]],
])("docs/%s.md", (page, files) => {
  const source = files.map((file) => tokens(read(file))).join("\n");
  const snippets = [...read(`../../docs/${page}.md`).matchAll(/^```(?:ts|js)\n([\s\S]*?)^```$/gm)].map(([, snippet = ""]) => snippet);

  test("has snippets, and leaves nothing out of them", () => {
    expect(snippets.length).toBeGreaterThan(4);
    for (const snippet of snippets) expect(snippet.replaceAll(/\/\/.*|"…"/g, "")).not.toContain("…");
  });

  test.each(snippets.map((snippet) => [snippet.split("\n", 1)[0] ?? "", snippet]))(
    "is compiled as it stands on the page: %s",
    (_, snippet) => {
      expect(source.includes(tokens(snippet)), `${files.join(" or ")} has it, but for white space`).toBe(true);
    },
  );
});
