import { describe, expect, test } from "vitest";
import { createTurns, PRIORITY_MAX } from "./turns.ts";

function subject(weights: readonly (readonly [share: string, weight: number])[] = []) {
  let nowMs = 1_000;
  const turns = createTurns({ weights: new Map(weights), now: () => nowMs });
  const place = (share: string, partition = 0) => ({ taskId: `${partition}-${"x".repeat(22)}`, share });
  return {
    next: (share: string, partition?: number) => turns.next(place(share, partition)),
    nextDue: (share: string, partition?: number) => turns.nextDue(place(share, partition)),
    isQuiet: (share: string) => turns.isQuiet(place(share)),
    learn: (share: string, waiting: number, partition?: number) => turns.learn(place(share, partition), waiting),
    pass: (ms: number) => void (nowMs += ms),
  };
}

describe("new tasks", () => {
  test("run one after the other, and those of another share at the same time", () => {
    const { next } = subject();
    expect([next("a"), next("a"), next("a"), next("b"), next("a"), next("b")]).toEqual([1, 2, 3, 1, 4, 2]);
  });

  test("run after those that wait, as the store counts them", () => {
    const { next, learn } = subject();
    learn("a", 1_000);
    expect([next("a"), next("a"), next("b")]).toEqual([1_001, 1_002, 1]);
    learn("a", 3);
    expect(next("a")).toBe(4);
  });

  test("run as often as their share's weight says", () => {
    const { next } = subject([["a", 3]]);
    expect(Array.from({ length: 7 }, () => next("a"))).toEqual([1, 1, 1, 2, 2, 2, 3]);
  });

  test("count separately in each partition", () => {
    const { next, learn } = subject();
    learn("a", 10, 0);
    expect([next("a", 0), next("a", 1)]).toEqual([11, 1]);
  });

  test("begin at the front if their share was unknown for a second", () => {
    const { next, learn, pass } = subject();
    learn("a", 10);
    pass(999);
    expect(next("a")).toBe(11);
    pass(1_000);
    expect(next("a")).toBe(1);
  });

  test("have BullMQ's last priority at most", () => {
    expect(PRIORITY_MAX).toBe(2_097_151);
    const { next, learn } = subject();
    learn("a", PRIORITY_MAX - 1);
    expect(next("a")).toBe(PRIORITY_MAX);
    learn("a", PRIORITY_MAX);
    expect(next("a")).toBe(PRIORITY_MAX);
  });

  test("of ten thousand shares are remembered; the least recently used is forgotten", () => {
    const { next, learn } = subject();
    learn("first", 5);
    for (let share = 0; share < 9_999; share += 1) learn(`${share}`, 5);
    expect(next("first")).toBe(6);
    learn("one more", 5);
    expect(next("0")).toBe(1);
  });
});

describe("runs that become due later", () => {
  test("of a share with one now and then are before all new tasks, and those that become due together take turns", () => {
    const { nextDue, pass } = subject();
    expect([nextDue("a"), nextDue("a"), nextDue("a"), nextDue("b"), nextDue("b"), nextDue("a", 1)]).toEqual([0, 1, 2, 0, 1, 0]);
    for (let second = 0; second < 10; second += 1) {
      pass(3_000);
      expect(nextDue("a")).toBe(0);
    }
  });

  test("of ten thousand shares are remembered; the least recently used is forgotten", () => {
    const { nextDue } = subject();
    nextDue("first");
    for (let share = 0; share < 9_999; share += 1) nextDue(`${share}`);
    expect(nextDue("first")).toBe(1);
    nextDue("one more");
    expect([nextDue("first"), nextDue("0")]).toEqual([2, 0]);
  });

  test("of a share are forgotten by half each second", () => {
    const { nextDue, pass } = subject();
    for (let run = 0; run < 80; run += 1) nextDue("a");
    pass(1_000);
    expect(nextDue("a")).toBe(40);
    pass(10_000);
    expect(nextDue("a")).toBe(0);
  });

  test("of a share with more weight are further ahead", () => {
    const { nextDue } = subject([["a", 2]]);
    expect([nextDue("a"), nextDue("a"), nextDue("a"), nextDue("a"), nextDue("a")]).toEqual([0, 0, 1, 1, 2]);
  });

  test("of random shares in random bursts: nobody's run waits for more of another share than its own number of runs and one", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 100; round += 1) {
      const { nextDue } = subject();
      const added = Array.from({ length: 100 }, (_, at) => {
        const share = `share ${random(1 + random(6))}`;
        return { share, at, priority: nextDue(share) };
      });
      // As BullMQ takes them: by priority, then by arrival.
      const order = added.toSorted((a, b) => a.priority - b.priority || a.at - b.at);
      for (const [at, run] of order.entries()) {
        const before = order.slice(0, at);
        const own = before.filter(({ share }) => share === run.share).length;
        for (const other of new Set(before.map(({ share }) => share)))
          if (other !== run.share) expect(before.filter(({ share }) => share === other).length).toBeLessThanOrEqual(own + 1);
      }
    }
  });
});

test("a share is quiet if its last task was the only one that waited, or is a while ago", () => {
  const { isQuiet, learn, pass } = subject();
  expect(isQuiet("a")).toBe(true);
  learn("a", 1);
  expect(isQuiet("a")).toBe(true);
  learn("a", 2);
  expect(isQuiet("a")).toBe(false);
  pass(1_000);
  expect(isQuiet("a")).toBe(true);
});
