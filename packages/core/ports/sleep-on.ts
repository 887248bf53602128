import type { Clock } from "./clock.ts";

/** The sleep of a clock with such timers. */
export function sleepOn(after: Clock["after"]): Clock["sleep"] {
  return (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const cancel = after(ms, wake);
      const end = () => {
        cancel();
        resolve();
      };
      signal?.addEventListener("abort", end, { once: true });
    });
}
