import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "@parley/core";

export const systemClock: Clock = {
  now: () => Date.now(),
  idle: () => nextTurn(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal?.addEventListener("abort", wake, { once: true });
    }),
};
