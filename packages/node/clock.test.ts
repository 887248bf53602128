import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

describe("the system's clock", () => {
  afterEach(() => void vi.useRealTimers());

  test("sleeps longer than the longest timer of Node.js, to the millisecond", async () => {
    vi.useFakeTimers();
    const woke = vi.fn();
    void systemClock.sleep(60 * DAY_MS).then(woke);

    await vi.advanceTimersByTimeAsync(60 * DAY_MS - 1);
    expect(woke).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(woke).toHaveBeenCalledTimes(1);
  });

  test("a long sleep ends at its signal, even in a later part of it, and leaves no timer behind", async () => {
    vi.useFakeTimers();
    const over = new AbortController();
    const woke = vi.fn();
    void systemClock.sleep(60 * DAY_MS, over.signal).then(woke);

    await vi.advanceTimersByTimeAsync(30 * DAY_MS);
    over.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(woke).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["a callback of the event loop", (work: () => void) => void setImmediate(work)],
    ["a promise reaction", (work: () => void) => queueMicrotask(work)],
  ])("called in %s, calls back after every promise reaction that is ready, and before the next turn", async (_where, start) => {
    const order: string[] = [];
    const done = Promise.withResolvers<void>();
    const react = (left: number): void => {
      if (left === 0) order.push("reactions");
      else queueMicrotask(() => react(left - 1));
    };
    start(() => {
      setImmediate(() => {
        order.push("turn");
        done.resolve();
      });
      systemClock.afterMicrotasks(() => order.push("after"));
      react(100);
    });

    await done.promise;
    expect(order).toEqual(["reactions", "after", "turn"]);
  });
});
