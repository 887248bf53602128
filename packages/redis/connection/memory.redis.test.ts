/** How full a real Redis is, and from when on it is kept for tasks that exist. */
import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SharedRedis, startOwnRedis } from "../../../test/support/shared-redis.ts";
import { until } from "../../../test/support/until.ts";
import { createMemoryWatch, SCARCE_FROM } from "./memory.ts";

let server: SharedRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

test("the memory that Redis uses and may use is read, and no limit is 0", async () => {
  await redis.config("SET", "maxmemory", "0");
  expect(await createMemoryWatch(redis).read()).toMatchObject({ usedBytes: expect.any(Number), maxBytes: 0 });
  await redis.config("SET", "maxmemory", "100mb");
  const { usedBytes, maxBytes } = await createMemoryWatch(redis).read();
  expect([usedBytes > 100_000, maxBytes]).toEqual([true, 100 * 1_024 * 1_024]);
});

test("Redis is scarce from a share of its limit on, and no longer when there is room again; without a limit never", async () => {
  let elapsedMs = 0;
  const watch = createMemoryWatch(redis, () => elapsedMs);
  /** What is said once a new measurement has arrived. */
  async function isScarceAt(share: number): Promise<boolean> {
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info("memory"))?.[1]);
    await redis.config("SET", "maxmemory", share === 0 ? "0" : String(Math.floor(used / share)));
    elapsedMs += 1_000;
    watch.isScarce();
    // The reply to the measurement comes before this one, and is noted a few turns later.
    await redis.ping();
    await setImmediate();
    return watch.isScarce();
  }
  expect(await isScarceAt(SCARCE_FROM - 0.05)).toBe(false);
  expect(await isScarceAt(SCARCE_FROM + 0.03)).toBe(true);
  expect(await isScarceAt(SCARCE_FROM - 0.05)).toBe(false);
  expect(await isScarceAt(0)).toBe(false);
});

test("how much is free is known from the same measurement; without a limit it is not", async () => {
  const watch = createMemoryWatch(redis);
  expect(watch.bytes()).toBeUndefined();
  await redis.config("SET", "maxmemory", "100mb");
  const { usedBytes, maxBytes } = await watch.read();
  expect(watch.bytes()).toEqual({ free: maxBytes - usedBytes, all: maxBytes });
  await redis.config("SET", "maxmemory", "0");
  await watch.read();
  expect(watch.bytes()).toBeUndefined();
});

test("Redis is asked once a second at most, and one that does not answer is not taken for scarce", async () => {
  let [elapsedMs, asked] = [0, 0];
  const away = {
    async info() {
      asked += 1;
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    },
  };
  const watch = createMemoryWatch(away as never, () => elapsedMs);
  for (let call = 0; call < 5; call += 1) expect(watch.isScarce()).toBe(false);
  await until(() => asked === 1);
  elapsedMs += 1_000;
  expect(watch.isScarce()).toBe(false);
  expect(asked).toBe(2);
  await expect(watch.read()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
