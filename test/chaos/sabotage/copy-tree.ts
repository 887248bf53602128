/** Copies this tree so that a test can break the copy: its own sources, the same dependencies. The working tree does not change. */
import { cp, mkdir, mkdtemp, readdir, readlink, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../../..");
const COPIED = ["packages", "apps", "test", "bench", "package.json", "tsconfig.json"];

/** Returns the directory of the copy; the caller removes it. */
export async function copyTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "parley-sabotage-"));
  for (const each of COPIED) {
    const nested: string[] = [];
    await cp(join(ROOT, each), join(copy, each), {
      recursive: true,
      filter(source) {
        const isNested = source.endsWith("/node_modules");
        if (isNested) nested.push(source);
        return !isNested;
      },
    });
    // A workspace keeps the versions of its own that the root cannot hold.
    for (const source of nested) await symlink(source, join(copy, relative(ROOT, source)));
  }
  const modules = join(copy, "node_modules");
  await mkdir(join(modules, "@parley"), { recursive: true });
  for (const name of await readdir(join(ROOT, "node_modules"))) {
    if (name !== "@parley") await symlink(join(ROOT, "node_modules", name), join(modules, name));
  }
  // The links of workspaces are relative, so in the copy they point to the packages of the copy.
  const workspaces = join(ROOT, "node_modules/@parley");
  for (const name of await readdir(workspaces)) await symlink(await readlink(join(workspaces, name)), join(modules, "@parley", name));
  return copy;
}
