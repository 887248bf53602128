/** Waits between attempts to reach the server. */
import { setTimeout as sleep } from "node:timers/promises";

const BACKOFF_MIN_MS = 100;
export const BACKOFF_MAX_MS = 2_000;

export function backoff(attempt: number): number {
  return Math.min(BACKOFF_MIN_MS * 2 ** Math.min(attempt, 10), BACKOFF_MAX_MS);
}

/** Rejects if the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}

export function waited(sinceMs: number): number {
  return performance.now() - sinceMs;
}
