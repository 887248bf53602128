import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openTestRedis } from "../../../test/support/redis.ts";
import { openConnection, openForOnce, openNodeConnection, waitForRedis } from "./connect.ts";
import { type EmbeddedRedis, startEmbeddedRedis } from "../embedded/embedded.ts";
import { inspectRedis } from "../tasks/inspect.ts";

describe("waiting for a suitable Redis", () => {
  const messages: string[] = [];
  const lines: [level: string, fields: object, message: string][] = [];
  const at = (level: string) => (fields: object, message: string) => {
    messages.push(message);
    lines.push([level, fields, message]);
  };
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
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
    lines.length = 0;
  });
  afterAll(async () => {
    admin.disconnect();
    await embedded.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  let probes = 0;

  /** A server that answers INFO with `info` and everything else with OK. */
  async function serve(info: string, port = 0): Promise<string> {
    stub = createServer((socket) => {
      probes += 1;
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

  test("a sound server is accepted, and no connection to it stays", async () => {
    const clients = async () => [...String(await admin.client("LIST")).matchAll(/^id=(\d+)/gm)].map(([, id]) => id);
    const before = await clients();
    await wait(embedded.url);
    expect(messages).toEqual(["redis is suitable"]);
    // Not by their number: one that was there before may still be closing.
    await expect.poll(async () => (await clients()).filter((id) => !before.includes(id))).toEqual([]);
  });

  test.each([
    ["redis_version:6.2.0\r\n", "6.2.0"],
    ["redis_version:7.0.15", "7.0.15"],
    // A replica that serves while it loads what its master has.
    ["redis_version:7.0.15\r\nasync_loading:1", "7.0.15"],
    ["redis_version:10.1.0\r\nvalkey_version:11.0.1\r\nmaxmemory_policy:noeviction\r\n", "11.0.1"],
  ])("a server is logged with its version and without its password: %j", async (info, version) => {
    const url = new URL(await serve(info));
    url.password = "secret";
    await wait(url.href);
    expect(lines).toStrictEqual([["info", { redis: `redis://${url.host}`, version }, "redis is suitable"]]);
  });

  test("a server is inspected by what it says: a Valkey is one, and what it leaves out has its default", async () => {
    const defaults = { recent: false, maxmemoryPolicy: "noeviction", appendOnly: false, usedMemoryBytes: 0, maxmemoryBytes: 0 };
    expect(await inspectRedis(await serve("valkey_version:8.1.0\r\n"), "parley")).toMatchObject({ version: "Valkey 8.1.0", ...defaults });
    expect(await inspectRedis(await serve("used_memory:7\r\n"), "parley")).toMatchObject({ version: "Redis 0", usedMemoryBytes: 7 });
  });

  test("a single server behind the address of a Cluster is refused, and inspected as such", async () => {
    const url = embedded.url.replace("redis://", "redis-cluster://");
    await expect(wait(url)).rejects.toThrow(
      /: it is not a Cluster\. Use redis:\/\/ for a single server, redis-sentinel:\/\/ with Sentinel$/,
    );
    expect(await inspectRedis(url, "parley")).toMatchObject({ mode: "no cluster", isCluster: false, replicas: 0 });
    // The first node is away.
    expect(await inspectRedis(url.replace("@", "@127.0.0.1:1,"), "parley")).toMatchObject({ mode: "no cluster" });
    expect(await inspectRedis(embedded.url, "parley")).toMatchObject({ mode: "fits" });
    expect(await inspectRedis(await serve("cluster_enabled:1\r\n"), "parley")).toMatchObject({ mode: "node", isCluster: true });
  });

  test.each(["6.1.99", "5.9.0", "0"])("a server of version %s is too old", async (version) => {
    const url = await serve(version === "0" ? "nothing:1\r\n" : `redis_version:${version}\r\n`);
    await expect(wait(url)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `Redis at ${url}: it has version ${version}; Parley needs Redis 6.2 or newer, or Valkey`,
    });
  });

  test("a server that may evict keys is refused with advice, unless the operator accepts the risk", async () => {
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");
    try {
      await expect(wait(embedded.url)).rejects.toThrow(
        /maxmemory-policy is allkeys-lru.*CONFIG SET maxmemory-policy noeviction.*PARLEY_ALLOW_EVICTION=true/,
      );
      await wait(embedded.url, { allowEviction: true });
      expect(lines[0]).toStrictEqual([
        "warn",
        { redis: expect.stringMatching(/^redis:\/\/127\.0\.0\.1:\d+$/), policy: "allkeys-lru" },
        "redis may evict tasks",
      ]);
    } finally {
      await admin.config("SET", "maxmemory-policy", "noeviction");
    }
  });

  test("a server with fewer replicas than configured is accepted and logged; a cluster with replicas to wait for is refused", async () => {
    await wait(embedded.url, { replicas: 1 });
    expect(messages).toEqual(["redis has too few replicas", "redis is suitable"]);
    expect(lines[0]).toMatchObject(["warn", { replicas: 1, connected: 0 }, "redis has too few replicas"]);
    const url = await serve("redis_version:7.2.4\r\nconnected_slaves:2\r\n");
    await wait(url, { replicas: 2 });
    await wait(url, { replicas: 3 });
    expect(lines.slice(2)).toMatchObject([
      ["info", {}, "redis is suitable"],
      ["warn", { redis: url, replicas: 3, connected: 2 }, "redis has too few replicas"],
      ["info", {}, "redis is suitable"],
    ]);
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
    const before = probes;
    await expect.poll(() => probes).toBeGreaterThan(before + 2);
    expect(lines).toStrictEqual([["info", { redis: url, error: "it is still loading its data" }, "waiting for redis"]]);
    stub?.close();
    await serve("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nloading:0\r\n", port);

    await fit;
    expect(messages).toEqual(["waiting for redis", "redis is suitable"]);
  });

  test("a server that does not start is given up with the address, the time and the cause", async () => {
    const url = await serve("");
    stub?.close();

    await expect(wait(url)).rejects.toThrow(
      /^Redis at redis:\/\/127\.0\.0\.1:\d+: no answer within 300 ms \(connect ECONNREFUSED.*REDIS_URL/,
    );
  });

  test("any node of a cluster answers for all, and a cluster of which none does is given up", async () => {
    const { host } = new URL(await serve("redis_version:7.2.4\r\n"));
    for (const nodes of [`127.0.0.1:1,${host}`, `${host},127.0.0.1:1`]) await wait(`redis-cluster://${nodes}`);
    expect(messages).toEqual(["redis is suitable", "redis is suitable"]);
    await expect(wait("redis-cluster://127.0.0.1:1", { startTimeoutMs: 1 })).rejects.toThrow(
      /no answer within 1 ms \(connect ECONNREFUSED/,
    );
  });

  test("an address that is none is refused", async () => {
    await expect(wait("localhost:6379")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "REDIS_URL is not a valid Redis address",
    });
  });

  test("a missing password, and a user who may not read INFO, are reported at once", async () => {
    const open = new URL(embedded.url);
    open.password = "";
    await expect(wait(open.href, { startTimeoutMs: 60_000 })).rejects.toThrow(/NOAUTH.*\. Check user, password and database in REDIS_URL$/);
    await admin.call("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", "-info");
    const limited = new URL(embedded.url);
    [limited.username, limited.password] = ["limited", "secret"];
    await expect(wait(limited.href, { startTimeoutMs: 60_000 })).rejects.toThrow(
      /NOPERM.*\. Check user, password and database in REDIS_URL$/,
    );
    expect(messages).toEqual([]);
  });

  test.each([
    ["that does not exist", "/99", /ERR DB index is out of range\. Check user, password and database in REDIS_URL$/],
    ["that the user may not select", "/3", /NOPERM.*'select'.*\. Check user, password and database in REDIS_URL$/],
  ])(
    "a database %s is reported at once: database 0, which the connection is on, may be another deployment's",
    async (_which, path, says) => {
      await admin.call("ACL", "SETUSER", "unselecting", "on", ">secret", "~*", "&*", "+@all", "-select");
      const url = new URL(embedded.url);
      if (path === "/3") [url.username, url.password] = ["unselecting", "secret"];
      url.pathname = path;
      await expect(wait(url.href, { startTimeoutMs: 60_000 })).rejects.toThrow(says);
      await expect(inspectRedis(url.href, "parley")).rejects.toThrow(/^(ERR DB index|NOPERM)/);
      expect(messages).toEqual([]);
    },
  );

  test.each(["role:slave\r\nslave_read_only:0", "role:slave\r\nslave_read_only:1\r\ncluster_enabled:1"])(
    "a replica that accepts writes is accepted, and so is one of a cluster, where commands go to the master of their key: %j",
    async (what) => {
      await wait(await serve(`redis_version:7.0.15\r\n${what}\r\n`));
      expect(messages).toEqual(["redis is suitable"]);
    },
  );

  test("a replica that refuses writes is waited for, and then refused with advice", async () => {
    const replica = "redis_version:7.0.15\r\nrole:slave\r\nslave_read_only:1\r\n";
    const url = await serve(replica);
    // A busy machine may take longer than 300 ms for the first look, and a second one follows.
    await expect(wait(url, { startTimeoutMs: 2_000 })).rejects.toThrow(/it is a replica and refuses writes; name its master/);
    expect(messages).toEqual(["waiting for redis"]);
    expect(await inspectRedis(url, "parley")).toMatchObject({ readOnly: true });
  });

  test("a wrong password is reported at once and not shown", async () => {
    const url = new URL(embedded.url);
    url.password = "not-the-password";

    const refused = await wait(url.href, { startTimeoutMs: 60_000 }).catch((error: unknown) => String(error));

    expect(refused).toMatch(/WRONGPASS.*Check user, password and database in REDIS_URL/);
    expect(refused).not.toContain("not-the-password");
  });
});

describe("a connection", () => {
  test("has a name on the server, and says when it is in trouble", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-connection-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const warned: unknown[][] = [];
    const log = { debug() {}, info() {}, warn: (...line: unknown[]) => void warned.push(line), error() {} };
    const redis = openConnection(server.url, { log, name: "commands", options: { maxRetriesPerRequest: null } });
    expect(await redis.client("GETNAME")).toBe("parley-commands");
    expect(redis.options.keepAlive).toBe(10_000);
    expect(warned).toEqual([]);

    await server.close();
    await expect.poll(() => warned.length).toBeGreaterThan(0);
    expect(warned[0]).toStrictEqual([
      { connection: "commands", error: expect.stringMatching(/ECONNREFUSED/) },
      "redis connection in trouble",
    ]);
    redis.disconnect();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  test("reconnects to a server that has become a replica, and sends its command again, until it is a master", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-connection-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const redis = openConnection(server.url, { log, name: "commands", options: { maxRetriesPerRequest: null } });
    const admin = new Redis(server.url);
    await redis.set("k", "1");
    const id = () => redis.client("ID");
    const before = await id();
    // Other errors leave it as it is.
    await expect(redis.lpush("k", "1")).rejects.toThrow(/^WRONGTYPE/);
    expect(await id()).toBe(before);
    await admin.replicaof("127.0.0.1", "1");
    const set = redis.set("k", "2");
    await expect.poll(async () => Number((await admin.info("stats")).match(/total_connections_received:(\d+)/)?.[1])).toBeGreaterThan(2);
    await admin.replicaof("NO", "ONE");
    expect(await set).toBe("OK");
    expect(await id()).not.toBe(before);
    for (const each of [redis, admin]) each.disconnect();
    await server.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  test("sends the commands of one turn of the event loop in one write", async () => {
    const { url, redis: admin, close } = openTestRedis();
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const redis = openConnection(url, { log, name: "commands", options: { maxRetriesPerRequest: null } });
    await redis.ping();
    const [cork, uncork] = [vi.spyOn(redis.stream, "cork"), vi.spyOn(redis.stream, "uncork")];
    await Promise.all([redis.ping(), redis.ping(), redis.ping()]);
    expect([cork.mock.calls.length, uncork.mock.calls.length]).toEqual([1, 1]);
    await redis.ping();
    expect([cork.mock.calls.length, uncork.mock.calls.length]).toEqual([2, 2]);
    expect(await admin.ping()).toBe("PONG");
    redis.disconnect();
    await close();
  });

  test("drops commands that timed out while its server was away, and does not send them when it is back", async () => {
    let gets = 0;
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("data", (chunk) => {
        for (const command of chunk.toString().split(/(?=\*\d+\r\n)/)) {
          if (/\r\nget\r\n/.test(command)) gets += 1;
          socket.write(/\r\ninfo\r\n/.test(command) ? "$19\r\nredis_version:7.2.0\r\n" : "+OK\r\n");
        }
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const options = { maxRetriesPerRequest: null, commandTimeout: 200 };
    const redis = openConnection(`redis://127.0.0.1:${port}`, { log, name: "commands", options });
    for (let round = 0; round < 5; round += 1) {
      const sent = await Promise.allSettled(Array.from({ length: 600 }, () => redis.get("k")));
      expect(sent.every(({ status }) => status === "rejected")).toBe(true);
    }

    const { offlineQueue } = redis as unknown as { readonly offlineQueue: { readonly length: number } };
    expect(offlineQueue.length).toBeLessThanOrEqual(1_001);

    server.listen(port, "127.0.0.1");
    // An attempt that was refused just before may still be reported, and `once` of Node.js would throw it.
    await new Promise((resolve) => redis.once("ready", resolve));
    expect(await redis.get("k")).toBe("OK");
    expect(gets).toBe(1);
    redis.disconnect();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  test("to a server that hangs with its connections open is opened again, and commands that timed out are not sent", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-connection-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const warned: string[] = [];
    const log = { debug() {}, info() {}, warn: (fields: { error?: string }) => void warned.push(String(fields.error)), error() {} };
    const options = { maxRetriesPerRequest: null, commandTimeout: 300, socketTimeout: 300 };
    const redis = openConnection(server.url, { log, name: "commands", options });
    const manyTimeOut = async (send: () => Promise<unknown>) => {
      const sent = await Promise.allSettled(Array.from({ length: 600 }, send));
      expect(sent.every(({ status }) => status === "rejected")).toBe(true);
    };
    const [pid] = /(?<=process_id:)\d+/.exec(await redis.info("server")) ?? [];
    process.kill(Number(pid), "SIGSTOP");
    try {
      await manyTimeOut(() => redis.get("k"));
      // Its timer and those of the commands end in the same moment, in any order.
      await expect.poll(() => redis.status).not.toBe("ready");
      for (let round = 0; round < 4; round += 1) await manyTimeOut(() => redis.strlen("k"));
      expect(redis.status).not.toBe("ready");
      expect(warned[0]).toMatch(/^Socket timeout/);
    } finally {
      process.kill(Number(pid), "SIGCONT");
    }
    await expect.poll(() => redis.exists("k").catch(() => "away")).toBe(0);
    const stats = await redis.info("commandstats");
    const received = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    // What was sent before the connection was given up may have been received, but is not sent again.
    expect(received("get")).toBeLessThanOrEqual(600);
    expect(received("strlen")).toBe(0);
    redis.disconnect();
    await server.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  test("to any node of a cluster, or to one of them, logs in as the address says, and is to the next node while one is away", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-connection-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const { password, host, port } = new URL(server.url);
    const warned: unknown[][] = [];
    const log = { debug() {}, info() {}, warn: (...line: unknown[]) => void warned.push(line), error() {} };
    const url = `redis-cluster://:${password}@127.0.0.1:1,${host}`;
    const any = openConnection(url, { log, name: "subscriptions", options: { maxRetriesPerRequest: null, anyNode: true } });
    const node = openNodeConnection(url, { node: { host: "127.0.0.1", port: Number(port) }, log, name: "node", socketTimeout: 5_000 });
    expect(await Promise.all([any.client("GETNAME"), node.client("GETNAME")])).toEqual(["parley-subscriptions", "parley-node"]);
    expect(node.options).toMatchObject({ autoResubscribe: false, socketTimeout: 5_000, keepAlive: 10_000 });
    any.disconnect();
    await server.close();
    const trouble = [{ connection: "node", error: expect.stringMatching(/ECONNREFUSED/) }, "redis connection in trouble"];
    await expect.poll(() => warned).toContainEqual(trouble);
    expect([1, 3, 100].map((times) => node.options.retryStrategy?.(times))).toEqual([50, 150, 1_000]);
    node.disconnect();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  test("to all nodes of a cluster logs in as the address says, on each", () => {
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const url = "redis-cluster://app:secret@127.0.0.1:1,127.0.0.1:2";
    const cluster = openConnection(url, { log, name: "commands", options: { maxRetriesPerRequest: null } }) as unknown as Cluster;
    expect(cluster.isCluster).toBe(true);
    expect(cluster.options.redisOptions).toMatchObject({ username: "app", password: "secret", connectionName: "parley-commands" });
    expect(cluster.options.clusterRetryStrategy?.(3)).toBe(150);
    cluster.disconnect();
  });

  test("through sentinels is to their master by its name, with both logins, over TLS for both", () => {
    const [plain] = openForOnce("redis-sentinel://app:secret@a:1,b:2/mymaster?sentinelPassword=other", 1_000);
    expect(plain!.options).toMatchObject({
      sentinels: [
        { host: "a", port: 1 },
        { host: "b", port: 2 },
      ],
      name: "mymaster",
      username: "app",
      password: "secret",
      sentinelPassword: "other",
      enableTLSForSentinelMode: false,
    });
    expect(plain!.options.sentinelRetryStrategy?.(1)).toBeNull();
    const [secure] = openForOnce("rediss-sentinel://a:1/mymaster", 1_000);
    expect(secure!.options).toMatchObject({ tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true });
  });

  test("for one probe does not reconnect", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-connection-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const [redis, ...others] = openForOnce(server.url, 1_000);
    expect(others).toEqual([]);
    redis!.on("error", () => undefined);
    expect(redis!.status).toBe("wait");
    await redis!.connect();
    await server.close();
    await expect.poll(() => redis!.status).toBe("end");
    expect(openForOnce("redis-cluster://127.0.0.1:1,127.0.0.1:2", 1_000).map(({ options }) => options.port)).toEqual([1, 2]);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
});
