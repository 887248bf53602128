import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { API_KEYS_MAX, createApiKeys } from "./api-keys.ts";
import { createKeys } from "../keys.ts";
import { reached } from "../connection/unavailable.ts";

const aKey = { id: "AAAAAAAAAAAA", digest: "d", name: "nightly", tenant: "acme", scopes: ["tools"], createdAtMs: 2 };

describe("API keys in Redis", () => {
  let opened: OpenRedis;
  let redis: Redis;
  beforeEach(async () => {
    opened = await openRedis();
    redis = new Redis(opened.url);
  });
  afterEach(async () => {
    // Keys stay until revoked, so other tests must not find these.
    await redis.del(createKeys(opened.prefix).apiKeys);
    redis.disconnect();
    await opened.close();
  });
  const apiKeys = () => createApiKeys({ redis, keys: createKeys(opened.prefix), acknowledge: reached });

  test("are found by their ids, listed by age, and gone when revoked", async () => {
    const { add, find, list, revoke } = apiKeys();
    const older = { ...aKey, id: "BBBBBBBBBBBB", createdAtMs: 1, expiresAtMs: 9 };
    await add(aKey);
    await add(older);
    expect(await find(aKey.id)).toEqual(aKey);
    expect(await list()).toEqual([older, aKey]);
    expect(await revoke(aKey.id)).toEqual(aKey);
    expect(await revoke(aKey.id)).toBeUndefined();
    expect(await find(aKey.id)).toBeUndefined();
    expect(await list()).toEqual([older]);
  });

  test("are never replaced by another with the same id", async () => {
    const { add, find } = apiKeys();
    await add(aKey);
    await expect(add({ ...aKey, name: "other" })).rejects.toThrow("API key AAAAAAAAAAAA exists already");
    expect(await find(aKey.id)).toEqual(aKey);
  });

  test("are limited to 10,000", async () => {
    const { add, revoke } = apiKeys();
    const { apiKeys: hash } = createKeys(opened.prefix);
    const all = Array.from({ length: API_KEYS_MAX - 1 }, (_, i) => [`k${i}`, "{}"]);
    await redis.hset(hash, Object.fromEntries(all));
    await add(aKey);
    await expect(add({ ...aKey, id: "CCCCCCCCCCCC" })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    await revoke(aKey.id);
    await add({ ...aKey, id: "CCCCCCCCCCCC" });
  });
});
