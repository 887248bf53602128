import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SharedRedis, startOwnRedis } from "../../test/support/shared-redis.ts";
import { inspectRedis } from "./inspect.ts";

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
  const { version, usedMemoryBytes, ...facts } = await inspectRedis(server.url);
  expect(version).toMatch(/^(Redis|Valkey) \d+\.\d+\.\d+$/);
  expect(usedMemoryBytes).toBeGreaterThan(100_000);
  expect(facts).toEqual({
    recent: true,
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
  expect(await inspectRedis(server.url)).toMatchObject({ ...facts, appendFsync: "always" });
  const { port } = new URL(server.url);
  expect(await inspectRedis(`redis://hosted:secret@127.0.0.1:${port}`)).toMatchObject({ ...facts, appendFsync: undefined });
  await admin.config("SET", "appendonly", "no");
  expect(await inspectRedis(server.url)).toMatchObject({ appendOnly: false });
});

test("a Redis that refuses or cannot be reached is reported with the cause", async () => {
  const { port } = new URL(server.url);
  await expect(inspectRedis(`redis://127.0.0.1:${port}`)).rejects.toThrow("NOAUTH");
  await expect(inspectRedis(`redis://nobody:wrong@127.0.0.1:${port}`)).rejects.toThrow("WRONGPASS");
  await expect(inspectRedis("redis://127.0.0.1:1")).rejects.toThrow("ECONNREFUSED");
});

test("no connection stays", async () => {
  const clients = async () =>
    String(await admin.client("LIST"))
      .trim()
      .split("\n").length;
  const before = await clients();
  await inspectRedis(server.url);
  await expect.poll(clients).toBe(before);
});
