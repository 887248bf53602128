import { describe, expect, test, vi } from "vitest";
import type { RunRef } from "../ports.ts";
import { createMemoryQueue } from "./queue.ts";

describe("the queue in memory", () => {
  test("hands out a run that an answer overtook while the job that the answer added too early is at work, and once", async () => {
    const queue = createMemoryQueue();
    const refusing = Promise.withResolvers<void>();
    const run = vi.fn(async (_ref: RunRef) => undefined as void).mockImplementationOnce(() => refusing.promise);
    const worker = queue.consume({ concurrency: 4, run });
    const next = { taskId: "t", run: 2 };
    await queue.add({ ...next, cause: "answered" });
    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1));

    await queue.add({ ...next, cause: "overdue" });
    await queue.add({ ...next, cause: "overtaken" });
    await queue.add({ ...next, cause: "overtaken" });

    await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(2));
    refusing.resolve();
    await worker.close();
    expect(run.mock.calls).toMatchObject([[next], [next]]);
    expect(queue.waiting).toEqual([]);
  });
});
