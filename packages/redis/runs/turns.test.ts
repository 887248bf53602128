import { describe, expect, test } from "vitest";
import { createTurns, PRIORITY_MAX } from "./turns.ts";

function subject(weights: readonly (readonly [share: string, weight: number])[] = []) {
  let nowMs = 1_000;
  const turns = createTurns({ weights: new Map(weights), now: () => nowMs });
  const place = (share: string, partition = 0) => ({ taskId: `${partition}-${"x".repeat(22)}`, share });
  return {
    next: (share: string, partition?: number) => turns.next(place(share, partition)),
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
