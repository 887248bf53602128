/**
 * The time by Redis' clock, so that all processes of a deployment date what they write by one clock, whatever their machines say.
 *
 * Machines disagree: one that was suspended, or lost its time server, is minutes off. Dated by its own clock, a sleep that one worker has
 * seen end goes on for the next, a lease ends before it begins, a result expires as it is written.
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

/** Looks once before it resolves. Throws UNAVAILABLE. */
export async function followRedisClock({ redis, log }: { readonly redis: Redis; readonly log: Log }): Promise<RedisClock> {
  let anchorMs = 0;
  let anchoredAt = 0;
  let told = false;

  async function look(): Promise<void> {
    const sentAt = performance.now();
    const [seconds, microseconds] = await reached(redis.time());
    const roundTripMs = performance.now() - sentAt;
    if (roundTripMs > ROUND_TRIP_MAX_MS && anchoredAt > 0) return;
    anchorMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000 + roundTripMs / 2;
    anchoredAt = performance.now();
    const aheadMs = Math.round(Date.now() - anchorMs);
    if (!told && Math.abs(aheadMs) > WORTH_TELLING_MS) log.warn({ aheadMs }, "this machine's clock is off, redis' is used");
    told = Math.abs(aheadMs) > WORTH_TELLING_MS;
  }

  await look();
  const looking = setInterval(() => {
    // Its failure is the connection's, which is logged already; the timer goes on meanwhile.
    look().catch(() => undefined);
  }, LOOK_EVERY_MS);
  looking.unref();
  return {
    now: () => Math.floor(anchorMs + performance.now() - anchoredAt),
    close: () => clearInterval(looking),
  };
}
