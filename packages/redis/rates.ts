/**
 * Rates of callers, counted in Redis for all front ends together.
 *
 *   request ─▶ what this front end has left of the caller's last portion ─▶ admitted
 *                        │ nothing
 *                        ▼
 *              take.lua, for the caller and for its tenant: a portion, or none
 *
 * A portion holds the requests of a tenth of a second, at least one. Many requests of a busy caller therefore share one round trip, and so do several of a
 * caller that polls once a second. The rest of a portion expires after ten seconds. A caller can exceed its rate by at most one portion for each
 * front end.
 */
import { type Caller, ParleyError, type Rated, type Rates } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "./keys.ts";
import { loadScripts } from "./load-scripts.ts";
import { reached } from "./unavailable.ts";

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

/**
 * What a front end has for a caller: tokens until a time, or a refusal until a time, with which a flood costs no
 * round trip.
 */
interface Portion {
  readonly tokens: number;
  readonly untilMs: number;
  readonly refusal?: string;
}

export function createRates({ redis, keys, limits, now }: RatesOptions): Rates {
  const scripts = loadScripts(redis, { names: ["take"], folder: "rate/", keyCount: () => 1 });
  const portions = new Map<string, Portion>();
  /** Takes of one caller that need a portion queue up, so that simultaneous ones share one. */
  const queued = new Map<string, Promise<void>>();

  /**
   * How many were taken, and how long to wait if those were too few. A batch that is larger than a bucket takes a
   * full one.
   */
  async function takeFrom(who: string, what: Rated, perSecond: number, count: number): Promise<[taken: number, waitMs: number]> {
    const most = Math.max(1, perSecond * BURST_S);
    const wanted = Math.max(count, Math.floor(limits.perSecond[what] * PORTION_S));
    const taking = scripts.take([keys.rate(who), what, Math.floor(now()), perSecond, most, wanted, Math.min(count, most)]);
    return (await reached(taking)) as [number, number];
  }

  async function fetchPortion({ principal, tenant }: Caller, what: Rated, count: number): Promise<Portion> {
    const perSecond = limits.perSecond[what];
    const [own, ownWaitMs] = await takeFrom(`principal:${principal}`, what, perSecond, count);
    // After the caller's own bucket, not at the same time: a refused caller must take nothing from others of its
    // tenant.
    const [shared, sharedWaitMs] =
      ownWaitMs > 0 ? [0, 0] : await takeFrom(`tenant:${tenant}`, what, perSecond * limits.tenantFactor, count);
    const waitMs = Math.max(ownWaitMs, sharedWaitMs);
    if (waitMs === 0) return { tokens: Math.min(own, shared), untilMs: now() + PORTION_KEPT_MS };
    const whose = ownWaitMs > 0 ? "the caller" : "the caller's tenant";
    const most = ownWaitMs > 0 ? perSecond : perSecond * limits.tenantFactor;
    const refusal = `${whose} may have ${most} ${what} per second (PARLEY_QUOTA_${what.toUpperCase()})`;
    return { tokens: 0, untilMs: now() + waitMs, refusal };
  }

  function remembered(name: string): Portion | undefined {
    const portion = portions.get(name);
    return portion && portion.untilMs > now() ? portion : undefined;
  }

  function remember(name: string, portion: Portion): void {
    portions.delete(name);
    portions.set(name, portion);
    const [oldest] = portions.keys();
    if (portions.size > PORTIONS_MAX && oldest !== undefined) portions.delete(oldest);
  }

  /** Whether the portion had enough. Throws if it is a refusal. */
  function takeLocally({ tokens, untilMs, refusal, ...portion }: Portion, name: string, count: number): boolean {
    if (refusal !== undefined) throw new ParleyError("QUOTA_EXCEEDED", refusal, { data: { retryAfterMs: Math.ceil(untilMs - now()) } });
    if (tokens < count) return false;
    remember(name, { ...portion, tokens: tokens - count, untilMs });
    return true;
  }

  async function takeInTurn(
    caller: Caller,
    what: Rated,
    { name, count }: { readonly name: string; readonly count: number },
  ): Promise<void> {
    const portion = remembered(name);
    if (portion && takeLocally(portion, name, count)) return;
    const fetched = await fetchPortion(caller, what, count);
    remember(name, fetched);
    takeLocally(fetched, name, count);
  }

  return {
    async take(caller, what, count = 1) {
      const name = `${what} ${caller.principal}`;
      const before = queued.get(name);
      const portion = before ? undefined : remembered(name);
      if (portion && takeLocally(portion, name, count)) return;
      const mine = (before ?? Promise.resolve()).then(() => takeInTurn(caller, what, { name, count }));
      const over = mine.then(
        () => undefined,
        () => undefined,
      );
      queued.set(name, over);
      try {
        await mine;
      } finally {
        if (queued.get(name) === over) queued.delete(name);
      }
    },
  };
}
