import { describe, expect, test } from "vitest";
import { aLife, anAsk, aStep, HOUR_MS, LEASE_MS } from "./builders.ts";
import { everlasting, keysOf, openRedis } from "./open-redis.ts";

describe("the search for keys that never expire", () => {
  test("ignores an unfinished task, and one that ended and will expire", async () => {
    const opened = await openRedis();
    const life = aLife(opened.store);
    await life.parked([anAsk("size")]);
    const taskId = await life.create();
    const token = await life.begin({ taskId, run: 1 });
    const fence = { taskId, token, nowMs: Date.now() };
    await opened.store.record({ ...fence, leaseMs: LEASE_MS, entries: [aStep("a", 1)] });
    await opened.store.report({ ...fence, items: [{ type: "progress", progress: 1 }] });
    await life.cancel(await life.parked([anAsk("size")]));

    await opened.close();
  });

  test.each(["", ":feed"])("finds the key of a task that ended or is missing: task%s", async (ending) => {
    const opened = await openRedis();
    const life = aLife(opened.store);
    const taskId = await life.parked([anAsk("size")], { retentionMs: HOUR_MS });
    const token = await life.begin({ taskId, run: 2 });
    await opened.store.report({ taskId, token, nowMs: Date.now(), items: [{ type: "progress", progress: 1 }] });
    await life.finish(taskId, token);
    const key = `${opened.prefix}:{p0}:task:${taskId}${ending}`;
    expect(await opened.redis.persist(key)).toBe(1);

    expect(await everlasting(opened.redis, await keysOf(opened.redis, opened.prefix))).toEqual([key]);
    await opened.redis.del(key);
    await opened.close();
  });

  test("finds an unfinished task that nothing will run", async () => {
    const opened = await openRedis();
    const taskId = await aLife(opened.store).parked([anAsk("size")]);
    await opened.redis.zrem(`${opened.prefix}:{p0}:due`, taskId);

    const left = await everlasting(opened.redis, await keysOf(opened.redis, opened.prefix));
    expect(left).toEqual([`${opened.prefix}:{p0}:task:${taskId}`]);
    await Promise.all(left.map((key) => opened.redis.del(key)));
    await opened.close();
  });
});
