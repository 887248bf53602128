import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aCall, aLife, anAsk, GRACE_MS, HOUR_MS, LEASE_MS, newTaskId } from "../../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { openTestRedis, type TestRedis } from "../../../test/support/redis.ts";
import { createCensuses } from "./census.ts";
import { startEmbeddedRedis } from "../embedded/embedded.ts";
import { createKeys } from "../keys.ts";
import type { RedisQueue } from "./queue.ts";

describe("the census", () => {
  let opened: OpenRedis;
  let life: ReturnType<typeof aLife>;
  beforeEach(async () => {
    opened = await openRedis({ partitions: 2 });
    life = aLife(opened.store);
  });
  afterEach(() => opened.close());

  const read = (nowMs = Date.now()) => opened.censuses.read({ nowMs, parkedBeyondMs: 10_000, overdueAfterMs: 5_000 });
  const round = () => Promise.all(opened.partitions.map((partition) => opened.censuses.count(partition, Date.now())));

  test("counts unfinished and parked tasks as they are, and queued runs", async () => {
    await life.create();
    const taskId = await life.parked([anAsk("size")]);
    await opened.queue.add({ taskId, run: 2, cause: "answered" });
    expect(await read()).toMatchObject({ unfinished: 2, parked: 1, overdue: 0, waitingRuns: 1, activeRuns: 0, asks: undefined });
    expect(await read(Date.now() + 10_000)).toMatchObject({ overdue: 1, oldestDueAtMs: expect.any(Number) });
  });

  test("finds the open asks of all partitions and the oldest of them, in rounds", async () => {
    const askedAtMs = Date.now() - 2 * HOUR_MS;
    const first = await life.parked([anAsk("old", { askedAtMs, deadlineMs: Date.now() + HOUR_MS }), anAsk("new")]);
    await life.parked([anAsk("other")]);
    await round();
    expect((await read()).asks).toMatchObject({ open: 3, oldestAtMs: askedAtMs });

    await life.answer(first, "old", "x");
    await round();
    const { asks } = await read();
    expect(asks?.open).toBe(2);
    expect(asks?.oldestAtMs).toBeGreaterThan(askedAtMs);
  });

  test("counts what a child asks once, though the root shows it too, and expires an hour after the last count", async () => {
    const taskId = await life.create();
    const token = await life.begin({ taskId, run: 1 });
    const childId = `${newTaskId()}~`;
    const parent = { taskId, key: "hotel", rootId: taskId, depth: 1, path: "hotel" };
    const { askedAtMs, deadlineMs, onTimeout, calledAt } = anAsk("hotel");
    const request = { type: "call", tool: "child" } as const;
    const open = { key: "call:hotel", digest: childId, calledAt, request, askedAtMs, deadlineMs, onTimeout };
    const holder = { token, open, nowMs: Date.now(), leaseMs: LEASE_MS };
    await opened.store.create({ taskId: childId, call: aCall({ hidden: true, parent }), graceMs: GRACE_MS, parent: holder });
    await life.park(childId, await life.begin({ taskId: childId, run: 1 }), [anAsk("nights")]);
    expect((await life.load(taskId)).asks).toHaveLength(1);

    await round();

    expect((await read()).asks?.open).toBe(1);
    const ttlMs = await opened.redis.pttl(createKeys(opened.prefix).census(0));
    expect(ttlMs).toBeLessThanOrEqual(HOUR_MS);
    expect(ttlMs).toBeGreaterThan(HOUR_MS - 60_000);
    await life.cancel(taskId);
  });

  test("takes a large partition in slices", async () => {
    await opened.close();
    opened = await openRedis();
    life = aLife(opened.store);
    await Promise.all(Array.from({ length: 1_500 }, () => life.parked([anAsk("size")])));
    await round();
    expect((await read()).asks).toBeUndefined();
    for (let slices = 0; slices < 10 && !(await read()).asks; slices += 1) await round();
    expect((await read()).asks).toMatchObject({ open: 1_500 });
  });
});

describe("the census of several partitions", () => {
  let redis: TestRedis;
  beforeEach(() => void (redis = openTestRedis()));
  afterEach(() => redis.close());

  const NOW_MS = 1_000_000;
  const options = { nowMs: NOW_MS, parkedBeyondMs: 10_000, overdueAfterMs: 5_000 };
  const counted = (open: number, oldestAtMs: number | undefined, countedAtMs: number) => ({
    open_asks: open,
    ...(oldestAtMs !== undefined && { oldest_ask_at_ms: oldestAtMs }),
    counted_at_ms: countedAtMs,
  });

  async function read(due: readonly (readonly number[])[], asks: readonly object[]) {
    const keys = createKeys(redis.prefix);
    for (const [partition, times] of due.entries()) {
      for (const atMs of times) await redis.redis.zadd(keys.due(partition), atMs, `${partition}-${atMs}`);
    }
    for (const [partition, each] of asks.entries()) await redis.redis.hset(keys.census(partition), each);
    const queue = { counts: async (partition: number) => ({ waiting: 1 + partition, active: 10 + partition }) } as RedisQueue;
    return await createCensuses({ redis: redis.redis, keys, queue, partitions: [0, 1] }).read(options);
  }

  test("adds up each partition's numbers, to the millisecond of what is overdue and what is parked", async () => {
    const census = await read(
      [
        [NOW_MS - 5_000, NOW_MS - 4_999, NOW_MS],
        [NOW_MS - 90_000, NOW_MS + 9_999, NOW_MS + 10_000, NOW_MS + 90_000],
      ],
      [counted(3, 700, 900), counted(4, 600, 800)],
    );
    expect(census).toStrictEqual({
      unfinished: 7,
      parked: 2,
      overdue: 2,
      oldestDueAtMs: NOW_MS - 90_000,
      waitingRuns: 3,
      activeRuns: 21,
      asks: { open: 7, oldestAtMs: 600, countedAtMs: 800 },
    });
  });

  test("knows what has been due longest if a partition has no tasks, or none has", async () => {
    expect((await read([[], [NOW_MS + 1]], [])).oldestDueAtMs).toBe(NOW_MS + 1);
    await redis.redis.del(createKeys(redis.prefix).due(1));
    expect((await read([], [])).oldestDueAtMs).toBeUndefined();
  });

  test.each([
    [counted(0, undefined, 900), counted(4, 600, 950), { open: 4, oldestAtMs: 600, countedAtMs: 900 }],
    [counted(4, 600, 900), counted(0, undefined, 950), { open: 4, oldestAtMs: 600, countedAtMs: 900 }],
    [counted(0, undefined, 900), counted(0, undefined, 950), { open: 0, oldestAtMs: undefined, countedAtMs: 900 }],
    [counted(4, 600, 900), { next: 1 }, undefined],
    [{ next: 1 }, counted(4, 600, 900), undefined],
  ])("has the asks of all or of none: %j and %j", async (one, other, asks) => {
    expect((await read([], [one, other])).asks).toStrictEqual(asks);
  });
});

describe("readiness", () => {
  test("a Redis that replies but takes no writes is not ready", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-ready-"));
    const server = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const opened = await openRedis({ url: server.url });
    try {
      await opened.writable();
      await opened.redis.config("SET", "min-replicas-to-write", "1");
      await opened.ping();
      await expect(opened.writable()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    } finally {
      await opened.redis.config("SET", "min-replicas-to-write", "0");
      await opened.close();
      await server.close();
      await rm(dataDir, { recursive: true });
    }
  });
});
