import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aLife, anAsk, HOUR_MS } from "../../test/contract/builders.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { startEmbeddedRedis } from "./embedded.ts";

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
    expect(await read(Date.now() + 10_000)).toMatchObject({ overdue: 1 });
  });

  test("finds the open asks of all partitions and the oldest of them, round by round", async () => {
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

describe("readiness", () => {
  test("a Redis that answers but takes no writes is not ready", async () => {
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
