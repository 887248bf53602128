import { createIds } from "./ids.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { accept, aLife, anAsk, GRACE_MS } from "../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import type { Consumer, ConsumeRuns, TakenRun } from "./consume-runs.ts";

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

/** Who lives is known a moment after it was asked first. */
async function lane(taskId: string): Promise<string> {
  return await vi.waitFor(() => {
    const found = opened.queue.lane?.(taskId);
    if (found === undefined) throw new Error("no worker is known");
    return found;
  });
}

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
  test("that a worker hears of runs there, and leaves no job to add", async () => {
    await consume();
    const taskId = await parked();

    expect(await answer(taskId, { lane: await lane(taskId) })).toEqual({ receipt: "accepted" });

    await vi.waitFor(() =>
      expect(run.mock.calls).toEqual([[{ taskId, run: 2, cause: "answered", queuedAtMs: expect.any(Number), isSecondHand: false }]]),
    );
    expect(await jobs()).toEqual([]);
  });

  test("that nobody hears of is given the run to add, and the task is due all the same", async () => {
    await consume();
    const taskId = await parked();
    const gone = (await lane(taskId)).replace(/[^:]+$/, "nobody");

    expect(await answer(taskId, { lane: gone })).toEqual({ receipt: "accepted", nextRun: 2 });

    expect(await opened.store.overdue({ partition: 0, nowMs: opened.now() + GRACE_MS, limit: 10 })).toEqual([{ taskId, run: 2 }]);
    expect(run).not.toHaveBeenCalled();
  });

  test("that a worker hears of is due until its run has begun: should the worker die, the sweep finds it", async () => {
    await consume();
    const taskId = await parked();

    await answer(taskId, { lane: await lane(taskId) });

    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1));
    expect(await opened.store.overdue({ partition: 0, nowMs: opened.now() + GRACE_MS, limit: 10 })).toEqual([{ taskId, run: 2 }]);
  });

  test("that comes twice is told of once; the second sender is given the run to add, in case the first one died", async () => {
    await consume();
    const taskId = await parked();
    const ear = await lane(taskId);

    const receipts = await Promise.all([answer(taskId, { lane: ear }), answer(taskId, { lane: ear })]);

    expect(receipts).toEqual([{ receipt: "accepted" }, { receipt: "duplicate", nextRun: 2 }]);
    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1));
  });

  test("while a run is open is told to nobody: the run that parks sees it", async () => {
    await consume();
    const taskId = await parked();
    const life = aLife(opened.store);
    await life.begin({ taskId, run: 2 }, opened.now());

    expect(await answer(taskId, { lane: await lane(taskId) })).toEqual({ receipt: "accepted" });

    await opened.queue.add({ taskId: opened.newTaskId(), run: 1 });
    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1));
    expect(run.mock.calls[0]![0].taskId).not.toBe(taskId);
  });
});

describe("a worker", () => {
  test("without a free place passes the run on to the queue, at the limit and one beyond", async () => {
    const release = Promise.withResolvers<void>();
    run.mockImplementation(() => release.promise);
    await consume({ concurrency: 3 }); // two, and one that the queue keeps for itself
    const tasks = [await parked(), await parked(), await parked(), await parked()];
    for (const taskId of tasks) await answer(taskId, { lane: await lane(taskId) });

    // The third came as a job, the fourth waits in the queue, where another worker could take it.
    await vi.waitFor(async () => expect(await jobs()).toHaveLength(2));
    await vi.waitFor(() => expect(run.mock.calls.map(([{ taskId }]) => taskId)).toEqual(tasks.slice(0, 3)));
    await vi.waitFor(async () => expect(await opened.redis.llen(`${opened.prefix}:{p0}:run:wait`)).toBe(1));

    release.resolve();
    await vi.waitFor(() => expect(run.mock.calls.map(([{ taskId }]) => taskId)).toEqual(tasks));
  });

  test("that closes hears no more and waits for the runs that came this way", async () => {
    const release = Promise.withResolvers<void>();
    run.mockImplementation(() => release.promise);
    await consume();
    const [first, second] = [await parked(), await parked()];
    const ear = await lane(first);
    await answer(first, { lane: ear });
    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1));

    let isClosed = false;
    const closed = consumer!.close().then(() => (isClosed = true));
    await answer(second, { lane: ear });
    await vi.waitFor(async () => expect(await opened.redis.zcard(`${opened.prefix}:workers`)).toBe(0));
    expect(isClosed).toBe(false);

    release.resolve();
    await closed;
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("whose run throws logs it without what was said, and continues", async () => {
    await consume();
    run.mockRejectedValueOnce(new Error("what a person said"));
    const [first, second] = [await parked(), await parked()];
    await answer(first, { lane: await lane(first) });
    await vi.waitFor(() => expect(opened.logged).toContainEqual({ level: "error", message: "run failed" }));

    await answer(second, { lane: await lane(second) });

    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(2));
  });
});

test("no lane is known of what is no task id, and none where no worker lives", async () => {
  expect(opened.queue.lane?.("not a task")).toBeUndefined();
  expect(opened.queue.lane?.(createIds({ partitions: 1 }).taskId())).toBeUndefined();
});
