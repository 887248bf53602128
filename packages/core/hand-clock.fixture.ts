/**
 * A clock that the test turns. Sleepers wake in order, and everything that follows from one happens before the next
 * wakes.
 */
import { systemClock } from "@parley/node";
import type { Clock } from "./ports.ts";
import { sleepOn } from "./ports/sleep-on.ts";

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export function createHandClock() {
  let nowMs = 1_000_000;
  const sleepers = new Set<Sleeper>();
  const after = (ms: number, callback: () => void) => {
    const sleeper: Sleeper = {
      atMs: nowMs + ms,
      wake() {
        sleepers.delete(sleeper);
        callback();
      },
    };
    sleepers.add(sleeper);
    return () => void sleepers.delete(sleeper);
  };
  const clock: Clock = { ...systemClock, now: () => nowMs, after, sleep: sleepOn(after) };
  return {
    clock,
    /** The remaining time of each sleeper, shortest first. */
    sleeping: () => [...sleepers].map(({ atMs }) => atMs - nowMs).toSorted((a, b) => a - b),
    /** Freezes the process: time passes, and no sleeper wakes. */
    stand: (ms: number) => void (nowMs += ms),
    async pass(ms: number) {
      const untilMs = nowMs + ms;
      for (;;) {
        await systemClock.idle();
        const [next] = [...sleepers].filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
        if (!next) break;
        nowMs = Math.max(nowMs, next.atMs);
        next.wake();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
  };
}
