import { type Called, createTask, DEFAULT_SETTINGS, type Runnable, type Services } from "@parley/core";
import { createScope, createValidator, sha256Digest, systemClock } from "@parley/node";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { aCall, accept, aLife, anAsk, GRACE_MS } from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { createIds } from "../tasks/ids.ts";
import type { Consumer, ConsumeRuns, TakenRun } from "./consume-runs.ts";

const tool: Runnable = {
  kind: "tool",
  name: "subject",
  settings: { attempts: 1, backoffMs: 1, runTimeoutMs: 1, retentionMs: 1_000 },
  earlyReplies: false,
  readArguments: (args) => ({ ok: true, args }),
  run: async () => ({}),
};

let opened: OpenRedis;
let consumer: Consumer | undefined;
beforeEach(async () => {
  opened = await openRedis();
  consumer = undefined;
});
afterEach(() => opened.close());

const run = vi.fn(async (_run: TakenRun): Promise<void> => undefined);
beforeEach(() => run.mockReset());

async function consume(how: Partial<ConsumeRuns> = {}): Promise<void> {
  consumer = await opened.consumeRuns({ concurrency: 2, run, sweep: async () => undefined, ...how });
}

/** A task that waits for one answer. */
const parked = () => aLife(opened.store, opened.newTaskId).parked([anAsk("size")]);

/** Live workers are known a moment after the first request for them. */
const lane = (taskId: string) => until(() => opened.queue.lane?.({ taskId, cause: "answered" }));

const answer = (taskId: string, more: { lane?: string } = {}) =>
  opened.store.answer({
    taskId,
    key: "size",
    digest: "digest-of-size",
    answer: accept("4"),
    nowMs: opened.now(),
    graceMs: GRACE_MS,
    ...more,
  });

const jobs = async () => (await keysOf(opened.redis, opened.prefix)).filter((key) => /:run:0-[^:]*$/.test(key));

describe("an answer", () => {
  test("that a worker receives runs there, and leaves no job to add", async () => {
    await consume();
    const taskId = await parked();

    expect(await answer(taskId, { lane: await lane(taskId) })).toEqual({ receipt: "accepted" });

    await expect
      .poll(() => run.mock.calls)
      .toEqual([[{ taskId, run: 2, cause: "answered", queuedAtMs: expect.any(Number), isSecondHand: false }]]);
    expect(await jobs()).toEqual([]);
  });

  test("that no worker receives returns the run to add, and the task is due anyway", async () => {
    await consume();
    const taskId = await parked();
    const gone = (await lane(taskId)).replace(/[^:]+$/, "nobody");

    expect(await answer(taskId, { lane: gone })).toEqual({ receipt: "accepted", nextRun: 2 });

    expect(await opened.store.overdue({ partition: 0, nowMs: opened.now() + GRACE_MS, limit: 10 })).toEqual([{ taskId, run: 2 }]);
    expect(run).not.toHaveBeenCalled();
  });

  test("that a worker receives is due until its run has begun: if the worker dies, the sweep finds it", async () => {
    await consume();
    const taskId = await parked();

    await answer(taskId, { lane: await lane(taskId) });

    await expect.poll(() => run).toHaveBeenCalledTimes(1);
    expect(await opened.store.overdue({ partition: 0, nowMs: opened.now() + GRACE_MS, limit: 10 })).toEqual([{ taskId, run: 2 }]);
  });

  test("that is sent twice is offered once; the second sender gets the run to add, in case the first one died", async () => {
    await consume();
    const taskId = await parked();
    const ear = await lane(taskId);

    const receipts = await Promise.all([answer(taskId, { lane: ear }), answer(taskId, { lane: ear })]);

    expect(receipts).toEqual([{ receipt: "accepted" }, { receipt: "duplicate", nextRun: 2 }]);
    await expect.poll(() => run).toHaveBeenCalledTimes(1);
  });

  test("during an open run is offered to no worker: the run sees it when it parks", async () => {
    await consume();
    const taskId = await parked();
    const life = aLife(opened.store);
    await life.begin({ taskId, run: 2 }, opened.now());

    expect(await answer(taskId, { lane: await lane(taskId) })).toEqual({ receipt: "accepted" });

    await opened.queue.add({ taskId: opened.newTaskId(), run: 1 });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);
    expect(run.mock.calls[0]![0].taskId).not.toBe(taskId);
  });
});

describe("a new task", () => {
  const share = "ada";

  /** As createTask requests it; a worker is known a moment after the first request. */
  const laneOf = (taskId: string, of: { share?: string; calls?: Called } = {}) =>
    until(() => opened.queue.lane?.({ taskId, cause: "created", ...of }));

  async function create(taskId = opened.newTaskId(), of: { lane?: string } = {}) {
    const created = await opened.store.create({ taskId, call: aCall(), graceMs: GRACE_MS, lane: await laneOf(taskId), ...of });
    return { taskId, created };
  }

  test("that a worker receives runs there, and leaves no job to add", async () => {
    await consume();

    const { taskId, created } = await create();

    expect(created).toBe("delivered");
    await expect
      .poll(() => run.mock.calls)
      .toEqual([[{ taskId, run: 1, cause: "created", queuedAtMs: expect.any(Number), isSecondHand: false }]]);
    expect(await jobs()).toEqual([]);
    expect(await opened.store.overdue({ partition: 0, nowMs: opened.now() + GRACE_MS, limit: 10 })).toEqual([{ taskId, run: 1 }]);
  });

  test("is offered together with what it calls", async () => {
    await consume();
    const taskId = opened.newTaskId();
    const lane = await laneOf(taskId, { calls: { kind: "tool", name: "a tool" } });
    expect((await create(taskId, { lane })).created).toBe("delivered");
    await expect.poll(() => run.mock.calls).toMatchObject([[{ taskId, run: 1, calls: { kind: "tool", name: "a tool" } }]]);
  });

  test("of a counted share is offered and counted in one change", async () => {
    const quotas = { principal: { tasks: 2, bytes: 1_000_000 }, tenant: { tasks: 2, bytes: 1_000_000 } };
    await consume();
    const call = aCall({ principal: share });
    const created = [];
    for (let task = 0; task < 3; task += 1) {
      const taskId = opened.newTaskId();
      created.push(await opened.store.create({ taskId, call, graceMs: GRACE_MS, quotas, lane: await laneOf(taskId, { share }) }));
    }
    expect(created).toEqual(["delivered", "delivered", { over: "tasks", of: "principal" }]);
    await expect.poll(() => run).toHaveBeenCalledTimes(2);
  });

  test("that is created twice is offered once", async () => {
    await consume();
    const { taskId } = await create();

    expect((await create(taskId)).created).toBe("exists");

    await expect.poll(() => run).toHaveBeenCalledTimes(1);
  });

  for (const [what, waiting] of [
    ["a new one", { cause: "created" }],
    ["an answered one", { cause: "answered" }],
  ] as const) {
    test(`overtakes no one: while ${what} waits for a worker, it goes to the queue`, async () => {
      const release = Promise.withResolvers<void>();
      run.mockImplementation(() => release.promise);
      await consume({ concurrency: 3 });
      // One for each run that a queue may have active here, and one that waits.
      for (let task = 0; task < 4; task += 1) await opened.queue.add({ taskId: opened.newTaskId(), run: 1, ...waiting });
      await expect.poll(() => run).toHaveBeenCalledTimes(3);

      expect((await create()).created).toBe("created");

      release.resolve();
      await expect.poll(() => run).toHaveBeenCalledTimes(4);
      await expect.poll(async () => (await create()).created).toBe("delivered");
    });
  }

  test("that no worker receives goes to the queue, and for a moment the next ones do so without an offer", async () => {
    await consume();
    const taskId = opened.newTaskId();
    const gone = (await laneOf(taskId)).replace(/[^:]+$/, "nobody 1");

    expect((await create(taskId, { lane: gone })).created).toBe("created");

    expect(opened.queue.lane?.({ taskId, cause: "created" })).toBeUndefined();
    expect(opened.queue.lane?.({ taskId, cause: "answered" })).toBeDefined();
    expect(await laneOf(taskId)).toBeDefined();
    expect(run).not.toHaveBeenCalled();
  });

  test("that a worker has no place for is passed on to the queue, with its share's turn", async () => {
    const release = Promise.withResolvers<void>();
    run.mockImplementation(() => release.promise);
    await consume({ concurrency: 2 }); // one, and one that the queue keeps for itself
    await create();
    await opened.queue.add({ taskId: opened.newTaskId(), run: 1 });
    await expect.poll(() => run).toHaveBeenCalledTimes(2);

    const taskId = opened.newTaskId();
    const lane = (await laneOf(taskId)).replace(/\d+$/, "7");
    expect((await create(taskId, { lane })).created).toBe("delivered");

    await expect.poll(() => opened.redis.zrange(`${opened.prefix}:{p0}:run:prioritized`, "0", "-1")).toEqual([`${taskId}.1`]);
    expect(await opened.redis.hget(`${opened.prefix}:{p0}:run:${taskId}.1`, "priority")).toBe("7");
    release.resolve();
    await expect.poll(() => run).toHaveBeenCalledTimes(3);
  });

  test("is called, offered and run without a job, and with a job if the worker is gone", async () => {
    await consume();
    await laneOf(opened.newTaskId());
    const services = {
      ...opened,
      digest: sha256Digest,
      clock: systemClock,
      scope: createScope(),
      validate: createValidator(),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      settings: DEFAULT_SETTINGS,
    } as Services;
    const caller = { principal: share, tenant: "acme", scopes: [], authenticatedBy: "test", names: [], groups: [], roles: [] };
    const call = () => createTask(services, tool, { caller, door: "test", arguments: {}, capabilities: {}, hidden: false });

    const { id } = await call();
    await expect.poll(() => run.mock.calls.map(([{ taskId }]) => taskId)).toEqual([id]);
    expect(await jobs()).toEqual([]);

    await consumer!.close();
    const { id: queued } = await call();
    expect(await jobs()).toEqual([`${opened.prefix}:{p0}:run:${queued}.1`]);
  });
});

describe("a worker", () => {
  test("without a free place passes the run on to the queue, at the limit and one beyond", async () => {
    const release = Promise.withResolvers<void>();
    run.mockImplementation(() => release.promise);
    await consume({ concurrency: 3 }); // two, and one that the queue keeps for itself
    const tasks = [await parked(), await parked(), await parked(), await parked()];
    for (const taskId of tasks) await answer(taskId, { lane: await lane(taskId) });

    // The third came as a job; the fourth waits in the queue, where another worker could take it.
    await expect.poll(() => jobs()).toHaveLength(2);
    await expect.poll(() => run.mock.calls.map(([{ taskId }]) => taskId)).toEqual(tasks.slice(0, 3));
    await expect.poll(() => opened.redis.llen(`${opened.prefix}:{p0}:run:wait`)).toBe(1);

    release.resolve();
    await expect.poll(() => run.mock.calls.map(([{ taskId }]) => taskId)).toEqual(tasks);
  });

  test("whose places are taken by jobs passes on what a lane offers, until one of them ends", async () => {
    const release = Promise.withResolvers<void>();
    run.mockImplementationOnce(() => release.promise).mockImplementationOnce(() => release.promise);
    await consume({ concurrency: 2 });
    for (let count = 0; count < 2; count += 1) await opened.queue.add({ taskId: opened.newTaskId(), run: 1, cause: "created" });
    await expect.poll(() => run).toHaveBeenCalledTimes(2);
    const passed = await parked();
    await answer(passed, { lane: await lane(passed) });
    await expect.poll(() => opened.redis.llen(`${opened.prefix}:{p0}:run:wait`)).toBe(1);
    expect(run).toHaveBeenCalledTimes(2);

    release.resolve();
    await expect.poll(() => jobs()).toEqual([]);
    expect(run).toHaveBeenCalledTimes(3);
    const offered = await parked();
    const ends = Promise.withResolvers<void>();
    run.mockImplementationOnce(() => ends.promise);
    await answer(offered, { lane: await lane(offered) });
    await expect.poll(() => run).toHaveBeenCalledTimes(4);
    expect(await jobs()).toEqual([]);
    ends.resolve();
  });

  test("with no more places than queues listens to no lane: offers reach no worker", async () => {
    await consume({ concurrency: 1 });
    const taskId = await parked();

    expect(await answer(taskId, { lane: await lane(taskId) })).toEqual({ receipt: "accepted", nextRun: 2 });
  });

  test("that closes stops listening and waits for the runs that came through the lane", async () => {
    const release = Promise.withResolvers<void>();
    run.mockImplementation(() => release.promise);
    await consume();
    const [first, second] = [await parked(), await parked()];
    const ear = await lane(first);
    await answer(first, { lane: ear });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);

    let isClosed = false;
    const closed = consumer!.close().then(() => (isClosed = true));
    await answer(second, { lane: ear });
    await expect.poll(() => opened.redis.zcard(`${opened.prefix}:workers`)).toBe(0);
    expect(isClosed).toBe(false);

    release.resolve();
    await closed;
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("that closes passes offers on until none arrive", async () => {
    const told: string[] = [];
    // Redis decides which of them still arrive before it processes the unsubscribe; in some round one does.
    for (let round = 0; round < 20 && told.length === 0; round += 1) {
      await consume();
      const channel = `${opened.prefix}:{p0}:lane:${consumer!.id}`;
      await expect.poll(() => opened.redis.pubsub("NUMSUB", channel)).toEqual([channel, 1]);
      const ear = `${channel} 1`;
      const tasks = Array.from({ length: 20 }, () => opened.newTaskId());
      const receipts = tasks.map((taskId) => opened.store.create({ taskId, call: aCall(), graceMs: GRACE_MS, lane: ear }));
      const closed = consumer!.close();
      const received = await Promise.all(receipts);
      await closed;

      told.push(...tasks.filter((_taskId, at) => received[at] === "delivered"));
      const taken = run.mock.calls.map(([{ taskId }]) => taskId);
      const queued = await jobs();
      expect(told.filter((taskId) => !taken.includes(taskId) && !queued.includes(`${opened.prefix}:{p0}:run:${taskId}.1`))).toEqual([]);
      const after = { taskId: opened.newTaskId(), call: aCall(), graceMs: GRACE_MS, lane: ear };
      expect(await opened.store.create(after)).toBe("created");
    }
    expect(told.length).toBeGreaterThan(0);
  });

  test("whose run throws logs it without content, and continues", async () => {
    await consume();
    run.mockRejectedValueOnce(new Error("what a person said"));
    const [first, second] = [await parked(), await parked()];
    await answer(first, { lane: await lane(first) });
    await expect.poll(() => opened.logged).toContainEqual({ level: "error", message: "run failed" });

    await answer(second, { lane: await lane(second) });

    await expect.poll(() => run).toHaveBeenCalledTimes(2);
  });
});

test("there is no lane for an invalid task id, and none without a live worker", async () => {
  expect(opened.queue.lane?.({ taskId: "not a task", cause: "answered" })).toBeUndefined();
  expect(opened.queue.lane?.({ taskId: createIds({ partitions: 1 }).taskId(), cause: "answered" })).toBeUndefined();
});
