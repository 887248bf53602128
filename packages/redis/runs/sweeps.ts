/**
 * Sweeps of one partition: once a second, by one of the workers that serve it.
 *
 * Each worker asks once a second whether it is its turn. A key that lives slightly less than a second marks the partition as swept, so there is no
 * schedule that could be lost or moved by a wrong clock. If the sweeping worker dies, or Redis loses the key, the next worker that asks sweeps. Asking
 * costs one command; a job for each sweep took more than seventy.
 */
import type { Log } from "@parley/core";
import type { Redis } from "ioredis";
import { originOf } from "../connection/unavailable.ts";

const EVERY_MS = 1_000;
/** Shorter than the interval, so that a single worker finds its own key expired. */
const TURN_MS = 950;

export interface SweepsOptions {
  readonly redis: Pick<Redis, "set">;
  /** Says that the partition was swept. */
  readonly key: string;
  readonly partition: number;
  readonly log: Log;
  readonly sweep: (partition: number) => Promise<unknown>;
}

export interface Sweeps {
  /** Starts no further sweep, and resolves when the current one has ended. */
  close(): Promise<void>;
}

export function startSweeps({ redis, key, partition, log, sweep }: SweepsOptions): Sweeps {
  let sweeping: Promise<void> | undefined;

  async function takeTurn(): Promise<void> {
    try {
      if ((await redis.set(key, "", "PX", TURN_MS, "NX")) === "OK") await sweep(partition);
    } catch (error) {
      log.error({ partition, ...originOf(error) }, "sweep failed");
    }
  }
  // No second sweep starts beside a slow one: while Redis is away, commands wait.
  const ask = () => void (sweeping ??= takeTurn().finally(() => (sweeping = undefined)));

  const timer = setInterval(ask, EVERY_MS);
  timer.unref();
  ask();
  return {
    async close() {
      clearInterval(timer);
      await sweeping;
    },
  };
}
