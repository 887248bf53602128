import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { createKeys } from "../keys.ts";
import { ALIVE_MS, BEAT_EVERY_MS, createLiveWorkers, type LiveWorker } from "./live-workers.ts";

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const [ada, bob]: [LiveWorker, LiveWorker] = [
  { id: "ada", share: 4 },
  { id: "bob", share: 4 },
];

let opened: OpenRedis;
let atMs: number;
beforeEach(async () => {
  opened = await openRedis();
  atMs = opened.now();
});
afterEach(() => opened.close());

/** One process's view; the test sets the time. */
const open = () =>
  createLiveWorkers({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 16, now: () => atMs, log: silent });

describe("live workers", () => {
  test("are those that beat within six seconds, at the limit and one millisecond beyond", async () => {
    const [one, other] = [open(), open()];
    await other.beat(bob);
    atMs += ALIVE_MS - 1;
    expect(await one.beat(ada)).toEqual(expect.arrayContaining([ada, bob]));
    atMs += 1;
    expect(await one.beat(ada)).toEqual([ada]);
    atMs += ALIVE_MS;
    expect(await open().beat(bob)).toEqual([bob]);
  });

  test("exclude those that have left", async () => {
    const [one, other] = [open(), open()];
    await other.beat(bob);
    await other.leave(bob);
    expect(await one.beat(ada)).toEqual([ada]);
  });

  test("are the same as before an outage of Redis for the first that beats again; one that stays silent is dead a beat later", async () => {
    const [one, other] = [open(), open()];
    await one.beat(ada);
    await other.beat(bob);
    atMs += 10 * 60_000;
    expect(await one.beat(ada)).toEqual(expect.arrayContaining([ada, bob]));
    atMs += BEAT_EVERY_MS;
    expect(await one.beat(ada)).toEqual([ada]);
    expect(await other.beat(bob)).toEqual(expect.arrayContaining([ada, bob]));
  });

  test("are stored in Redis, where the set expires an hour after the last beat, and each member an hour after its own", async () => {
    const key = createKeys(opened.prefix).workers;
    const [one, other] = [open(), open()];
    await other.beat(bob);
    const spokeAtMs = atMs;
    expect(await opened.redis.zrange(key, "0", "-1", "WITHSCORES")).toEqual(["bob.4", String(spokeAtMs)]);
    expect(await opened.redis.pttl(key)).toBeGreaterThan(3_590_000);
    expect(await opened.redis.pttl(key)).toBeLessThanOrEqual(3_600_000);
    atMs += 3_600_000;
    await one.beat(ada);
    expect(await opened.redis.zrange(key, "0", "-1")).toEqual(["bob.4", "ada.4"]);
    atMs += 1;
    await one.beat(ada);
    expect(await opened.redis.zrange(key, "0", "-1")).toEqual(["ada.4"]);
    await one.leave(ada);
  });
});

describe("the next worker of a partition", () => {
  afterEach(() => void vi.useRealTimers());
  /** Waits until the pending read of Redis has completed. */
  const seen = async () => {
    await opened.redis.ping();
    await new Promise((resolve) => setImmediate(resolve));
  };

  test("is each of the live ones in turn, refreshed from the first call on and every two seconds, until it is closed", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const workers = open();
    const look = vi.spyOn(opened.redis, "zrange");
    expect(look).not.toHaveBeenCalled();
    await workers.beat(ada);
    look.mockClear();
    expect(workers.next(0)).toBeUndefined();
    expect(look).toHaveBeenCalledTimes(1);
    await seen();
    expect([workers.next(0), workers.next(0)]).toEqual(["ada", "ada"]);

    await open().beat(bob);
    look.mockClear();
    vi.advanceTimersByTime(1_999);
    expect(look).not.toHaveBeenCalled();
    expect(workers.next(0)).toBe("ada");
    vi.advanceTimersByTime(1);
    expect(look).toHaveBeenCalledTimes(1);
    await seen();
    const named = [workers.next(0), workers.next(0), workers.next(0), workers.next(0)];
    expect(named.toSorted()).toEqual(["ada", "ada", "bob", "bob"]);
    expect(named[0]).not.toBe(named[1]);

    await workers.leave(ada);
    vi.advanceTimersByTime(2_000);
    await seen();
    expect([workers.next(0), workers.next(0)]).toEqual(["bob", "bob"]);
    // One for another, between two looks.
    await workers.leave(bob);
    await workers.beat(ada);
    vi.advanceTimersByTime(2_000);
    await seen();
    expect([workers.next(0), workers.next(0)]).toEqual(["ada", "ada"]);
    await workers.leave(ada);
    await workers.beat(bob);
    // A worker that returns with another share is a different member.
    await workers.leave(bob);
    await workers.beat({ ...bob, share: 1 });
    vi.advanceTimersByTime(2_000);
    await seen();
    expect(workers.next(0)).toBe("bob");
    await workers.leave({ ...bob, share: 1 });
    vi.advanceTimersByTime(2_000);
    await seen();
    expect(workers.next(0)).toBeUndefined();

    workers.close();
    look.mockClear();
    vi.advanceTimersByTime(10_000);
    expect(look).not.toHaveBeenCalled();
  });

  test("is undefined if no worker lives, and once they were not read for six seconds", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const workers = open();
    workers.next(0);
    await seen();
    expect(workers.next(0)).toBeUndefined();
    await workers.beat(ada);
    vi.advanceTimersByTime(2_000);
    await seen();
    atMs += ALIVE_MS;
    expect(workers.next(0)).toBe("ada");
    atMs += 1;
    expect(workers.next(0)).toBeUndefined();
    workers.close();
  });

  test("is unknown while Redis is unreachable, which is logged at debug level", async () => {
    const told: unknown[][] = [];
    const log = { ...silent, debug: (...line: unknown[]) => void told.push(line) };
    const workers = createLiveWorkers({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 16, now: () => atMs, log });
    vi.spyOn(opened.redis, "zrange").mockRejectedValueOnce(new Error("away"));
    expect(workers.next(0)).toBeUndefined();
    await seen();
    expect(workers.next(0)).toBeUndefined();
    expect(told).toStrictEqual([[{ error: "away" }, "workers not seen"]]);
    workers.close();
  });
});
