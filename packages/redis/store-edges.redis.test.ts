/** The edges of the store on Redis: ids that are not task ids, callers that come too late, and fields that another process changed. */
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { accept, aCall, aLife, anAsk, aStep, GRACE_MS, HOUR_MS, LEASE_MS, newTaskId } from "../../test/contract/builders.ts";
import { aContentKey } from "../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { createKeys } from "./keys.ts";
import { createRedisStore } from "./store.ts";

const NOW_MS = 1_700_000_000_000;

describe("the store on Redis", () => {
  let opened: OpenRedis;
  beforeEach(async () => {
    opened = await openRedis();
  });
  afterEach(() => opened.close());

  const bare = () => createRedisStore({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 1 });
  const taskKey = (taskId: string) => createKeys(opened.prefix).task(taskId)?.[0] ?? "";

  test("knows no task by an id that is not one, whatever the method, and sends nothing to Redis", async () => {
    const redis = new Redis(opened.url);
    await redis.ping();
    const send = vi.spyOn(redis, "sendCommand");
    const store = createRedisStore({ redis, keys: createKeys(opened.prefix), partitions: 1 });
    const taskId = "not a task id";
    const held = { taskId, token: "token", nowMs: NOW_MS };
    const asked = { taskId, key: "size", digest: "d", nowMs: NOW_MS };
    const outcome = { type: "result", result: {} } as const;
    const fence = { ...held, leaseMs: LEASE_MS };

    expect(await store.load(taskId)).toBeUndefined();
    await expect(store.create({ taskId, call: aCall(), graceMs: GRACE_MS })).rejects.toThrow(new TypeError("a new task needs a task id"));
    expect(await store.begin({ ...fence, run: 1 })).toStrictEqual({ type: "refused", reason: "unknown" });
    expect(await store.release(held)).toBeUndefined();
    expect(await store.record({ ...fence, entries: [] })).toBe("refused");
    expect(await store.renew(fence)).toBe("refused");
    expect(await store.report({ ...held, items: [] })).toBe("refused");
    expect(await store.park({ ...held, entries: [], asks: [], dueAtMs: NOW_MS, attempt: 0, graceMs: GRACE_MS })).toStrictEqual({
      type: "refused",
    });
    expect(await store.finish({ ...held, entries: [], outcome })).toBe("refused");
    expect(await store.settle({ ...held, entries: [] })).toBe("refused");
    expect(await store.answer({ ...asked, answer: accept("4"), graceMs: GRACE_MS })).toStrictEqual({ receipt: "unknown" });
    expect(await store.refuse({ ...asked, violations: [] })).toBeUndefined();
    expect(await store.agree(asked)).toBe("late");
    expect(await store.deposit(taskId, "size")).toBeUndefined();
    expect(await store.redeposit({ taskId, key: "size", before: "a", deposit: "b" })).toBe(false);
    expect(await store.cancel({ taskId, nowMs: NOW_MS, message: "" })).toBe("unknown");
    expect(await store.child(taskId, "size")).toBeUndefined();
    expect(await store.postpone({ taskId, nowMs: NOW_MS, dueAtMs: NOW_MS })).toBeUndefined();
    expect(await store.feed(taskId, "1-1")).toStrictEqual({ items: [], cursor: "1-1", cursors: [] });
    expect(await store.recorded(taskId)).toBeUndefined();
    expect(await store.journal(taskId)).toStrictEqual([]);
    expect(send).not.toHaveBeenCalled();
    redis.disconnect();
  });

  test("creates no task whose caller has stopped waiting", async () => {
    const taskId = newTaskId();
    const late = createRedisStore({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 1, waitsUntilMs: () => 1 });
    await expect(late.create({ taskId, call: aCall(), graceMs: GRACE_MS })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "Redis: the task came too late to be created",
    });
    expect(await opened.store.load(taskId)).toBeUndefined();
  });

  test("tells turns how many tasks of a share wait, if it counted them, and needs no turns", async () => {
    const learn = vi.fn();
    const turns = { learn, of: () => 1, turn: () => 1 } as unknown as NonNullable<Parameters<typeof createRedisStore>[0]["turns"]>;
    const counting = createRedisStore({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 1, turns });
    const quotas = { principal: { tasks: 10, bytes: 10_000 }, tenant: { tasks: 10, bytes: 10_000 } };
    const [counted, uncounted, bareId] = [newTaskId(), newTaskId(), newTaskId()];
    const call = aCall({ principal: "ada", tenant: "acme" });
    expect(await counting.create({ taskId: counted, call, graceMs: GRACE_MS, quotas })).toBe("created");
    expect(await counting.create({ taskId: uncounted, call, graceMs: GRACE_MS })).toBe("created");
    // Sent again, because the reply was lost: nothing was counted.
    expect(await counting.create({ taskId: counted, call, graceMs: GRACE_MS, quotas })).toBe("exists");
    expect(learn.mock.calls).toStrictEqual([[{ taskId: counted, share: expect.anything() }, 1]]);
    expect(await bare().create({ taskId: bareId, call, graceMs: GRACE_MS, quotas })).toBe("created");
    for (const taskId of [counted, uncounted, bareId]) await aLife(opened.store).cancel(taskId);
  });

  test("reports a new task that no worker took, and only one that was offered and is new", async () => {
    const notTaken = vi.fn();
    const store = createRedisStore({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 1, notTaken });
    const [offered, queued, other] = [newTaskId(), newTaskId(), newTaskId()];
    const lane = `${createKeys(opened.prefix).lane(0, "nobody")} 1`;
    const create = (taskId: string, more: { lane?: string } = {}) => store.create({ taskId, call: aCall(), graceMs: GRACE_MS, ...more });
    expect(await create(queued)).toBe("created");
    expect(notTaken).not.toHaveBeenCalled();
    expect(await create(offered, { lane })).toBe("created");
    expect(await create(offered, { lane })).toBe("exists");
    expect(notTaken.mock.calls).toEqual([[offered]]);
    expect(await bare().create({ taskId: other, call: aCall(), graceMs: GRACE_MS, lane })).toBe("created");
    for (const taskId of [offered, queued, other]) await aLife(opened.store).cancel(taskId);
  });

  test("shows a parent as working if the questions of its children were answered between its two reads", async () => {
    const taskId = await aLife(opened.store).create();
    const child = newTaskId();
    // As the scripts write them: one of a child that no longer asks, one of a child that cannot be.
    await opened.redis.hset(taskKey(taskId), "ask:hotel:beds", `~ 1 0 ${child} beds`, "ask:hotel:nights", "~ 1 1 nonsense nights");
    await opened.redis.hset(
      taskKey(taskId),
      "state",
      ((await opened.redis.hget(taskKey(taskId), "state")) ?? "").replace("working", "input_required"),
    );
    expect(await opened.store.load(taskId)).toMatchObject({ status: "working", asks: [] });
    await aLife(opened.store).cancel(taskId);
  });

  test("does not read what it cannot parse as damaged content: it fails, as nothing may be concluded from it", async () => {
    const taskId = await aLife(opened.store).create();
    await opened.redis.hset(taskKey(taskId), "call", "neither JSON\nnor anything else");
    await expect(opened.store.load(taskId)).rejects.toThrow(SyntaxError);
    await aLife(opened.store).cancel(taskId);
  });

  test("logs content that does not open by its task and problem, if it has a log", async () => {
    const contentKeys = aContentKey();
    const sealed = await openRedis({ contentKeys });
    const { store, redis, prefix, newTaskId: newSealedId, lines } = sealed;
    const life = aLife(store, newSealedId);
    const taskId = await life.parked([anAsk("size"), anAsk("name")]);
    const key = createKeys(prefix).task(taskId)?.[0] ?? "";
    await redis.hset(key, "ask:name", (await redis.hgetBuffer(key, "ask:size")) ?? "");
    expect(await store.load(taskId)).toMatchObject({ unreadable: "damaged" });
    expect(lines).toContainEqual(["error", { taskId, problem: expect.stringMatching(/./) }, "content does not open"]);
    await store.cancel({ taskId, nowMs: Date.now(), message: "" });
    await sealed.close();
  });

  test("dates what it makes due after now: a parked run that is ready, and an answered one", async () => {
    const life = aLife(opened.store);
    const due = () => opened.redis.zscore(createKeys(opened.prefix).due(0), taskId);
    const taskId = await life.create();
    const nowMs = Date.now();
    const token = await life.begin({ taskId, run: 1 });
    await opened.store.park({
      taskId,
      token,
      nowMs,
      entries: [],
      asks: [anAsk("size")],
      dueAtMs: nowMs + HOUR_MS,
      attempt: 0,
      graceMs: GRACE_MS,
    });
    await opened.store.answer({ taskId, key: "size", digest: "digest-of-size", answer: accept("4"), nowMs, graceMs: GRACE_MS });
    expect(Number(await due())).toBe(nowMs + GRACE_MS);
    const next = await life.begin({ taskId, run: 2 }, nowMs);
    await opened.store.record({ taskId, token: next, nowMs, leaseMs: LEASE_MS, entries: [aStep("a", 1)] });
    expect(Number(await due())).toBe(nowMs + LEASE_MS);
    await opened.store.park({
      taskId,
      token: next,
      nowMs,
      entries: [],
      asks: [],
      dueAtMs: nowMs,
      attempt: 0,
      graceMs: GRACE_MS,
      restart: { arguments: {} },
    });
    expect(Number(await due())).toBe(nowMs + GRACE_MS);
    await life.cancel(taskId);
  });
});
