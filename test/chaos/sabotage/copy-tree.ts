/** A copy of this tree that may be broken: its own sources, the same dependencies. The working tree is never touched. */
import { cp, mkdir, mkdtemp, readdir, readlink, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../../..");
const COPIED = ["packages", "apps", "test", "bench", "package.json", "tsconfig.json"];

/** Resolves with the copy's directory; the caller removes it. */
export async function copyTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "parley-sabotage-"));
  for (const each of COPIED) {
    await cp(join(ROOT, each), join(copy, each), { recursive: true, filter: (source) => !source.endsWith("/node_modules") });
  }
  const modules = join(copy, "node_modules");
  await mkdir(join(modules, "@parley"), { recursive: true });
  for (const name of await readdir(join(ROOT, "node_modules"))) {
    if (name !== "@parley") await symlink(join(ROOT, "node_modules", name), join(modules, name));
  }
  // Links of a workspace are relative, so that in the copy they lead to the copy's packages.
  const workspaces = join(ROOT, "node_modules/@parley");
  for (const name of await readdir(workspaces)) await symlink(await readlink(join(workspaces, name)), join(modules, "@parley", name));
  return copy;
}
