import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { RunRef } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { newTaskId } from "../../../test/contract/builders.ts";
import { keysOf, type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import type { Consumer, ConsumeRuns, TakenRun } from "./consume-runs.ts";
import { startEmbeddedRedis } from "../embedded/embedded.ts";

describe("the run queue and its consumers", () => {
  let opened: OpenRedis;
  beforeEach(async () => {
    opened = await openRedis();
  });
  afterEach(() => opened.close());

  const consume = (how: Partial<ConsumeRuns> = {}): Promise<Consumer> =>
    opened.consumeRuns({ concurrency: 4, run: async () => undefined, sweep: async () => undefined, ...how });

  test("an added run is handed out with its task, number, cause and time", async () => {
    const run = vi.fn(async (_run: TakenRun) => undefined);
    await consume({ run });
    const taskId = newTaskId();

    const before = Date.now();
    await opened.queue.add({ taskId, run: 7, cause: "answered" });

    await expect
      .poll(() => run.mock.calls)
      .toEqual([[{ taskId, run: 7, cause: "answered", queuedAtMs: expect.any(Number), isSecondHand: false }]]);
    const { queuedAtMs } = run.mock.calls[0]![0];
    // Redis' clock and this one may differ by a few milliseconds.
    expect(before - 50 < queuedAtMs && queuedAtMs < Date.now() + 50).toBe(true);
  });

  test("the first run of a task is handed out with what the task calls, if its job says so", async () => {
    const run = vi.fn(async (_run: TakenRun) => undefined);
    await consume({ run });
    const calls = { kind: "tool", name: "a tool" } as const;
    await opened.queue.add({ taskId: newTaskId(), run: 1, cause: "created", calls });
    await expect.poll(() => run.mock.calls).toMatchObject([[{ run: 1, cause: "created", calls }]]);
    await opened.queue.add({ taskId: newTaskId(), run: 1, cause: "created" });
    await expect.poll(() => run).toHaveBeenCalledTimes(2);
    expect(run.mock.calls[1]![0]).not.toHaveProperty("calls");
  });

  test("a run that was added twice is handed out once, and can be added again when it has ended", async () => {
    const run = vi.fn(async (_run: TakenRun) => undefined);
    const ref = { taskId: newTaskId(), run: 1 };
    await Promise.all([opened.queue.add(ref), opened.queue.add(ref), opened.queue.add(ref)]);
    await consume({ run });
    const after = { taskId: newTaskId(), run: 1 };
    await opened.queue.add(after);
    await expect.poll(() => run.mock.calls.at(-1)).toMatchObject([after]);
    expect(run.mock.calls).toHaveLength(2);
    await noJobLeft();

    await opened.queue.add(ref);

    await expect.poll(() => run.mock.calls).toHaveLength(3);
  });

  test("a run that an answer overtook is handed out while the job that the answer added too early is active, and only once", async () => {
    const refusing = Promise.withResolvers<undefined>();
    const run = vi.fn(async (_run: TakenRun) => undefined).mockImplementationOnce(() => refusing.promise);
    await consume({ run });
    const next = { taskId: newTaskId(), run: 2 };
    await opened.queue.add({ ...next, cause: "answered" });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);

    await opened.queue.add({ ...next, cause: "overdue" });
    await Promise.all([1, 2].map(() => opened.queue.add({ ...next, cause: "overtaken" })));

    await expect.poll(() => run.mock.calls.map(([{ cause }]) => cause)).toEqual(["answered", "overtaken"]);
    expect(run.mock.calls[1]).toMatchObject([next]);
    refusing.resolve(undefined);
    await noJobLeft();
    expect(run).toHaveBeenCalledTimes(2);
  });

  test("answers go before new calls, however many wait; each kind in order of arrival", async () => {
    const [first, second, third, fourth, fifth] = Array.from({ length: 5 }, () => newTaskId());
    await opened.queue.add({ taskId: first!, run: 1, cause: "created" });
    await opened.queue.add({ taskId: second!, run: 1, cause: "created" });
    await opened.queue.add({ taskId: third!, run: 2, cause: "answered" });
    await opened.queue.add({ taskId: fourth!, run: 2, cause: "overdue" });
    await opened.queue.add({ taskId: fifth!, run: 2, cause: "overtaken" });
    const run = vi.fn(async (_run: TakenRun) => undefined);

    await consume({ run, concurrency: 1 });

    await expect.poll(() => run.mock.calls.map(([{ taskId }]) => taskId)).toEqual([third, fourth, fifth, first, second]);
    // An overdue run may have been begun by a worker that died.
    expect(run.mock.calls.map(([{ isSecondHand }]) => isSecondHand)).toEqual([false, true, false, false, false]);
    await noJobLeft();
  });

  test("the consumer's limit on active runs holds; further ones wait for their turn", async () => {
    const { run, mostAtOnce } = runsTogether(opened, 2);
    for (let count = 0; count < 12; count += 1) await opened.queue.add({ taskId: newTaskId(), run: 1, cause: "created" });
    await consume({ run, concurrency: 2 });
    await expect.poll(() => run).toHaveBeenCalledTimes(12);
    await noJobLeft();
    expect(mostAtOnce).toEqual({ 0: 2 });
  });

  test("the partitions share the consumer's places evenly", async () => {
    const spread = await openRedis({ partitions: 4 });
    const { run, mostAtOnce } = runsTogether(spread, 4);
    for (const partition of spread.partitions) {
      for (let count = 0; count < 3; count += 1) {
        await spread.queue.add({ taskId: newTaskId().replace(/^0/, String(partition)), run: 1, cause: "created" });
      }
    }
    await spread.consumeRuns({ concurrency: 4, run, sweep: async () => undefined });
    await expect.poll(() => run).toHaveBeenCalledTimes(12);
    expect(mostAtOnce).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1 });
    await expect.poll(async () => (await keysOf(spread.redis, spread.prefix)).filter((key) => /:run:\d-/.test(key))).toEqual([]);
    await spread.close();
  });

  test("a run that throws is logged, leaves nothing behind, and can be added again", async () => {
    const ref = { taskId: newTaskId(), run: 1 };
    const run = vi.fn(async (_ref: RunRef) => undefined).mockRejectedValueOnce(new Error("the store went away"));
    await consume({ run });
    await opened.queue.add(ref);
    const failed = { partition: 0, job: `${ref.taskId}.1`, error: "Error", stack: expect.any(Array) };
    await expect.poll(() => opened.lines).toContainEqual(["error", failed, "job failed"]);
    await noJobLeft();

    await opened.queue.add(ref);

    await expect.poll(() => run).toHaveBeenCalledTimes(2);
  });

  test("a run whose worker died is handed to another within seconds", async () => {
    const taskId = newTaskId();
    const first = Promise.withResolvers<void>();
    const run = vi.fn(async (_ref: RunRef) => undefined).mockImplementationOnce(() => first.promise as Promise<undefined>);
    await consume({ run });
    await opened.queue.add({ taskId, run: 1, cause: "created" });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);

    // A dead worker renews nothing, so its lock expires.
    await opened.redis.del(`${opened.prefix}:{p0}:run:${taskId}.1:lock`);

    await expect.poll(() => run).toHaveBeenCalledTimes(2);
    expect(run.mock.calls.map(([ref]) => (ref as TakenRun).isSecondHand)).toEqual([false, true]);
    expect(opened.lines).toContainEqual(["warn", { partition: 0, job: `${taskId}.1` }, "job taken over from a silent worker"]);
    first.resolve();
  });

  test("a partition is swept by one of all consumers in turn, not by each", async () => {
    const times: number[] = [];
    const sweep = async () => void times.push(Date.now());
    await Promise.all([consume({ sweep }), consume({ sweep }), consume({ sweep })]);

    await expect.poll(() => times.length).toBeGreaterThanOrEqual(4);

    const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
    expect(span / (times.length - 1)).toBeGreaterThan(600);
  });

  test("closing takes no more runs and waits for the active one", async () => {
    const atWork = Promise.withResolvers<void>();
    const run = vi.fn(async (_ref: RunRef) => {
      await atWork.promise;
    });
    const consumer = await consume({ run, concurrency: 1 });
    await opened.queue.add({ taskId: newTaskId(), run: 1 });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);

    const closed = consumer.close();
    await opened.queue.add({ taskId: newTaskId(), run: 1 });
    expect(await Promise.race([closed.then(() => "closed"), wait(100, "waiting")])).toBe("waiting");
    atWork.resolve();
    await closed;

    expect(run).toHaveBeenCalledTimes(1);
  });

  test("a Redis that refuses writes is retried at intervals, and runs continue once it accepts writes again", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "parley-refusing-"));
    const embedded = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    const refusing = await openRedis({ url: embedded.url });
    const refuse = (replicas: number) => refusing.redis.config("SET", "min-replicas-to-write", replicas);
    const first = Promise.withResolvers<undefined>();
    const run = vi.fn(async (_run: TakenRun) => undefined).mockImplementationOnce(() => first.promise);
    for (let count = 0; count < 3; count += 1) await refusing.queue.add({ taskId: newTaskId(), run: 1 });
    await refusing.consumeRuns({ concurrency: 1, run, sweep: async () => undefined });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);

    await refuse(1);
    first.resolve(undefined);
    const troubles = () => refusing.lines.filter(([, , message]) => message === "queue in trouble");
    await expect
      .poll(troubles)
      .toContainEqual(["warn", { partition: 0, error: expect.stringContaining("NOREPLICAS") }, "queue in trouble"]);
    const before = troubles().length;
    await wait(2_000);
    expect(troubles().length - before).toBeLessThan(30);

    await refuse(0);
    await expect.poll(() => new Set(run.mock.calls.map(([{ taskId }]) => taskId)).size).toBe(3);
    await refusing.close();
    await embedded.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  /** Runs of which the first `together` wait for one another. Counts how many were active at once, by partition. */
  function runsTogether({ redis }: OpenRedis, together: number) {
    const mostAtOnce: Record<string, number> = {};
    const active: Record<string, number> = {};
    const all = Promise.withResolvers<void>();
    const run = vi.fn(async ({ taskId: [partition = ""] }: RunRef) => {
      active[partition] = (active[partition] ?? 0) + 1;
      mostAtOnce[partition] = Math.max(mostAtOnce[partition] ?? 0, active[partition]);
      if (Object.values(active).reduce((sum, count) => sum + count) >= together) all.resolve();
      await all.promise;
      // One run too many has begun by then.
      await redis.ping();
      active[partition] -= 1;
      return undefined;
    });
    return { run, mostAtOnce };
  }

  async function noJobLeft(): Promise<void> {
    await expect.poll(async () => (await keysOf(opened.redis, opened.prefix)).filter((key) => /:run:0-/.test(key))).toEqual([]);
  }
});
