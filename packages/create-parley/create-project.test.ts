import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createProject } from "./create-project.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "create-parley-"));
});
afterEach(() => rm(directory, { recursive: true }));

const files = async (path: string) => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .toSorted();
};
const read = (path: string) => readFile(path, "utf8");

describe("a new project", () => {
  test("has a tool, its test, and what is needed to run it", async () => {
    const target = join(directory, "My Tools");
    expect(await createProject(target, { language: "ts" })).toEqual({ name: "my-tools" });
    expect(await files(target)).toEqual([
      ".dockerignore",
      ".gitignore",
      ".mcp.json",
      ".npmrc",
      "Dockerfile",
      "README.md",
      "package.json",
      "tests/book-meeting.test.ts",
      "tools/book-meeting.ts",
      "tools/index.ts",
      "tsconfig.json",
    ]);
    for (const file of await files(target)) expect(await read(join(target, file))).not.toContain("{{");
    expect(JSON.parse(await read(join(target, "package.json")))).toMatchObject({
      name: "my-tools",
      parley: { tools: "./tools/index.ts" },
      dependencies: { "@parley/sdk": "0.1.0" },
    });
  });

  test("in JavaScript has the same files without TypeScript, and no name of a TypeScript file is left", async () => {
    const target = join(directory, "tools");
    await createProject(target, { language: "js" });
    const found = await files(target);
    expect(found).toContain("tools/book-meeting.js");
    expect(found.filter((file) => file.endsWith(".ts") || file === "tsconfig.json")).toEqual([]);
    for (const file of found) expect(await read(join(target, file))).not.toMatch(/\.ts\b|tsc /);
  });

  test("may be in a new repository", async () => {
    const target = join(directory, "tools");
    await mkdir(join(target, ".git"), { recursive: true });
    await createProject(target, { language: "ts" });
    expect(await files(target)).toContain("package.json");
  });

  test("overwrites nothing", async () => {
    await writeFile(join(directory, "mine.txt"), "mine");
    await expect(createProject(directory, { language: "ts" })).rejects.toThrow(
      /is not empty \(it holds mine\.txt\); choose another directory/,
    );
    expect(await files(directory)).toEqual(["mine.txt"]);
  });

  test("is refused under a name that npm would refuse, before anything is written", async () => {
    await expect(createProject(join(directory, "töols!"), { language: "ts" })).rejects.toThrow(/cannot be the name of a package/);
    expect(await files(directory)).toEqual([]);
  });
});
