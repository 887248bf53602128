/**
 * deploy/restore.sh with a backup that cannot be restored. It runs here as it is, with a real Redis; only `docker compose` is replaced, by a
 * command that notes what it is told and runs on this machine what would run in the container. test/compose/run.ts restores in containers.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const SCRIPT = resolve(import.meta.dirname, "../../deploy/restore.sh");

/** Everything but the folders is as in the container. */
const COMPOSE = `#!/bin/sh
shift 2
echo "$1" >> "$FOLDER/told"
[ "$1" = run ] || exit 0
for last; do :; done
exec sh -euc "$(printf %s "$last" | sed "s#/tmp/#$FOLDER/tmp/#g; s# /data# $FOLDER/data#g")"
`;

const hasTools = ["redis-server", "redis-cli", "redis-check-rdb"].every((tool) => spawnSync(tool, ["--version"]).error === undefined);
if (!hasTools) console.log("restore.redis.test.ts skipped: no Redis with its tools here; apt-get install redis-server");

let folder: string;
const at = (...path: readonly string[]) => join(folder, ...path);
const command = (path: string, text: string) => {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
};

describe.skipIf(!hasTools)("deploy/restore.sh", () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-restore-"));
    for (const each of ["data/appendonlydir", "tmp", "first"]) mkdirSync(at(each), { recursive: true });
    writeFileSync(at("data/appendonlydir/previous"), "data");
    command(at("compose"), COMPOSE);
    // A backup with one key.
    const server = `redis-server --port 0 --unixsocket ${at("s")} --dir ${folder} --dbfilename good.rdb --save ""`;
    const set = `redis-cli -s ${at("s")} set key ${"value".repeat(50)}`;
    const save = `until ${set}; do sleep 0.1; done; redis-cli -s ${at("s")} save`;
    execFileSync("sh", ["-euc", `${server} > /dev/null & trap 'kill $!' EXIT; ${save}`], { stdio: "pipe" });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function restore(file: string) {
    const env = { ...process.env, FOLDER: folder, COMPOSE: at("compose"), PATH: [at("first"), process.env["PATH"]].join(delimiter) };
    const { status, stdout, stderr } = spawnSync(SCRIPT, [file], { env, encoding: "utf8", timeout: 60_000 });
    return { status, says: stdout + stderr, told: readFileSync(at("told"), "utf8").trim().split("\n") };
  }

  test("a backup replaces the data, which is kept beside it", () => {
    const { status, says, told } = restore(at("good.rdb"));
    expect([status, says, told]).toEqual([0, "1 keys restored\n", ["run", "stop", "run", "up"]]);
    expect(existsSync(at("data/before-restore/previous"))).toBe(false);
    expect(readFileSync(at("data/before-restore/appendonlydir/previous"), "utf8")).toBe("data");
    expect(existsSync(at("data/appendonlydir/appendonly.aof.manifest"))).toBe(true);
  });

  test("a backup that was cut off is refused before anything stops", () => {
    const whole = readFileSync(at("good.rdb"));
    writeFileSync(at("cut.rdb"), whole.subarray(0, whole.length - 100));
    const { status, says, told } = restore(at("cut.rdb"));
    expect([status, told]).toEqual([1, ["run"]]);
    expect(says).toContain("Unexpected EOF reading RDB file");
    expect(says).toContain(`${at("cut.rdb")} is damaged, or was made by a newer Redis; nothing was changed`);
    expect(readFileSync(at("data/appendonlydir/previous"), "utf8")).toBe("data");
    expect(existsSync(at("data/restore.rdb"))).toBe(false);
  });

  test("if Redis does not load a backup, the previous data is put back and served", () => {
    command(at("first/redis-server"), "#!/bin/sh\necho 'Out of memory'\nexit 1\n");
    const { status, says, told } = restore(at("good.rdb"));
    expect([status, told]).toEqual([1, ["run", "stop", "run", "up"]]);
    expect(says).toContain("Out of memory");
    expect(says).toContain(`Redis did not load ${at("good.rdb")}; the previous data is back`);
    expect(readFileSync(at("data/appendonlydir/previous"), "utf8")).toBe("data");
    expect(existsSync(at("data/restore.rdb"))).toBe(false);
  });
});
