import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, LONGEST_TIMER_MS } from "@parley/core";

/** Core's clock on Node.js timers. `sleep` accepts any duration, and resolves early, without an error, when its signal aborts. */
export const systemClock: Clock = {
  now: () => Date.now(),
  idle: () => nextTurn(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      let timer: NodeJS.Timeout;
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const wait = (restMs: number) => {
        const partMs = Math.min(restMs, LONGEST_TIMER_MS);
        timer = setTimeout(() => (partMs < restMs ? wait(restMs - partMs) : wake()), partMs);
      };
      wait(ms);
      signal?.addEventListener("abort", wake, { once: true });
    }),
  // Node.js runs ticks when the microtask queue is empty. A tick added outside of a microtask would run ahead of that queue, so it is added
  // from within one.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
};
