/** An image tells which commit it was built from: the command of the Dockerfile is run on a copy of what it changes. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const APPS = ["server", "worker", "cli"];
const [, command = ""] = /^RUN (\[ -z "\$PARLEY_REVISION".*)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];

function versionsWith(revision: string): string[] {
  const directory = mkdtempSync(join(tmpdir(), "parley-version-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const app of APPS) cpSync(`apps/${app}/package.json`, join(directory, `apps/${app}/package.json`));
  const { status, stderr } = spawnSync("sh", ["-c", command], { cwd: directory, env: { ...process.env, PARLEY_REVISION: revision } });
  expect([status, String(stderr)]).toEqual([0, ""]);
  return APPS.map((app) => (JSON.parse(readFileSync(join(directory, `apps/${app}/package.json`), "utf8")) as { version: string }).version);
}

const { version } = JSON.parse(readFileSync("apps/server/package.json", "utf8")) as { version: string };

test("an image has the version of its packages, with the commit that it was built from", () => {
  expect(versionsWith("3f1b358e0a2c")).toEqual(APPS.map(() => `${version}+3f1b358e0a2c`));
});

test("an image of a release, and one that is built without a commit, has the version alone", () => {
  expect(versionsWith("")).toEqual(APPS.map(() => version));
});
