import { spawnSync } from "node:child_process";
import { readdirSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { copyTree } from "./copy-tree.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

describe("a copy of the tree", () => {
  let copy: string;
  beforeAll(async () => void (copy = await copyTree()), 60_000);
  afterAll(() => rm(copy, { recursive: true, force: true }));

  test("has its own packages, and every dependency of the tree in the same version", () => {
    expect(realpathSync(join(copy, "node_modules/@parley/core"))).toBe(realpathSync(join(copy, "packages/core")));
    const workspaces = ["packages", "apps"].flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name)));
    const nested = workspaces.filter((workspace) => readdirSync(join(ROOT, workspace)).includes("node_modules"));
    for (const workspace of nested) {
      expect(realpathSync(join(copy, workspace, "node_modules"))).toBe(realpathSync(join(ROOT, workspace, "node_modules")));
    }
  });

  test("loads a front end", () => {
    const loaded = spawnSync(process.execPath, ["-e", 'await import("./apps/server/app.ts")'], { cwd: copy, encoding: "utf8" });
    expect(loaded).toMatchObject({ status: 0, stderr: "" });
  });
});
