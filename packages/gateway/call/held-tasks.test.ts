/** Two tasks whose calls one process holds: what happens to one is nothing to the other. */
import { beforeEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
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
/** Calls whose upstream waits, or has a task of its own. */
let needed: Set<string>;
/** Questions that the upstream of each has given up, and those that were closed for that. */
let givenUp: Map<string, string[]>;
let closed: string[];
/** Tasks whose part of Redis is away. */
let away: Set<string>;
/** The run that a closed question causes is queued. */
let queued: Promise<void>;

beforeEach(() => {
  [held, dropped, statuses, watches, atWork, work, cannotWatch] = [new Set(["a", "b"]), [], new Map(), new Map(), new Set(), [], false];
  for (const taskId of held) statuses.set(taskId, "input_required");
  [needed, givenUp, closed, away, queued] = [new Set(held), new Map(), [], new Set(), Promise.resolve()];
  const calls = {
    has: (taskId: string) => held.has(taskId),
    isNeeded: (taskId: string) => needed.has(taskId),
    abandoned: (taskId: string) => new Set(held.has(taskId) ? givenUp.get(taskId) : []),
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
  const asks = [{ key: "question-1" }, { key: "question-2" }];
  const load = async (taskId: string) => (statuses.has(taskId) ? { status: statuses.get(taskId), asks, call: {} } : undefined);
  const answer = async ({ taskId, key }: { taskId: string; key: string }) => {
    if (away.has(taskId)) throw new Error("Redis is away");
    closed.push(`${taskId} ${key}`);
    return { receipt: "accepted", nextRun: 2 };
  };
  const deps = {
    calls,
    services: {
      store: { load, answer },
      wakeUps,
      queue: { add: () => queued },
      clock: { now: () => 0 },
      log: { info: () => undefined },
      settings: {},
    },
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

  test.each([
    ["whose upstream still waits is kept", true, [], [], []],
    ["whose upstream has ended it is dropped: the task has everything that came of it", false, [], [["a", undefined]], []],
    ["whose upstream has ended it with a question open is kept until that is closed", false, ["question-1"], [], ["a question-1"]],
  ] as const)("a call %s", async (_what, isNeeded, open, then, closedThen) => {
    if (!isNeeded) needed.delete("a");
    givenUp.set("a", [...open]);
    await park("a");
    await quiet();
    expect([dropped, closed]).toEqual([then, closedThen]);
  });

  test("whose upstream gives up a question while Redis is away have it closed once that is back", async () => {
    await park("a");
    givenUp.set("a", ["question-1"]);
    away.add("a");
    await expect(tasks.settle("a")).rejects.toThrow("away");
    await expect(tasks.look()).rejects.toThrow("away");
    away.delete("a");
    atWork.add("a");
    await tasks.look();
    // What the run at work knows of it is settled when it has ended.
    expect(closed).toEqual([]);
    atWork.delete("a");
    for (let times = 0; times < 2; times += 1) await tasks.look();
    expect([closed, dropped]).toEqual([["a question-1"], []]);
  });

  test("of whose two questions the second cannot be closed while the first is have it closed at the next look", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    queued = promise;
    givenUp.set("a", ["question-1"]);
    const first = tasks.settle("a");
    await until(() => closed.length === 1);
    givenUp.set("a", ["question-1", "question-2"]);
    away.add("a");
    await expect(tasks.settle("a")).rejects.toThrow("away");
    away.delete("a");
    resolve();
    await first;
    expect(closed).toEqual(["a question-1"]);
    await tasks.look();
    expect(closed).toContain("a question-2");
  });

  test("are looked after each by itself: one whose part of Redis is away keeps no other waiting", async () => {
    for (const taskId of ["a", "b"]) {
      givenUp.set(taskId, ["question-1"]);
      away.add(taskId);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(tasks.settle(taskId)).rejects.toThrow("away");
    }
    away.delete("b");
    await expect(tasks.look()).rejects.toThrow("away");
    expect(closed).toEqual(["b question-1"]);
  });

  test("whose call is no longer held have nothing left to close", async () => {
    givenUp.set("a", ["question-1"]);
    away.add("a");
    await expect(tasks.settle("a")).rejects.toThrow("away");
    held.delete("a");
    await tasks.look();
    // A call of its next round.
    held.add("a");
    away.delete("a");
    await tasks.look();
    expect(closed).toEqual([]);
  });

  test("a run that has finished drops its own", async () => {
    await tasks.after("b", { type: "finished", status: "completed" } as never);
    expect(dropped).toEqual([["b", "finished"]]);
  });
});
