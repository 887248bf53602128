/**
 * A clock that the test turns. Sleepers wake in order, and everything that follows from one happens before the next
 * wakes.
 */
import { systemClock } from "@parley/node";
import type { Clock } from "./ports.ts";

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export function createHandClock() {
  let nowMs = 1_000_000;
  const sleepers = new Set<Sleeper>();
  const clock: Clock = {
    ...systemClock,
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper: Sleeper = { atMs: nowMs + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", wake, { once: true });
      }),
  };
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
