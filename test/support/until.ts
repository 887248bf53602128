/** Waits for a condition instead of for a time: asks again and again until the value is there, and fails with what it saw last. */
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves with the first value that is neither undefined, null nor false. An error counts as "not yet" and is told when time is up. */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  { timeoutMs = 60_000, everyMs = 15 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Exclude<Value, undefined | null | false>> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
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
    await sleep(everyMs);
  }
}
