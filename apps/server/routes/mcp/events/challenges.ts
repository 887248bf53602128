/**
 * Challenges that were not repeated. A caller may cause as many within a minute as it may have subscriptions, at each front end: otherwise it could have
 * somebody else's address posted to as fast as it may call.
 *
 * Source: the events extension, "Endpoint verification": the POST "SHOULD be rate-limited".
 */
import type { Caller } from "@parley/core";

export const FAILED_WITHIN_MS = 60_000;
/** Of how many callers it is remembered; the least recent is dropped. */
export const CALLERS_MAX = 10_000;

export interface Challenges {
  /**
   * Begins one; it counts until it is repeated. Returns what says so, or how long (ms) the caller has to wait.
   */
  begin(caller: Pick<Caller, "tenant" | "principal">, nowMs: number): (() => void) | number;
  readonly size: number;
}

export function createChallenges(most: number): Challenges {
  /** When each of a caller's began. */
  const byCaller = new Map<string, readonly number[]>();
  return {
    get size() {
      return byCaller.size;
    },
    begin({ tenant, principal }, nowMs) {
      const name = `${tenant}\n${principal}`;
      const recent = (byCaller.get(name) ?? []).filter((atMs) => nowMs - atMs < FAILED_WITHIN_MS);
      const [oldest = nowMs] = recent;
      if (recent.length >= most) return oldest + FAILED_WITHIN_MS - nowMs;
      byCaller.delete(name);
      byCaller.set(name, [...recent, nowMs]);
      const [first] = byCaller.keys();
      if (byCaller.size > CALLERS_MAX && first !== undefined) byCaller.delete(first);
      return () => {
        const [all, at] = [byCaller.get(name) ?? [], (byCaller.get(name) ?? []).indexOf(nowMs)];
        const rest = all.filter((_atMs, index) => index !== at);
        if (rest.length > 0) byCaller.set(name, rest);
        else byCaller.delete(name);
      };
    },
  };
}
