import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";
import { inspectRedis } from "./inspect.ts";
import { RIGHTS } from "../connection/rights.ts";

let server: SharedRedis;
let admin: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.close();
});

test("a Redis as Parley starts it is durable, evicts nothing and has no limit", async () => {
  const { version, usedMemoryBytes, ...facts } = await inspectRedis(server.url, "parley");
  expect(version).toMatch(/^(Redis|Valkey) \d+\.\d+\.\d+$/);
  expect(usedMemoryBytes).toBeGreaterThan(100_000);
  expect(facts).toEqual({
    recent: true,
    readOnly: false,
    isCluster: false,
    mode: "fits",
    replicas: 0,
    missingRights: [],
    maxmemoryPolicy: "noeviction",
    appendOnly: true,
    appendFsync: "everysec",
    maxmemoryBytes: 0,
  });
});

test("what its operator has changed is shown, except where CONFIG is forbidden, as on hosted servers", async () => {
  await admin.config("SET", "maxmemory", "200mb");
  await admin.config("SET", "maxmemory-policy", "allkeys-lru");
  await admin.config("SET", "appendfsync", "always");
  await admin.acl("SETUSER", "hosted", "on", ">secret", "~*", "+@all", "-config");
  const facts = { maxmemoryPolicy: "allkeys-lru", maxmemoryBytes: 200 * 1_024 * 1_024 };
  expect(await inspectRedis(server.url, "parley")).toMatchObject({ ...facts, appendFsync: "always" });
  const { port } = new URL(server.url);
  expect(await inspectRedis(`redis://hosted:secret@127.0.0.1:${port}`, "parley")).toMatchObject({ ...facts, appendFsync: undefined });
  await admin.config("SET", "appendonly", "no");
  expect(await inspectRedis(server.url, "parley")).toMatchObject({ appendOnly: false });
});

test("a Redis that refuses or cannot be reached is reported with the cause", async () => {
  const { port } = new URL(server.url);
  await expect(inspectRedis(`redis://127.0.0.1:${port}`, "parley")).rejects.toThrow("NOAUTH");
  await expect(inspectRedis(`redis://nobody:wrong@127.0.0.1:${port}`, "parley")).rejects.toThrow("WRONGPASS");
  await expect(inspectRedis("redis://127.0.0.1:1", "parley")).rejects.toThrow("ECONNREFUSED");
});

test("no connection stays", async () => {
  const clients = async () => [...String(await admin.client("LIST")).matchAll(/^id=(\d+)/gm)].map(([, id]) => id);
  const before = await clients();
  await inspectRedis(server.url, "parley");
  // Not by their number: one of the last test may still be closing.
  await expect.poll(async () => (await clients()).filter((id) => !before.includes(id))).toEqual([]);
});

test("a user's missing rights are named, and to look for them changes nothing", async () => {
  const { port } = new URL(server.url);
  const missing = async (...rules: readonly string[]) => {
    await admin.acl("SETUSER", "least", "reset", "on", ">secret", "~own:*", "&own:*", ...RIGHTS, ...rules);
    return (await inspectRedis(`redis://least:secret@127.0.0.1:${port}`, "own")).missingRights;
  };
  expect(await missing()).toEqual([]);
  expect(await missing("resetkeys")).toEqual(["~own:*"]);
  expect(await missing("resetchannels")).toEqual(["&own:*"]);
  // Without these a user cannot log in or be inspected, and the last two are for clusters.
  const others = RIGHTS.filter((right) => !/^\+(hello|auth|ping|info|unsubscribe|cluster.*)$/.test(right));
  expect(others.length).toBeGreaterThan(50);
  for (const right of others) expect(await missing(right.replace("+", "-"))).toEqual([right]);
  expect(await missing("-evalsha", "-zrank")).toEqual(["+evalsha", "+zrank"]);
  expect(await admin.dbsize()).toBe(0);
});
