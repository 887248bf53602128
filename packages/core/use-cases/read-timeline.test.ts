import { describe, expect, test } from "vitest";
import type { KeyedEntry } from "../journal.ts";
import { alice, aCall, anAsk, bob, inMemory, mallory, NOW_MS } from "./in-memory.fixture.ts";
import { readTimeline, TIMELINE_ITEMS_MAX, TIMELINE_LINES_MAX } from "./read-timeline.ts";

const step = (name: string, place?: number): KeyedEntry => ({
  key: `step:${name}`,
  entry: { digest: "", outcome: { type: "value", value: "said" }, calledAt: "0", ...(place !== undefined && { place }) },
});

async function atWork() {
  const { services, real, put } = inMemory();
  const taskId = "0-1";
  await real.create({ taskId, call: aCall(), graceMs: 1_000 });
  await real.begin({ taskId, run: 1, token: "run", nowMs: NOW_MS, leaseMs: 1_000 });
  const fence = { taskId, token: "run", nowMs: NOW_MS };
  return {
    services,
    put,
    taskId,
    record: (entries: readonly KeyedEntry[]) => real.record({ ...fence, entries, leaseMs: 1_000 }),
    report: (from: number, to: number) =>
      real.report({ ...fence, items: Array.from({ length: to - from + 1 }, (_, i) => ({ type: "progress", progress: from + i })) }),
    read: (after?: string) => readTimeline(services, { taskId, caller: alice, ...(after !== undefined && { after }) }),
  };
}

describe("a timeline", () => {
  test("of a task that has done nothing is empty", async () => {
    const { services, taskId, read } = await atWork();
    const task = await services.store.load(taskId);
    expect(await read()).toStrictEqual({ task, lines: [], entries: 0, settled: 0, items: [], cursor: undefined, more: false });
  });

  test("has the newest lines, in the order in which they settled, and counts all of them", async () => {
    const { record, read } = await atWork();
    await record([step("open"), step("second", 2), step("first", 1)]);
    const few = await read();
    expect(few.lines).toStrictEqual([
      { key: "step:first", place: 1, state: "recorded" },
      { key: "step:second", place: 2, state: "recorded" },
      { key: "step:open", state: "recorded" },
    ]);
    expect([few.entries, few.settled]).toStrictEqual([3, 2]);

    await record(Array.from({ length: TIMELINE_LINES_MAX - 2 }, (_, i) => step(`more-${i}`, 3 + i)));
    const many = await read();
    expect([many.lines.length, many.lines[0]?.key, many.lines.at(-1)?.key]).toStrictEqual([500, "step:second", "step:open"]);
    expect([many.entries, many.settled]).toStrictEqual([501, 500]);
  });

  test("has the oldest items after the reader's cursor, at most one page, and says whether there are more", async () => {
    const { report, read } = await atWork();
    await report(1, TIMELINE_ITEMS_MAX - 1);
    expect(await read()).toMatchObject({ items: { length: 199 }, more: false });
    await report(TIMELINE_ITEMS_MAX, TIMELINE_ITEMS_MAX + 1);
    const first = await read();
    expect(first).toMatchObject({ items: { length: 200, 0: { progress: 1 } }, more: true });
    expect(await read(first.cursor)).toMatchObject({ items: [{ progress: 201 }], more: false });
  });

  test("is for the owner only", async () => {
    const { services, put } = await atWork();
    const taskId = await put([anAsk("bobs", { audience: { to: { people: ["bob"] } } })]);
    await expect(readTimeline(services, { taskId, caller: bob })).rejects.toMatchObject({ code: "NOT_PERMITTED" });
    await expect(readTimeline(services, { taskId, caller: mallory })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });
});
