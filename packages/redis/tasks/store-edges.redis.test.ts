/** The edges of the store on Redis: ids that are not task ids, callers that come too late, and fields that another process changed. */
import { callKey } from "@parley/core";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { accept, aCall, aLife, anAsk, aStep, GRACE_MS, HOUR_MS, LEASE_MS, newTaskId } from "../../../test/contract/builders.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { type ContentCodec, DamagedContent, plainContent } from "../content/codec.ts";
import { createKeys } from "../keys.ts";
import { createRedisStore } from "./store.ts";
import { createTurns } from "../runs/turns.ts";

const NOW_MS = 1_700_000_000_000;

describe("the store on Redis", () => {
  let opened: OpenRedis;
  beforeEach(async () => {
    opened = await openRedis();
  });
  afterEach(() => opened.close());

  const bare = () => createRedisStore({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 1 });
  const withKey = (access: ContentCodec["access"]) =>
    createRedisStore({ redis: opened.redis, keys: createKeys(opened.prefix), partitions: 1, codec: { ...plainContent, access } });
  const taskKey = (taskId: string) => createKeys(opened.prefix).task(taskId)?.[0] ?? "";

  test("no method finds a task by an id that is not one, or sends anything to Redis", async () => {
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

  test("names no run to add if an answer made none due", async () => {
    const answer = { taskId: newTaskId(), key: "size", digest: "d", answer: accept("4"), nowMs: NOW_MS, graceMs: GRACE_MS };
    expect(await opened.store.answer(answer)).toStrictEqual({ receipt: "unknown" });
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
    const turns = createTurns({ weights: new Map(), now: Date.now });
    const learn = vi.spyOn(turns, "learn");
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

  test("shows no questions of the children of a task whose key was erased", async () => {
    const life = aLife(opened.store);
    const [taskId, child] = [await life.create(), await life.parked([anAsk("beds")])];
    await opened.redis.hset(taskKey(taskId), "ask:hotel:beds", `~ 1 0 ${child} beds`);
    expect(await opened.store.load(taskId)).toMatchObject({ asks: [{ key: "hotel:beds", route: { taskId: child, key: "beds" } }] });
    expect(await withKey(() => "erased").load(taskId)).toMatchObject({ asks: [], unreadable: "erased" });
    for (const each of [taskId, child]) await life.cancel(each);
  });

  test("reports content that does not open as damaged, and needs no log for it", async () => {
    const life = aLife(opened.store);
    const taskId = await life.parked([anAsk("size")]);
    const plain = plainContent.of(taskId);
    const open = (): never => {
      throw new DamagedContent("call");
    };
    const withoutLog = createRedisStore({
      redis: opened.redis,
      keys: createKeys(opened.prefix),
      partitions: 1,
      codec: { ...plainContent, of: () => ({ ...plain, open }) },
    });
    expect(await withoutLog.load(taskId)).toMatchObject({ asks: [], unreadable: "damaged" });
    expect(await withoutLog.recorded(taskId)).toMatchObject({ type: "unreadable", reason: "damaged", task: { call: { kind: "tool" } } });
    await life.cancel(taskId);
  });

  /** Begins and ends a damaged task as a worker does. */
  async function endDamaged(taskId: string, run = 1): Promise<void> {
    const token = "token";
    const begun = await opened.store.begin({ taskId, run, token, nowMs: NOW_MS, leaseMs: LEASE_MS });
    expect(begun).toMatchObject({ type: "unreadable", reason: "damaged" });
    const outcome = { type: "error", error: { code: -32603, message: "damaged" } } as const;
    expect(await opened.store.finish({ taskId, token, nowMs: NOW_MS, entries: [], outcome })).toBe("finished");
  }

  test.each([
    ["ask:size", "digest-of-size 2 0 0 1 2 neither JSON"],
    ["refused:size", "1 3 neither JSON"],
    ["accepted:size", "3 neither JSON"],
    ["outcome", "neither JSON"],
  ])("reports a field %s that is not JSON as damaged, and its task can be ended", async (field, text) => {
    const taskId = await aLife(opened.store).parked([anAsk("size")]);
    await opened.redis.hset(taskKey(taskId), field, text);
    expect(await opened.store.load(taskId)).toMatchObject({ status: "input_required", asks: [], unreadable: "damaged" });
    const problem = `the content "${field.replace(":", " ")}" does not open`;
    expect(opened.lines).toContainEqual(["error", { taskId, problem }, "content does not open"]);
    await endDamaged(taskId, 2);
  });

  test.each(["given", "arguments", "entry"])("ends a task whose %s is not JSON", async (part) => {
    const life = aLife(opened.store);
    const taskId = await life.create();
    const [task, journal] = createKeys(opened.prefix).task(taskId) ?? ["", ""];
    if (part === "entry") await opened.redis.hset(journal, "step:hold", "1 0 - - neither JSON");
    else await opened.redis.hset(part === "given" ? journal : task, part, "neither JSON");
    await endDamaged(taskId);
  });

  test("refuses to read a feed with an item that is not JSON", async () => {
    const life = aLife(opened.store);
    const taskId = await life.create();
    await opened.redis.xadd(createKeys(opened.prefix).task(taskId)?.[2] ?? "", "*", "item", "neither JSON");
    await expect(opened.store.feed(taskId, undefined)).rejects.toMatchObject({
      code: "CONTENT_DAMAGED",
      message: `the content of the task ${taskId} is damaged`,
    });
    await life.cancel(taskId);
  });

  test("shows a parent without the question of a child that is not JSON, and with all others", async () => {
    const life = aLife(opened.store);
    const [taskId, child] = [await life.parked([anAsk("date")]), await life.parked([anAsk("beds")])];
    await opened.redis.hset(taskKey(taskId), "ask:hotel:beds", `~ 1 0 ${child} beds`);
    await opened.redis.hset(taskKey(child), "ask:beds", "digest-of-beds 2 0 0 1 2 neither JSON");
    const task = await opened.store.load(taskId);
    expect(task).not.toHaveProperty("unreadable");
    expect(task?.asks.map(({ key }) => key)).toStrictEqual(["date"]);
    for (const each of [taskId, child]) await life.cancel(each);
  });

  test("cancels a child whose call is not JSON with its parent", async () => {
    const life = aLife(opened.store);
    const [taskId, child] = [await life.create(), await life.create()];
    await opened.redis.hset(taskKey(taskId), `ask:${callKey("hotel")}`, `${child} 1 0 0 1 2 ["cancel","call","child"]`);
    await opened.redis.hset(taskKey(child), "call", "neither JSON");
    await life.cancel(taskId);
    expect(await opened.store.load(child)).toMatchObject({ status: "cancelled" });
  });

  test("shows a task whose call is not JSON to nobody, and lists its owner's other tasks", async () => {
    const life = aLife(opened.store);
    const quotas = { principal: { tasks: 10, bytes: 10_000 }, tenant: { tasks: 10, bytes: 10_000 } };
    const call = aCall({ principal: "ada", tenant: "acme" });
    const create = async () => {
      const taskId = newTaskId();
      expect(await opened.store.create({ taskId, call, graceMs: GRACE_MS, quotas })).toBe("created");
      return taskId;
    };
    const [damaged, other] = [await create(), await create()];
    await opened.redis.hset(taskKey(damaged), "call", "neither JSON");
    expect(await opened.store.load(damaged)).toMatchObject({ call: { principal: "", hidden: true }, unreadable: "damaged" });
    const shown = (await opened.store.list({ principal: "ada", limit: 10 })).tasks.filter((task) => !task.hidden);
    expect(shown.map(({ id }) => id)).toStrictEqual([other]);
    await endDamaged(damaged);
    await life.cancel(other);
  });

  test("keeps all keys of a new task in the task's partition, so that one script may use them", async () => {
    const store = bare();
    const taskId = newTaskId().replace(/^0/, "3");
    const quotas = { principal: { tasks: 10, bytes: 10_000 }, tenant: { tasks: 10, bytes: 10_000 } };
    const once = { key: "k", fingerprint: "f" };
    const audit = { action: "call", taskId } as const;
    await store.create({
      taskId,
      call: aCall(),
      graceMs: GRACE_MS,
      quotas,
      once,
      audit,
      lane: `${createKeys(opened.prefix).lane(3, "nobody")} 1`,
    });
    await store.cancel({ taskId, nowMs: Date.now(), message: "", audit: { ...audit, action: "cancel" } });
    const held = await keysOf(opened.redis, opened.prefix);
    expect(held.filter((key) => /:\{p3\}:(audit|once:)/.test(key))).toHaveLength(2);
    expect(await opened.redis.xlen(createKeys(opened.prefix).audit(3))).toBe(2);
    expect(held.filter((key) => /:\{p0\}:(audit|once:|waiting)/.test(key))).toEqual([]);
  });

  test("wakes listeners of every node if nothing else is said", async () => {
    const taskId = await aLife(opened.store).create();
    const heard = vi.fn();
    const stop = await opened.wakeUps.watch(taskId, heard);
    await bare().cancel({ taskId, nowMs: Date.now(), message: "" });
    await expect.poll(() => heard).toHaveBeenCalled();
    stop();
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

  describe("whose content key is gone", () => {
    const journalOf = (taskId: string) => opened.redis.hgetall(createKeys(opened.prefix).task(taskId)?.[1] ?? "");
    const result = { type: "result", result: { text: "secret" } } as const;
    const nowMs = Date.now();

    test("writes nothing but ends, without content, if the key was erased", async () => {
      const erased = withKey(() => "erased");
      const life = aLife(opened.store);
      await expect(erased.create({ taskId: newTaskId(), call: aCall(), graceMs: GRACE_MS })).rejects.toMatchObject({
        code: "CONTENT_ERASED",
      });

      const finished = await life.create();
      const token = "token";
      const opening = [aStep("opened", 1)];
      expect(await erased.begin({ taskId: finished, run: 1, token, nowMs, leaseMs: LEASE_MS, opening })).toMatchObject({
        type: "unreadable",
        reason: "erased",
        task: { id: finished },
      });
      const end = {
        taskId: finished,
        token,
        nowMs,
        message: "secret",
        entries: [aStep("paid", 2)],
        outcome: result,
        owes: "failed",
      } as const;
      expect(await erased.finish(end)).toBe("finished");
      expect(await journalOf(finished)).toEqual({});
      expect(Object.keys(await opened.redis.hgetall(taskKey(finished))).toSorted()).toEqual(["call", "state"]);
      expect(await opened.store.load(finished)).not.toHaveProperty("owed");

      const cancelled = await life.create();
      expect(await erased.cancel({ taskId: cancelled, nowMs, message: "secret" })).toBe("cancelled");
      expect(await opened.redis.hexists(taskKey(cancelled), "message")).toBe(0);

      const owed = await life.create();
      const owing = await life.begin({ taskId: owed, run: 1 });
      const failed = { type: "error", error: { code: 1, message: "no" } } as const;
      await opened.store.finish({ taskId: owed, token: owing, nowMs, entries: [], outcome: failed, owes: "failed" });
      expect(await erased.recorded(owed)).toMatchObject({ type: "unreadable", reason: "erased", task: { call: { kind: "tool" } } });
      expect(
        await erased.settle({ taskId: owed, token: await life.begin({ taskId: owed, run: 2 }), entries: [aStep("undone", 1)], nowMs }),
      ).toBe("settled");
      expect(await journalOf(owed)).toEqual({});
    });

    test("tells the parent of a child only that it was cancelled, if the key was erased", async () => {
      const life = aLife(opened.store);
      const parent = await life.create();
      const token = await life.begin({ taskId: parent, run: 1 });
      const id = `${newTaskId()}~`;
      const link = { taskId: parent, key: "hotel", rootId: parent, depth: 1, path: "hotel" };
      const { askedAtMs, deadlineMs, onTimeout } = anAsk("hotel");
      const open = {
        key: "call:hotel",
        digest: id,
        calledAt: "0",
        request: { type: "call", tool: "child" },
        askedAtMs,
        deadlineMs,
        onTimeout,
      } as const;
      const holder = { token, open, nowMs, leaseMs: LEASE_MS };
      await opened.store.create({ taskId: id, call: aCall({ hidden: true, parent: link }), graceMs: GRACE_MS, parent: holder });
      const ended = { taskId: id, token: await life.begin({ taskId: id, run: 1 }), nowMs, entries: [], outcome: result };
      await withKey(() => "erased").finish({ ...ended, parent: { link, childEndsMax: 10_000 } });
      expect(Object.values(await journalOf(parent)).join()).toMatch(/ ! cancelled$/);
      await life.cancel(parent);
    });

    test("stays as it is if the key is missing, because it may come back", async () => {
      const missing = withKey(() => "key_missing");
      const life = aLife(opened.store);
      const taskId = await life.create();
      const before = await opened.redis.hgetall(taskKey(taskId));
      const begin = { taskId, run: 1, token: "token", nowMs, leaseMs: LEASE_MS };
      expect(await missing.begin(begin)).toStrictEqual({ type: "refused", reason: "key_missing" });
      expect(await opened.redis.hgetall(taskKey(taskId))).toEqual(before);
      const token = await life.begin({ taskId, run: 1 });
      await expect(missing.finish({ taskId, token, nowMs, entries: [], outcome: result })).rejects.toMatchObject({
        code: "CONTENT_KEY_MISSING",
      });
      expect(await missing.recorded(taskId)).toMatchObject({ type: "unreadable", reason: "key_missing", task: { call: { kind: "tool" } } });
      expect(await life.finish(taskId, token)).toBe("finished");
    });

    test("works as any other once the key has been found", async () => {
      const found = withKey(() => Promise.resolve("open"));
      const taskId = await aLife(found).parked([anAsk("size")]);
      expect(await found.load(taskId)).toMatchObject({ asks: [{ key: "size" }] });
      await aLife(found).cancel(taskId);
    });
  });

  test("keeps the entries with which a compensation is settled", async () => {
    const { store } = opened;
    const life = aLife(store);
    const taskId = await life.create();
    const nowMs = Date.now();
    const failed = { type: "error", error: { code: 1, message: "no" } } as const;
    await store.finish({ taskId, token: await life.begin({ taskId, run: 1 }), nowMs, entries: [], outcome: failed, owes: "failed" });
    const token = await life.begin({ taskId, run: 2 });
    expect(await store.settle({ taskId, token, nowMs, entries: [aStep("compensation:/undo", 1)] })).toBe("settled");
    expect((await store.journal(taskId)).length).toBe(1);
  });

  test("reads a feed from the cursors that it gave, and refuses any other", async () => {
    const { store } = opened;
    const life = aLife(store);
    const taskId = await life.create();
    const token = await life.begin({ taskId, run: 1 });
    const items = Array.from({ length: 12 }, (_, progress) => ({ type: "progress", progress }) as const);
    await store.report({ taskId, token, nowMs: Date.now(), items });
    const all = await store.feed(taskId, undefined);
    expect(all.items).toEqual(items);
    expect((await store.feed(taskId, all.cursors[10])).items).toEqual(items.slice(11));
    expect(await store.feed(taskId, "99999999999999-12")).toStrictEqual({ items: [], cursor: "99999999999999-12", cursors: [] });
    for (const cursor of ["", "1", "1-", "-1", "a1-1", "1-1a", "1-1-1", "+"]) {
      await expect(store.feed(taskId, cursor)).rejects.toMatchObject({
        code: "INVALID_CURSOR",
        message: "the cursor does not belong to a feed",
      });
    }
    await life.cancel(taskId);
  });
});
