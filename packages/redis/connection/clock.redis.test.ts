import { afterEach, describe, expect, test, vi } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { followRedisClock } from "./clock.ts";
import { openConnection } from "./connect.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

describe("the time of a deployment", () => {
  let opened: OpenRedis;
  afterEach(async () => {
    vi.useRealTimers();
    await opened.close();
  });

  /** How far the clock is from Redis' own, as precisely as the round trip allows. */
  const awayMs = async (clock: OpenRedis) => {
    const before = clock.now();
    const [seconds, microseconds] = await opened.redis.time();
    const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    return Math.max(0, before - redisMs, redisMs - clock.now());
  };

  test("is Redis' own, to a few milliseconds", async () => {
    opened = await openRedis();
    expect(await awayMs(opened)).toBeLessThan(50);
  });

  test.each([-600_000, 600_000])("does not move when the machine's clock is set by %i ms, which is logged once", async (byMs) => {
    opened = await openRedis();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + byMs });
    expect(await awayMs(opened)).toBeLessThan(50);

    const other = await openRedis({ prefix: opened.prefix });
    expect(await awayMs(other)).toBeLessThan(50);
    expect(other.logged).toContainEqual({ level: "warn", message: "this machine's clock is off, redis' is used" });
    await other.close();
  });

  test("follows another server as soon as the connection leads to one", async () => {
    opened = await openRedis();
    const redis = openConnection(opened.url, { log: silent, name: "test", options: { maxRetriesPerRequest: null } });
    const clock = await followRedisClock({ redis, log: silent });
    const time = redis.time.bind(redis);
    vi.spyOn(redis, "time").mockImplementation(async () => {
      const [seconds, microseconds] = await time();
      return [Number(seconds) - 60, Number(microseconds)];
    });
    redis.disconnect(true);
    await expect.poll(() => clock.now() - Date.now()).toBeLessThan(-59_000);
    clock.close();
    redis.disconnect();
  });
});
