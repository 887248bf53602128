/** What a Node that is too old says, from each entry point: one sentence, and nothing of what it does not know. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("..", import.meta.url);
const as = (version: string) =>
  `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`)}`;

test.each([
  ["apps/cli/main.ts", "parley"],
  ["packages/create-parley/main.ts", "create-parley"],
])("%s names the version that it needs, and the one that it has", (file, name) => {
  const run = (version: string) => {
    const { status, stderr } = spawnSync(process.execPath, ["--import", as(version), file, "--help"], { cwd: ROOT, encoding: "utf8" });
    return { status, stderr };
  };
  expect(run("20.19.0")).toEqual({ status: 1, stderr: `${name}: needs Node.js 22.22 or newer, and this is 20.19.0\n` });
  expect(run("22.21.9").status).toBe(1);
  expect(run("22.22.0")).toEqual({ status: 0, stderr: "" });
});

test("the version is that of the packages", () => {
  const { engines } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as { engines: { node: string } };
  expect(engines.node).toContain("22.22");
});
