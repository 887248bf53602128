/**
 * Which partitions a consumer serves while workers come and go, and where it listens; consume-runs.redis.test.ts
 * tests the runs.
 */
import type { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { consumeRuns, type Consumer } from "./consume-runs.ts";
import { createKeys } from "../keys.ts";
import { type LiveWorker, serving } from "./live-workers.ts";

const PARTITIONS = [0, 1, 2, 3];

describe("a consumer", () => {
  let redis: TestRedis;
  let connection: Redis;
  let consumer: Consumer | undefined;
  let atMs: number;
  /** Workers besides the consumer itself. */
  let others: LiveWorker[];
  let isAway: boolean;
  /** Whether the reply to a beat lists the consumer itself. */
  let isListed: boolean;
  const beaten: LiveWorker[] = [];
  const left: LiveWorker[] = [];
  const lanes: string[] = [];
  const logged: unknown[][] = [];
  beforeEach(() => {
    redis = openTestRedis();
    connection = redis.redis.duplicate({ maxRetriesPerRequest: null });
    atMs = 1_000;
    others = [];
    isAway = false;
    isListed = false;
    for (const list of [beaten, left, lanes, logged]) list.length = 0;
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    vi.spyOn(performance, "now").mockImplementation(() => atMs);
  });
  afterEach(async () => {
    vi.useRealTimers();
    await consumer?.close();
    consumer = undefined;
    vi.restoreAllMocks();
    connection.disconnect();
    await redis.close();
  });

  async function consume({ share, concurrency = 8 }: { share?: number; concurrency?: number } = {}): Promise<Consumer> {
    const at = (...line: unknown[]) => void logged.push(line);
    const workers = {
      async beat(worker: LiveWorker) {
        beaten.push(worker);
        if (isAway) throw new Error("away");
        return isListed ? [...others, worker] : others;
      },
      leave: async (worker: LiveWorker) => void left.push(worker),
      next: () => undefined,
      close: () => undefined,
    };
    consumer = await consumeRuns({
      partitions: PARTITIONS.toReversed(),
      redis: connection,
      keys: createKeys(redis.prefix),
      log: { debug: at, info: at, warn: at, error: at },
      workers,
      wakeUps: {
        listen: async (channel) => {
          lanes.push(channel);
          return () => undefined;
        },
        leave: async (channel) => void lanes.splice(lanes.indexOf(channel), 1),
      },
      queue: { add: async () => undefined },
      ...(share !== undefined && { share }),
      concurrency,
      run: async () => undefined,
      sweep: async () => undefined,
    });
    return consumer;
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** The next beat, this much later by the process's own clock. */
  async function beat(ms: number) {
    atMs += ms;
    vi.advanceTimersByTime(2_000);
    await turn();
  }

  test("that is alone serves every partition, and beats every two seconds", async () => {
    const { id, partitions } = await consume();
    expect(partitions).toEqual(PARTITIONS);
    expect(id).toMatch(/^[\w-]{8}$/);
    expect(beaten).toStrictEqual([{ id, share: 0 }]);
    expect(logged).toStrictEqual([[{ worker: id, partitions: 4, workers: 1 }, "partitions served"]]);
    vi.advanceTimersByTime(1_999);
    expect(beaten).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(beaten).toHaveLength(2);
    await turn();
    // Nothing has changed.
    expect(logged).toHaveLength(1);
  });

  test("leaves others' partitions four seconds after it noticed, unless they are its own again by then", async () => {
    const one = await consume({ share: 1 });
    expect(one.partitions).toEqual(PARTITIONS);
    others = [
      { id: "ada", share: 1 },
      { id: "bob", share: 1 },
      { id: "cat", share: 1 },
      { id: "dan", share: 1 },
    ];
    const all = [...others, { id: one.id, share: 1 }];
    const mine = PARTITIONS.filter((partition) => serving(partition, all, 4).some(({ id }) => id === one.id));
    await beat(0);
    expect(one.partitions).toEqual(PARTITIONS);
    await beat(3_999);
    expect(one.partitions).toEqual(PARTITIONS);
    const alone = others;
    others = [];
    await beat(0);
    others = alone;
    await beat(1);
    await beat(3_999);
    expect(one.partitions).toEqual(PARTITIONS);
    await beat(1);
    expect(one.partitions).toEqual(mine);
    others = [];
    await beat(0);
    expect(one.partitions).toEqual(PARTITIONS);
    const served = logged.filter(([, message]) => message === "partitions served").map(([fields]) => fields);
    const first = { worker: one.id, partitions: 4, workers: 1 };
    expect(served).toStrictEqual(mine.length === 4 ? [first] : [first, first]);
  });

  test("counts itself once, whether or not Redis knows it yet", async () => {
    const { id } = await consume();
    others = [{ id, share: 0 }];
    await beat(0);
    await beat(10_000);
    expect(consumer?.partitions).toEqual(PARTITIONS);
    expect(logged).toHaveLength(1);
  });

  test.each([true, false])("counts itself once among others, from its first beat on, listed or not: %s", async (listed) => {
    isListed = listed;
    others = [{ id: "ada", share: 0 }];
    const { id } = await consume();
    expect(logged).toStrictEqual([[{ worker: id, partitions: 4, workers: 2 }, "partitions served"]]);
    expect(consumer?.partitions).toEqual(PARTITIONS);
  });

  test("serves what it served while Redis is unreachable", async () => {
    const one = await consume();
    isAway = true;
    await beat(10_000);
    expect(beaten).toHaveLength(2);
    expect(one.partitions).toEqual(PARTITIONS);
  });

  test("that closes serves nothing and announces that it has left", async () => {
    const one = await consume();
    await one.close();
    expect(one.partitions).toEqual([]);
    expect(left).toStrictEqual([{ id: one.id, share: 0 }]);
    expect(lanes).toEqual([]);
    vi.advanceTimersByTime(10_000);
    expect(beaten).toHaveLength(1);
    consumer = undefined;
  });

  test("that closes while a beat is on its way serves nothing when the reply arrives", async () => {
    const one = await consume();
    vi.advanceTimersByTime(2_000);
    expect(beaten).toHaveLength(2);
    await one.close();
    await turn();
    expect(one.partitions).toEqual([]);
    expect(lanes).toEqual([]);
  });

  test.each([
    [{ concurrency: 4 }, 0],
    [{ concurrency: 5 }, 4],
    [{ concurrency: 2, share: 2 }, 0],
    [{ concurrency: 3, share: 2 }, 4],
    [{ concurrency: 4, share: 10 }, 0],
    [{ concurrency: 5, share: 10 }, 4],
  ])("listens to lanes if it has more places than queues to serve: %j", async (how, count) => {
    const { id } = await consume(how);
    expect(lanes.toSorted()).toEqual(PARTITIONS.slice(0, count).map((partition) => createKeys(redis.prefix).lane(partition, id)));
  });
});
