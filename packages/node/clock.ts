import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, LONGEST_TIMER_MS, sleepOn } from "@parley/core";

/** Core's clock on Node.js timers, for any duration. */
export const systemClock: Clock = {
  now: () => Date.now(),
  idle: () => nextTurn(),
  after,
  sleep: sleepOn(after),
  // Node.js runs ticks when the microtask queue is empty. A tick added outside of a microtask would run ahead of that queue, so it is added
  // from within one.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
};

function after(ms: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (restMs: number) => {
    const partMs = Math.min(restMs, LONGEST_TIMER_MS);
    timer = setTimeout(partMs < restMs ? () => wait(restMs - partMs) : callback, partMs);
  };
  wait(ms);
  return () => clearTimeout(timer);
}
