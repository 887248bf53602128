import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { waitForRedis } from "./connect.ts";
import { type EmbeddedRedis, startEmbeddedRedis } from "./embedded.ts";

describe("waiting for a suitable Redis", () => {
  const messages: string[] = [];
  const write = (_fields: object, message: string) => void messages.push(message);
  const log = { debug: write, info: write, warn: write, error: write };
  const wait = (url: string, options: { startTimeoutMs?: number; allowEviction?: boolean; replicas?: number } = {}) =>
    waitForRedis({ url, startTimeoutMs: 300, allowEviction: false, replicas: 0, log, ...options });

  let dataDir: string;
  let embedded: EmbeddedRedis;
  let admin: Redis;
  let stub: Server | undefined;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "parley-connect-"));
    embedded = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    admin = new Redis(embedded.url);
  });
  afterEach(() => {
    stub?.close();
    stub = undefined;
    messages.length = 0;
  });
  afterAll(async () => {
    admin.disconnect();
    await embedded.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  /** A server that answers INFO with `info` and everything else with OK. */
  async function serve(info: string, port = 0): Promise<string> {
    stub = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        for (const command of chunk.toString().split(/(?=\*\d+\r\n)/)) {
          socket.write(/\r\ninfo\r\n/i.test(command) ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n");
        }
      });
    }).listen(port, "127.0.0.1");
    await once(stub, "listening");
    const address = stub.address();
    return `redis://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }

  test("a sound server is accepted", async () => {
    await wait(embedded.url);
    expect(messages).toEqual(["redis is fit"]);
  });

  test("a server that may evict keys is refused with advice, unless the operator accepts the risk", async () => {
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");
    try {
      await expect(wait(embedded.url)).rejects.toThrow(
        /maxmemory-policy is allkeys-lru.*CONFIG SET maxmemory-policy noeviction.*PARLEY_ALLOW_EVICTION=true/,
      );
      await wait(embedded.url, { allowEviction: true });
      expect(messages).toContain("redis may evict tasks");
    } finally {
      await admin.config("SET", "maxmemory-policy", "noeviction");
    }
  });

  test("a server with fewer replicas than configured is accepted and logged; a cluster with replicas to wait for is refused", async () => {
    await wait(embedded.url, { replicas: 1 });
    expect(messages).toEqual(["redis has too few replicas", "redis is fit"]);
    await expect(wait("redis-cluster://127.0.0.1:1", { replicas: 1 })).rejects.toThrow("PARLEY_REDIS_REPLICAS is not for a cluster");
  });

  test("a server that is too old is refused with its version and the required one", async () => {
    const url = await serve("redis_version:6.0.16\r\nmaxmemory_policy:noeviction\r\n");

    await expect(wait(url)).rejects.toThrow("it has version 6.0.16; Parley needs Redis 6.2 or newer, or Valkey");
  });

  test("a server that starts late, or is still loading, is waited for", async () => {
    const url = await serve("redis_version:7.2.4\r\nloading:1\r\n");
    const port = Number(new URL(url).port);
    const fit = wait(url, { startTimeoutMs: 10_000 });
    await expect.poll(() => messages).toEqual(["waiting for redis"]);
    stub?.close();
    await serve("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nloading:0\r\n", port);

    await fit;
    expect(messages).toEqual(["waiting for redis", "redis is fit"]);
  });

  test("a server that does not start is given up with the address, the time and the cause", async () => {
    const url = await serve("");
    stub?.close();

    await expect(wait(url)).rejects.toThrow(
      /^Redis at redis:\/\/127\.0\.0\.1:\d+: no answer within 300 ms \(connect ECONNREFUSED.*REDIS_URL/,
    );
  });

  test("a wrong password is reported at once and not shown", async () => {
    const url = new URL(embedded.url);
    url.password = "not-the-password";

    const refused = await wait(url.href, { startTimeoutMs: 60_000 }).catch((error: unknown) => String(error));

    expect(refused).toMatch(/WRONGPASS.*Check user and password in REDIS_URL/);
    expect(refused).not.toContain("not-the-password");
  });
});
