/**
 * The time by Redis' clock, so that all processes of a deployment date what they write by one clock, regardless of their machines' clocks.
 *
 * Machines disagree: one that was suspended, or lost its time server, is minutes off. Dated by its own clock, a sleep that one worker has
 * seen end continues for the next, a lease ends before it begins, a result expires as it is written.
 *
 *   looked at Redis ──▶ anchor ──▶ now = anchor + what the process' monotonic timer has counted since ──▶ looked again …
 *
 * Nobody sets a monotonic timer, so the time between two looks cannot jump; each look takes out what the timer has drifted.
 */
import type { Log } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "./unavailable.ts";

/** A timer that drifts 50 ppm is off by half a millisecond then. */
const LOOK_EVERY_MS = 10_000;
/** A reply that took longer says too little: half of it may have been either way. */
const ROUND_TRIP_MAX_MS = 200;
/** Told to the operator, since logs and tools still have the machine's own time. */
const WORTH_TELLING_MS = 2_000;

export interface RedisClock {
  /** Milliseconds since the epoch. */
  now(): number;
  close(): void;
}

interface Look {
  /** Redis' time at `at` of the process' own timer, give or take half the round trip. */
  readonly redisMs: number;
  readonly at: number;
  readonly roundTripMs: number;
}

/** Has looked before it resolves. Throws UNAVAILABLE. */
export async function followRedisClock({ redis, log }: { readonly redis: Redis; readonly log: Log }): Promise<RedisClock> {
  let anchor = await lookWell(redis);
  let told = false;
  tell();

  function tell(): void {
    const aheadMs = Math.round(Date.now() - now());
    const isOff = Math.abs(aheadMs) > WORTH_TELLING_MS;
    if (isOff && !told) log.warn({ aheadMs }, "this machine's clock is off, redis' is used");
    told = isOff;
  }

  function now(): number {
    return Math.floor(anchor.redisMs + performance.now() - anchor.at);
  }

  const lookAgain = () => {
    look(redis).then(
      (seen) => {
        if (seen.roundTripMs <= ROUND_TRIP_MAX_MS) anchor = seen;
        tell();
      },
      // Its failure is the connection's, which is logged already; the timer keeps running meanwhile.
      () => undefined,
    );
  };
  const looking = setInterval(lookAgain, LOOK_EVERY_MS);
  looking.unref();
  // After a failover it is another server, with another clock.
  redis.on("ready", lookAgain);
  return {
    now,
    close() {
      clearInterval(looking);
      redis.off("ready", lookAgain);
    },
  };
}

async function look(redis: Redis): Promise<Look> {
  const sentAt = performance.now();
  const [seconds, microseconds] = await reached(redis.time());
  const at = performance.now();
  const roundTripMs = at - sentAt;
  return { redisMs: Number(seconds) * 1_000 + Number(microseconds) / 1_000 + roundTripMs / 2, at, roundTripMs };
}

/** A process that starts is busy, and its first replies are slow: the quickest of a few looks counts. */
async function lookWell(redis: Redis): Promise<Look> {
  let best = await look(redis);
  for (let again = 0; again < 4 && best.roundTripMs > 5; again += 1) {
    const seen = await look(redis);
    if (seen.roundTripMs < best.roundTripMs) best = seen;
  }
  return best;
}
