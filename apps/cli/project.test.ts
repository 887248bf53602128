import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { projectTools } from "./project.ts";

const root = mkdtempSync(join(tmpdir(), "parley-project-"));
afterAll(() => rmSync(root, { recursive: true }));

function project(content: unknown): string {
  const directory = mkdtempSync(join(root, "a"));
  writeFileSync(join(directory, "package.json"), typeof content === "string" ? content : JSON.stringify(content));
  return directory;
}

test.each<[unknown, string]>([
  ["./tools/index.ts", "./tools/index.ts"],
  ["tools.mjs", "./tools.mjs"],
  [["./a.ts", "@acme/tools"], "./a.ts,@acme/tools"],
])("a project names its tools as %j", (tools, read) => {
  expect(projectTools(project({ parley: { tools } }))).toBe(read);
});

test("a folder of a project has the tools of the project", () => {
  const directory = project({ parley: { tools: "./tools.ts" } });
  mkdirSync(join(directory, "src/deep"), { recursive: true });
  expect(projectTools(join(directory, "src/deep"))).toBe("../../tools.ts");
});

test.each(["not json", "null", {}, { parley: null }, { parley: {} }, { parley: { other: 1 } }])(
  "a project without tools names none: %j",
  (content) => {
    expect(projectTools(project(content))).toBeUndefined();
  },
);

test.each([7, "", [], ["a", 7], "./a,b.ts", {}])("what is no module is refused, by the name of its file: %j", (tools) => {
  const directory = project({ parley: { tools } });
  expect(() => projectTools(directory)).toThrow(
    `${join(directory, "package.json")}: "parley.tools" must be a module such as "./tools.ts", or a list of them`,
  );
});
