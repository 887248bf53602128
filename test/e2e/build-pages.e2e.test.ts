/** The build of the pages beside servers that serve an earlier one, and beside another build: on a copy of its sources. */
import { execFile } from "node:child_process";
import { appendFile, cp, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

test("each build has a place of its own: two at once are one, and what a server serves stays until it is removed", async () => {
  const root = await mkdtemp(join(tmpdir(), "parley-build-"));
  onTestFinished(() => rm(root, { recursive: true }));
  const [web, dist] = [join(root, "apps/web"), join(root, "apps/web/dist")];
  await cp(join(ROOT, "apps/web"), web, { recursive: true, filter: (path) => !["dist", "node_modules"].includes(basename(path)) });
  await cp(join(ROOT, "packages/core/asks"), join(root, "packages/core/asks"), { recursive: true });
  await cp(join(ROOT, "tsconfig.json"), join(root, "tsconfig.json"));
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  const build = async (...args: string[]) => {
    await promisify(execFile)(process.execPath, [join(web, "build.ts"), ...args]);
    return await readFile(join(dist, "current"), "utf8");
  };
  const [first, same] = await Promise.all([build(), build()]);
  expect([same, (await readdir(dist)).toSorted()]).toEqual([first, [first, "current"].toSorted()]);
  const { mtimeMs } = await stat(join(dist, first, "play/index.html"));
  await build();
  expect((await stat(join(dist, first, "play/index.html"))).mtimeMs).toBe(mtimeMs);
  const served = await readdir(join(dist, first, "pages"));
  await appendFile(join(web, "src/pages/main.ts"), "\ndocument.title += '';\n");
  const next = await build();
  expect([next === first, await readdir(join(dist, first, "pages"))]).toEqual([false, served]);
  expect(await readdir(join(dist, next, "pages"))).not.toEqual(served);
  expect([await build("--only"), (await readdir(dist)).toSorted()]).toEqual([next, [next, "current"].toSorted()]);
});
