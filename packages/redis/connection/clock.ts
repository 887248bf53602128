/**
 * The time by Redis' clock, so that all processes of a deployment date what they write by one clock.
 *
 * The clocks of machines disagree: one that was suspended, or lost its time server, can be minutes off. With such clocks, a sleep that has ended
 * for one worker would continue for the next, a lease would end before it begins, and a result would expire as it is written.
 *
 *   looked at Redis ──▶ anchor ──▶ now = anchor + what the process' monotonic timer has counted since ──▶ looked again …
 *
 * A monotonic timer is never set, so the time between two looks cannot jump. Each look corrects the drift of the timer.
 */
import type { Log } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "./unavailable.ts";

/** A timer that drifts 50 ppm is off by half a millisecond then. */
const LOOK_EVERY_MS = 10_000;
/** Slower replies are ignored: the time on the way there and back is not known separately. */
const ROUND_TRIP_MAX_MS = 200;
/** A larger deviation is logged, because logs and tools still use the machine's own clock. */
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

/** Resolves after the first look. Throws UNAVAILABLE. */
export async function followRedisClock({ redis, log }: { readonly redis: Redis; readonly log: Log }): Promise<RedisClock> {
  let anchor = await bestLook(redis);
  let isLogged = false;
  tell();

  function tell(): void {
    const aheadMs = Math.round(Date.now() - now());
    const isOff = Math.abs(aheadMs) > WORTH_TELLING_MS;
    if (isOff && !isLogged) log.warn({ aheadMs }, "this machine's clock is off, redis' is used");
    isLogged = isOff;
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
      // The connection logs its own failure; the timer keeps running in the meantime.
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

/** A starting process is busy and handles its first replies late, so the fastest of several looks counts. */
async function bestLook(redis: Redis): Promise<Look> {
  let best = await look(redis);
  for (let again = 0; again < 4 && best.roundTripMs > 5; again += 1) {
    const seen = await look(redis);
    if (seen.roundTripMs < best.roundTripMs) best = seen;
  }
  return best;
}
