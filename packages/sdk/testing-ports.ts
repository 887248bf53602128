/** Clock and ids of a test: the same in every run of it, except for task ids, since two tests may share a store of the tool's own. */
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, Digest, Ids } from "@parley/core";

export interface TestClock extends Clock {
  /** Never back. */
  moveTo(atMs: number): void;
}

/**
 * A clock that stands still until it is moved. What is waited for within a run (a step's timeout) takes its real time and moves the clock
 * by it: real work, such as a file read, has no other time either.
 */
export function createTestClock(start: Date): TestClock {
  let nowMs = start.getTime();
  const moveTo = (atMs: number) => {
    nowMs = Math.max(nowMs, atMs);
  };
  return {
    now: () => nowMs,
    moveTo,
    idle: () => nextTurn(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const untilMs = nowMs + ms;
        const wake = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", wake);
          if (signal?.aborted !== true) moveTo(untilMs);
          resolve();
        };
        const timer = setTimeout(wake, Math.min(ms, LONGEST_TIMER_MS));
        signal?.addEventListener("abort", wake, { once: true });
      }),
  };
}

/** Node fires longer timers at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

let tasks = 0;

export function createTestIds(): Ids {
  let drawn = 0;
  const next = () => String(++drawn).padStart(12, "0");
  return {
    taskId: () => `0-test-${++tasks}`,
    token: () => `token-${next()}`,
    uuid: () => `00000000-0000-4000-8000-${next()}`,
    random: () => Number.parseInt(hash("sha256", next()).slice(0, 12), 16) / 2 ** 48,
  };
}

export const textDigest: Digest = (text) => hash("sha256", text, "base64url").slice(0, 22);
