/**
 * Rates of callers, counted in Redis for all front ends together.
 *
 *   request ─▶ what this front end has left of the caller's last portion ─▶ admitted
 *                        │ nothing
 *                        ▼
 *              take.lua, from the caller's bucket and its tenant's: a portion, or none from either
 *
 * A portion holds the requests of a tenth of a second, at least one. Many requests of a busy caller therefore share one round trip, and so do several of a
 * caller that polls once a second. The rest of a portion expires after ten seconds. A caller can exceed its rate by at most one portion for each
 * front end.
 */
import { type Caller, ParleyError, RATED, type Rated, type RatedCounts, type Rates } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { reached } from "../connection/unavailable.ts";

export interface RateLimits {
  /** Of one principal. */
  readonly perSecond: Readonly<Record<Rated, number>>;
  /** A tenant's rate as a multiple of a principal's. */
  readonly tenantFactor: number;
}

export interface RatesOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "rate">;
  readonly limits: RateLimits;
  readonly now: () => number;
}

/** The size of a bucket, as the time in which it fills: what a caller may do at once. */
const BURST_S = 5;
const PORTION_S = 0.1;
const PORTION_KEPT_MS = 10_000;
/** Callers whose portions are remembered. The least recently used is dropped and has to ask again. */
const PORTIONS_MAX = 10_000;

/** What a front end has for a caller, of one kind: tokens until a time. */
interface Portion {
  readonly tokens: number;
  readonly untilMs: number;
  /** Refuses this many until then, so that a flood costs no round trip. */
  readonly refused?: { readonly count: number; readonly message: string };
}

interface Wanted {
  readonly what: Rated;
  readonly count: number;
}

export function createRates({ redis, keys, limits, now }: RatesOptions): Rates {
  const scripts = loadScripts(redis, { names: ["take"], folder: "rate/", keyCount: () => undefined });
  const portions = new Map<string, Portion>();
  /** Takes of one caller that need a portion queue up, so that simultaneous ones share one. */
  const queued = new Map<string, Promise<void>>();

  /** Two tenants may have callers of one name. */
  const callerIn = ({ tenant, principal }: Caller) => `${tenant}\n${principal}`;
  const nameOf = (caller: Caller, what: Rated) => `${what} ${callerIn(caller)}`;

  function remember(name: string, portion: Portion): void {
    portions.delete(name);
    portions.set(name, portion);
    const [oldest] = portions.keys();
    if (portions.size > PORTIONS_MAX && oldest !== undefined) portions.delete(oldest);
  }

  /** The kinds of which this front end has too few. Throws if a refusal of one of them is remembered. */
  function lackedBy(caller: Caller, wanted: readonly Wanted[]): readonly Wanted[] {
    return wanted.filter(({ what, count }) => {
      const portion = portions.get(nameOf(caller, what));
      if (!portion || portion.untilMs <= now()) return true;
      const { refused, tokens, untilMs } = portion;
      if (refused && count >= refused.count) throw quotaExceeded(refused.message, untilMs - now());
      return tokens < count;
    });
  }

  /** Takes what this front end has, of all kinds or of none. */
  function takeLocally(caller: Caller, wanted: readonly Wanted[]): boolean {
    if (lackedBy(caller, wanted).length > 0) return false;
    for (const { what, count } of wanted) {
      const name = nameOf(caller, what);
      const { tokens = 0, untilMs = 0 } = portions.get(name) ?? {};
      remember(name, { tokens: tokens - count, untilMs });
    }
    return true;
  }

  /** Fetches a portion of every kind. Throws, and remembers it, if one is refused. */
  async function fetchPortions(caller: Caller, lacked: readonly Wanted[]): Promise<void> {
    const { principal, tenant } = caller;
    const who = `tenant:${tenant}`;
    const kinds = lacked.flatMap(({ what, count }) => {
      const own = limits.perSecond[what];
      const buckets = [own, own * limits.tenantFactor].flatMap((perSecond) => [perSecond, Math.max(1, perSecond * BURST_S)]);
      return [what, Math.max(count, Math.floor(own * PORTION_S)), count, ...buckets];
    });
    const taking = scripts.take([2, keys.rate(who, `principal:${principal}`), keys.rate(who), Math.floor(now()), ...kinds]);
    const [waitMs = 0, ...reply] = (await reached(taking)) as number[];
    if (waitMs === 0) {
      // A batch that is larger than a bucket has taken all of it.
      for (const [at, { what, count }] of lacked.entries())
        remember(nameOf(caller, what), { tokens: Math.max(reply[at] ?? 0, count), untilMs: now() + PORTION_KEPT_MS });
      return;
    }
    const [bucket = 1, kind = 1] = reply;
    const refused = lacked[kind - 1];
    if (!refused) throw new TypeError(`take.lua refused the kind ${kind} of ${lacked.length}`);
    const { what, count } = refused;
    const whose = bucket === 1 ? "the caller" : "the caller's tenant";
    const most = limits.perSecond[what] * (bucket === 1 ? 1 : limits.tenantFactor);
    const message = `${whose} may have ${most} ${what} per second (PARLEY_QUOTA_${what.toUpperCase()})`;
    remember(nameOf(caller, what), { tokens: 0, untilMs: now() + waitMs, refused: { count, message } });
    throw quotaExceeded(message, waitMs);
  }

  async function takeInTurn(caller: Caller, wanted: readonly Wanted[]): Promise<void> {
    const lacked = lackedBy(caller, wanted);
    if (lacked.length > 0) await fetchPortions(caller, lacked);
    takeLocally(caller, wanted);
  }

  return {
    async take(caller, counts) {
      const wanted = wantedOf(counts);
      const who = callerIn(caller);
      const before = queued.get(who);
      if (!before && takeLocally(caller, wanted)) return;
      const mine = (before ?? Promise.resolve()).then(() => takeInTurn(caller, wanted));
      const over = mine.then(
        () => undefined,
        () => undefined,
      );
      queued.set(who, over);
      try {
        await mine;
      } finally {
        if (queued.get(who) === over) queued.delete(who);
      }
    },
  };
}

function quotaExceeded(message: string, waitMs: number): ParleyError {
  return new ParleyError("QUOTA_EXCEEDED", message, { data: { retryAfterMs: Math.ceil(waitMs) } });
}

function wantedOf(counts: RatedCounts): readonly Wanted[] {
  return RATED.flatMap((what) => (counts[what] ? [{ what, count: counts[what] }] : []));
}
