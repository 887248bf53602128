/**
 * Sweeps of one partition: once a second, by one of the workers that serve it.
 *
 * Each of them asks once a second whether it is its turn. A key that lives a little less than a second says that somebody has swept, so there is
 * no schedule that could be lost, or put ahead by a wrong clock: if the worker that swept dies, or Redis forgets the key, the next one that asks
 * sweeps. A look is one command; a job for each sweep was more than seventy.
 */
import { describeOrigin, type Log } from "@parley/core";
import type { Redis } from "ioredis";

const EVERY_MS = 1_000;
/** Shorter than the interval: a worker that is alone finds its own key gone. */
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
  /** Begins no further sweep and resolves when the one at work has ended. */
  close(): Promise<void>;
}

export function startSweeps({ redis, key, partition, log, sweep }: SweepsOptions): Sweeps {
  let sweeping: Promise<void> | undefined;

  async function takeTurn(): Promise<void> {
    try {
      if ((await redis.set(key, "", "PX", TURN_MS, "NX")) === "OK") await sweep(partition);
    } catch (error) {
      log.error({ partition, ...describeOrigin(error) }, "sweep failed");
    }
  }
  // A slow one is not joined by a second: while Redis is away, its commands wait.
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
