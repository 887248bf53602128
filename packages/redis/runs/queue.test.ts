/** Where a run goes and under which id; consume-runs.redis.test.ts tests the queue itself. */
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createKeys } from "../keys.ts";
import { calledWord, createRedisQueue, jobIdOf, readCalledWord, runOfJob, shareWord } from "./queue.ts";
import { createTurns } from "./turns.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const TASK = `7-${"t".repeat(22)}`;

describe("a job's id", () => {
  test.each([
    ["answered", "0-a.2"],
    ["overdue", "0-a.2"],
    ["overtaken", "0-a.2.overtaken"],
  ] as const)("names task and run, apart for a run that was overtaken: %s", (cause, id) => {
    expect(jobIdOf({ taskId: "0-a", run: 2 }, cause)).toBe(id);
    expect(runOfJob(id)).toStrictEqual({ taskId: "0-a", run: 2 });
  });
});

test("what a task calls is read back as it was written, and not from what another version may have written", () => {
  const calls = { kind: "prompt", name: "a name: with % and\nlines" } as const;
  expect(calledWord(calls).map(readCalledWord)).toStrictEqual([calls]);
  for (const word of ["", "undefined", "tool", "tool:", "mytool:a", "resource:a", "tool:%zz", "tool:a\nb"]) {
    expect(readCalledWord(word)).toBeUndefined();
  }
});

describe("the lane of a run", () => {
  const asked: number[] = [];
  let worker: string | undefined = "w";
  let atMs: number;
  beforeEach(() => {
    asked.length = 0;
    worker = "w";
    atMs = 5_000;
    vi.spyOn(performance, "now").mockImplementation(() => atMs);
  });
  afterEach(() => void vi.restoreAllMocks());

  function aQueue() {
    const redis = new Redis({ lazyConnect: true });
    const turns = createTurns({ weights: new Map(), now: () => 1_000 });
    const next = (partition: number) => {
      asked.push(partition);
      return worker;
    };
    return { ...createRedisQueue({ redis, keys: createKeys(), log: silent, turns, workers: { next } }), turns };
  }

  test("belongs to a worker that serves the task's partition, and has a new task's place in the queue", () => {
    const { lane, turns } = aQueue();
    expect(lane!({ taskId: TASK, cause: "answered" })).toBe("parley:{p7}:lane:w");
    expect(lane!({ taskId: TASK, cause: "created" })).toBe("parley:{p7}:lane:w 1");
    expect(lane!({ taskId: TASK, cause: "created" })).toBe("parley:{p7}:lane:w 1");
    turns.learn({ taskId: TASK, share: "ada" }, 5);
    expect(lane!({ taskId: TASK, cause: "created", share: "ada" })).toBe(`parley:{p7}:lane:w 6 - ${shareWord("ada")}`);
    const calls = { kind: "tool", name: "a" } as const;
    expect(lane!({ taskId: TASK, cause: "created", share: "bob", calls })).toBe(`parley:{p7}:lane:w 1 tool:a ${shareWord("bob")}`);
    expect(lane!({ taskId: TASK, cause: "answered", share: "ada" })).toBe(`parley:{p7}:lane:w 0 - ${shareWord("ada")}`);
    expect(lane!({ taskId: TASK, cause: "answered", share: "ada" })).toBe(`parley:{p7}:lane:w 1 - ${shareWord("ada")}`);
    expect(asked).toEqual([7, 7, 7, 7, 7, 7, 7]);
  });

  test("does not exist if no worker is known, or for an invalid task id", () => {
    const { lane } = aQueue();
    expect(lane!({ taskId: "none", cause: "answered" })).toBeUndefined();
    expect(asked).toEqual([]);
    worker = undefined;
    expect(lane!({ taskId: TASK, cause: "answered" })).toBeUndefined();
    expect(lane!({ taskId: TASK, cause: "created" })).toBeUndefined();
  });

  test("does not exist for new tasks of a partition for a tenth of a second after no worker took one", () => {
    const { lane, notTaken } = aQueue();
    notTaken(TASK);
    notTaken("none");
    atMs += 99;
    expect(lane!({ taskId: TASK, cause: "created" })).toBeUndefined();
    expect(asked).toEqual([]);
    expect(lane!({ taskId: TASK, cause: "answered" })).toBe("parley:{p7}:lane:w");
    expect(lane!({ taskId: TASK.replace("7", "8"), cause: "created" })).toBe("parley:{p8}:lane:w 1");
    atMs += 1;
    expect(lane!({ taskId: TASK, cause: "created" })).toBe("parley:{p7}:lane:w 1");
  });

  test("exists then all the same for a share of which at most one task waits, and not for others", () => {
    const { lane, notTaken, turns } = aQueue();
    notTaken(TASK);
    turns.learn({ taskId: TASK, share: "noisy" }, 2);
    expect(lane!({ taskId: TASK, cause: "created", share: "noisy" })).toBeUndefined();
    expect(lane!({ taskId: TASK, cause: "created", share: "quiet" })).toBe(`parley:{p7}:lane:w 1 - ${shareWord("quiet")}`);
  });

  test("a run with an invalid task id is refused", async () => {
    await expect(aQueue().add({ taskId: "none", run: 1 })).rejects.toThrow(new TypeError("a run needs a task id"));
  });
});
