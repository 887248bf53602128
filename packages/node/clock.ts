import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, LONGEST_TIMER_MS } from "@parley/core";

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
  // Node.js runs ticks when its queue of microtasks is empty. A tick that is added outside of a microtask would come ahead of that queue.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
};
