/** Waits for a condition instead of for a time: asks again and again until the value is there, and fails with what it saw last. */
import { setTimeout as sleep } from "node:timers/promises";

/** Between two looks at the most: what takes seconds need not be asked for seventy times in each of them. */
const EVERY_MS_MAX = 50;

/**
 * Resolves with the first value that is neither undefined, null nor false. An error counts as "not yet" and is told when time is up. Without
 * `everyMs` it asks every 15 ms at first, and less often the longer it takes.
 */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  { timeoutMs = 60_000, everyMs }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Exclude<Value, undefined | null | false>> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  let waitMs = everyMs ?? 15;
  for (;;) {
    try {
      const value = await condition();
      if (value !== undefined && value !== null && value !== false) return value as Exclude<Value, undefined | null | false>;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`not true within ${timeoutMs} ms: ${condition.toString()}; last seen: ${String(last)}`, { cause: last });
    }
    await sleep(waitMs);
    if (everyMs === undefined) waitMs = Math.min(waitMs * 1.1, EVERY_MS_MAX);
  }
}
