/** Two tasks whose calls one process holds: what happens to one is nothing to the other. */
import { beforeEach, describe, expect, test } from "vitest";
import { createHeldTasks, type HeldTasks, type HeldTasksDeps } from "./held-tasks.ts";

/** Calls that are held, and why each was dropped. */
let held: Set<string>;
let dropped: (readonly [taskId: string, why: string | undefined])[];
/** What the store says of tasks. */
let statuses: Map<string, string>;
/** Those who watch, by task. */
let watches: Map<string, ((change?: { isEnd: boolean }) => void)[]>;
let cannotWatch: boolean;
let atWork: Set<string>;
let work: Promise<void>[];
let tasks: HeldTasks;

beforeEach(() => {
  [held, dropped, statuses, watches, atWork, work, cannotWatch] = [new Set(["a", "b"]), [], new Map(), new Map(), new Set(), [], false];
  for (const taskId of held) statuses.set(taskId, "input_required");
  const calls = {
    has: (taskId: string) => held.has(taskId),
    isNeeded: () => true,
    abandoned: () => new Set<string>(),
    async drop(taskId: string, why?: string) {
      held.delete(taskId);
      dropped.push([taskId, why]);
    },
  };
  const wakeUps = {
    async watch(taskId: string, onChange: (change?: { isEnd: boolean }) => void) {
      if (cannotWatch) throw new Error("Redis is away");
      watches.set(taskId, [...(watches.get(taskId) ?? []), onChange]);
      return () => void watches.set(taskId, watches.get(taskId)?.filter((each) => each !== onChange) ?? []);
    },
  };
  const load = async (taskId: string) => (statuses.has(taskId) ? { status: statuses.get(taskId), asks: [] } : undefined);
  const deps = {
    calls,
    services: { store: { load }, wakeUps },
    isAtWork: (taskId: string) => atWork.has(taskId),
    isUpstreams: () => true,
    whenQuiet: (later: () => void) => later(),
    inBackground: (each: Promise<void>) => void work.push(each),
  };
  tasks = createHeldTasks(deps as unknown as HeldTasksDeps);
});

const park = (taskId: string) => tasks.after(taskId, { type: "parked" } as never);
const wake = (taskId: string, isEnd = true) => watches.get(taskId)?.forEach((each) => each({ isEnd }));
const watching = (taskId: string) => watches.get(taskId)?.length ?? 0;
async function quiet(): Promise<void> {
  // Work may start more of it.
  // oxlint-disable-next-line no-await-in-loop -- until nothing is left
  for (let seen = -1; seen !== work.length; seen = work.length, await new Promise((done) => setImmediate(done))) await Promise.all(work);
}

describe("tasks whose calls are held", () => {
  test("are watched once they are parked, each by itself, and the end of one drops only that one", async () => {
    await Promise.all([park("a"), park("b")]);
    await quiet();
    expect([watching("a"), watching("b"), dropped]).toEqual([1, 1, []]);
    statuses.set("a", "cancelled");
    wake("a");
    wake("b");
    await quiet();
    expect(dropped).toEqual([["a", "finished"]]);
    expect([watching("a"), watching("b")]).toEqual([0, 1]);
  });

  test("that are parked again and again are watched once, and again after they were dropped", async () => {
    for (let use = 0; use < 3; use += 1) {
      held.add("a");
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await park("a");
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await park("a");
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await quiet();
      expect([use, watching("a")]).toEqual([use, 1]);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await tasks.drop("a");
      expect([use, watching("a")]).toEqual([use, 0]);
    }
  });

  test("are not dropped while a run of theirs is at work, and are as soon as it has parked", async () => {
    await park("a");
    await quiet();
    statuses.set("a", "cancelled");
    atWork.add("a");
    wake("a");
    await quiet();
    expect(dropped).toEqual([]);
    atWork.delete("a");
    wake("a");
    await quiet();
    expect(dropped).toEqual([["a", "finished"]]);
  });

  test("that have vanished are dropped like those that have ended, also if that was before the watch began", async () => {
    statuses.delete("a");
    await Promise.all([park("a"), park("b")]);
    await quiet();
    expect(dropped).toEqual([["a", "finished"]]);
  });

  test("that cannot be watched, or whose run ended without a word, are looked after until they are dropped, and not after that", async () => {
    cannotWatch = true;
    await park("a");
    await tasks.after("b", undefined);
    await quiet();
    await tasks.look();
    expect(dropped).toEqual([]);
    statuses.set("a", "completed");
    await tasks.look();
    expect(dropped).toEqual([["a", "finished"]]);
    statuses.set("b", "failed");
    for (let use = 0; use < 3; use += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await tasks.look();
    }
    expect(dropped).toEqual([
      ["a", "finished"],
      ["b", "finished"],
    ]);
  });

  test("a run that has finished drops its own", async () => {
    await tasks.after("b", { type: "finished", status: "completed" } as never);
    expect(dropped).toEqual([["b", "finished"]]);
  });
});
