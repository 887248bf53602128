/** How the clock follows Redis, look by look; clock.redis.test.ts uses a real one. */
import { EventEmitter } from "node:events";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { followRedisClock } from "./clock.ts";

const START_MS = 1_700_000_000_000;

describe("the clock", () => {
  /** By Redis' clock, and by the process's own timer. */
  let redisMs: number;
  let timerMs: number;
  /** How long each look takes; the last value repeats. */
  let takes: number[] = [];
  let looks: number;
  let isAway: boolean;
  /** The whole time of a look is the reply's, so its value is old by half of that. */
  let isReplySlow: boolean;
  const logged: unknown[][] = [];
  const log = { debug() {}, info() {}, warn: (...line: unknown[]) => void logged.push(line), error() {} };
  let redis: EventEmitter & { time(): Promise<[number, number]> };

  beforeEach(() => {
    redisMs = START_MS;
    timerMs = 500;
    takes = [0];
    looks = 0;
    isAway = false;
    isReplySlow = false;
    logged.length = 0;
    redis = Object.assign(new EventEmitter(), {
      async time(): Promise<[number, number]> {
        looks += 1;
        if (isAway) throw new Error("away");
        const tookMs = (takes.length > 1 ? takes.shift() : takes[0]) ?? 0;
        const seenMs = redisMs + (isReplySlow ? 0 : tookMs / 2);
        pass(tookMs);
        return [Math.floor(seenMs / 1_000), Math.round((seenMs % 1_000) * 1_000)];
      },
    });
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: START_MS });
    vi.spyOn(performance, "now").mockImplementation(() => timerMs);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  function pass(ms: number) {
    redisMs += ms;
    timerMs += ms;
  }
  const follow = () => followRedisClock({ redis: redis as unknown as Redis, log });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  async function lookAgain() {
    vi.advanceTimersByTime(10_000);
    await turn();
  }

  test("returns Redis' time to the millisecond, and continues by the process's timer", async () => {
    redisMs = START_MS + 123.6;
    takes = [4];
    const clock = await follow();
    expect(looks).toBe(1);
    expect(clock.now()).toBe(START_MS + 127);
    pass(1_000.3);
    expect(clock.now()).toBe(START_MS + 1_127);
    clock.close();
  });

  test.each([
    ["the first, if that is quick", [5], 1, 5],
    ["the quickest of five", [40, 20, 30, 60, 50], 5, 20],
    ["the first quick one", [40, 30, 5, 1], 3, 5],
    ["the first of several that are equal", [6, 6, 6, 6, 6, 1], 5, 6],
  ])("begins with several looks and uses %s", async (_which, given, looked, counts) => {
    takes = given;
    isReplySlow = true;
    const clock = await follow();
    expect(looks).toBe(looked);
    expect(redisMs - clock.now()).toBe(Math.ceil(counts / 2));
    clock.close();
  });

  test("looks again every ten seconds, and ignores looks that took longer than 200 ms", async () => {
    const clock = await follow();
    redisMs += 60_000;
    takes = [200.1];
    await lookAgain();
    expect(looks).toBe(2);
    expect(redisMs - clock.now()).toBeGreaterThan(59_999);
    takes = [200];
    await lookAgain();
    expect(looks).toBe(3);
    expect(Math.abs(redisMs - clock.now())).toBeLessThan(1);
    vi.advanceTimersByTime(9_999);
    expect(looks).toBe(3);
    clock.close();
    vi.advanceTimersByTime(100_000);
    expect(looks).toBe(3);
  });

  test("continues while Redis is unreachable", async () => {
    const clock = await follow();
    isAway = true;
    await lookAgain();
    pass(5_000);
    expect(clock.now()).toBe(START_MS + 5_000);
    clock.close();
  });

  test("looks again as soon as a connection is ready, until it is closed", async () => {
    const clock = await follow();
    redisMs -= 60_000;
    redis.emit("ready");
    await turn();
    expect(clock.now()).toBe(START_MS - 60_000);
    clock.close();
    redis.emit("ready");
    expect(looks).toBe(2);
    expect(redis.listenerCount("ready")).toBe(0);
  });

  test("logs when the machine's clock becomes off by more than two seconds, once each time", async () => {
    vi.setSystemTime(START_MS + 2_000);
    const clock = await follow();
    expect(logged).toEqual([]);
    const step = async (aheadMs: number) => {
      vi.advanceTimersByTime(10_000);
      vi.setSystemTime(clock.now() + aheadMs);
      await turn();
    };
    await step(2_001);
    const off = (aheadMs: number) => [{ aheadMs }, "this machine's clock is off, redis' is used"];
    expect(logged).toStrictEqual([off(2_001)]);
    await step(-9_000);
    expect(logged).toHaveLength(1);
    await step(0);
    await step(-2_001);
    expect(logged).toStrictEqual([off(2_001), off(-2_001)]);
    clock.close();
  });

  test("logs at the start that the machine's clock is off", async () => {
    vi.setSystemTime(START_MS - 5_000);
    (await follow()).close();
    expect(logged).toStrictEqual([[{ aheadMs: -5_000 }, "this machine's clock is off, redis' is used"]]);
  });
});
