import { systemClock } from "@parley/node";
import { describe, expect, test, vi } from "vitest";
import type { RunRef } from "../ports.ts";
import { createMemoryQueue } from "./queue.ts";

describe("the queue in memory", () => {
  test("hands out a run that an answer overtook while the job that the answer added too early is active, and only once", async () => {
    const queue = createMemoryQueue();
    const refusing = Promise.withResolvers<void>();
    const run = vi.fn(async (_ref: RunRef) => undefined as void).mockImplementationOnce(() => refusing.promise);
    const worker = queue.consume({ concurrency: 4, run });
    const next = { taskId: "t", run: 2 };
    await queue.add({ ...next, cause: "answered" });
    await expect.poll(() => run).toHaveBeenCalledTimes(1);

    await queue.add({ ...next, cause: "overdue" });
    await queue.add({ ...next, cause: "overtaken" });
    await queue.add({ ...next, cause: "overtaken" });

    await expect.poll(() => run).toHaveBeenCalledTimes(2);
    refusing.resolve();
    await worker.close();
    expect(run.mock.calls).toMatchObject([[next], [next]]);
    expect(queue.waiting).toEqual([]);
  });

  test("hands out runs in order, a bounded number at once, and the next when one ends, however it ends", async () => {
    const queue = createMemoryQueue();
    const ends: PromiseWithResolvers<void>[] = [];
    const begun: string[] = [];
    await queue.add({ taskId: "a", run: 1 });
    const worker = queue.consume({
      concurrency: 2,
      run({ taskId, run }) {
        begun.push(`${taskId}.${run}`);
        const end = Promise.withResolvers<void>();
        ends.push(end);
        return end.promise;
      },
    });
    for (const [taskId, run] of [
      ["a", 2],
      ["b", 1],
      ["c", 1],
    ] as const)
      await queue.add({ taskId, run });
    // Known while it waits and while it is active.
    for (const run of [1, 2]) await queue.add({ taskId: "a", run });
    await systemClock.idle();
    expect([begun, queue.waiting]).toStrictEqual([
      ["a.1", "a.2"],
      [
        { taskId: "b", run: 1 },
        { taskId: "c", run: 1 },
      ],
    ]);
    ends[1]?.reject(new Error("broken"));
    await systemClock.idle();
    expect(begun).toStrictEqual(["a.1", "a.2", "b.1"]);
    // A run that has ended may be added again.
    await queue.add({ taskId: "a", run: 2 });
    ends[0]?.resolve();
    ends[2]?.resolve();
    await systemClock.idle();
    expect(begun).toStrictEqual(["a.1", "a.2", "b.1", "c.1", "a.2"]);

    let isClosed = false;
    const closing = worker.close().then(() => (isClosed = true));
    await queue.add({ taskId: "d", run: 1 });
    ends[3]?.resolve();
    await systemClock.idle();
    expect([isClosed, begun.length]).toStrictEqual([false, 5]);
    ends[4]?.resolve();
    await closing;
    expect([begun.length, queue.waiting]).toStrictEqual([5, [{ taskId: "d", run: 1 }]]);
  });
});
