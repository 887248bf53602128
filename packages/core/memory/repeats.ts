/** Requests with an idempotency key in memory, with the rules of packages/redis/scripts/repeat. */
import { REPEATS_KEPT_MS, REPEATS_LEASE_MS, REPEATS_MAX, type Repeats } from "../ports/repeats.ts";

interface Known {
  readonly fingerprint: string;
  readonly untilMs: number;
  readonly reply?: string;
}

export function createMemoryRepeats(): Repeats {
  const callers = new Map<string, Map<string, Known>>();
  return {
    async begin({ caller, key, fingerprint, nowMs }) {
      // In the order in which they began.
      const all = callers.get(caller) ?? new Map<string, Known>();
      callers.set(caller, all);
      const known = all.get(key);
      if (known && known.untilMs > nowMs) {
        if (known.fingerprint !== fingerprint) return { type: "other" };
        return known.reply === undefined ? { type: "underway" } : { type: "ended", reply: known.reply };
      }
      all.delete(key);
      const [oldest] = all.keys();
      if (oldest !== undefined && all.size >= REPEATS_MAX) all.delete(oldest);
      all.set(key, { fingerprint, untilMs: nowMs + REPEATS_LEASE_MS });
      return { type: "begun" };
    },
    async end({ caller, key, fingerprint, nowMs }, reply) {
      const all = callers.get(caller);
      if (all?.get(key)?.fingerprint !== fingerprint) return;
      if (reply === undefined) all.delete(key);
      else all.set(key, { fingerprint, untilMs: nowMs + REPEATS_KEPT_MS, reply });
    },
  };
}
