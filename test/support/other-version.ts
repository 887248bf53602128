/** Another version of Parley beside this one, from the history of the repository, with this one's dependencies. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const WORKSPACES = "@parley";

/** Why that commit cannot be run here, such as in a shallow clone; undefined if it can. */
export function lackingHistory(commit: string): string | undefined {
  try {
    execFileSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: ROOT, stdio: "ignore" });
    return undefined;
  } catch {
    return `commit ${commit} is not in this clone; git fetch --unshallow brings it`;
  }
}

export interface OtherVersion {
  /** Where its sources are. */
  readonly root: string;
  remove(): Promise<void>;
}

export async function checkOut(commit: string): Promise<OtherVersion> {
  const root = await realpath(await mkdtemp(join(tmpdir(), `parley-${commit}-`)));
  const archive = execFileSync("git", ["archive", "--format=tar", commit], { cwd: ROOT, maxBuffer: 1 << 30 });
  execFileSync("tar", ["-x", "-C", root], { input: archive });
  await linkDependencies(root, "");
  for (const folder of ["apps", "packages"]) {
    for (const workspace of await readdir(join(root, folder))) await linkDependencies(root, join(folder, workspace));
  }
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}

/** All that is installed here, but its own workspaces in place of ours. */
async function linkDependencies(root: string, workspace: string): Promise<void> {
  const installed = join(ROOT, workspace, "node_modules");
  const names = await readdir(installed).catch(() => []);
  if (names.length === 0) return;
  const target = join(root, workspace, "node_modules");
  await mkdir(target, { recursive: true });
  for (const name of names) {
    if (name === WORKSPACES) await linkWorkspaces(root, join(installed, name), join(target, name));
    else await symlink(join(installed, name), join(target, name));
  }
}

async function linkWorkspaces(root: string, ours: string, theirs: string): Promise<void> {
  await mkdir(theirs, { recursive: true });
  for (const name of await readdir(ours)) await symlink(join(root, relative(ROOT, await realpath(join(ours, name)))), join(theirs, name));
}
