/**
 * Wake-ups of the index of open asks: one channel for each partition, on which scripts/task/asks.lua names the audiences of
 * asks that were opened or closed, as digests. A process subscribes to them while someone watches, however many do.
 */
import type { WakeUps } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";
import type { RedisWakeUps } from "./wake-ups.ts";

/** Sealed content has a new key from time to time, and names have other digests with it. */
const RENEW_AFTER_MS = 60_000;

export interface AskedWatchOptions {
  readonly redis: Redis;
  /** As the scripts publish. */
  readonly sharded: boolean;
  readonly wakeUps: Pick<RedisWakeUps, "listen">;
  readonly keys: Pick<Keys, "askedChannel">;
  readonly partitions: readonly number[];
  /** The content codec's: how a tenant's names are digested. */
  readonly lookUps: (tenant: string | undefined) => Promise<readonly ((name: string) => string)[]>;
}

export function askedWatch({
  redis,
  sharded,
  wakeUps,
  keys,
  partitions,
  lookUps,
}: AskedWatchOptions): Pick<WakeUps, "watchAsked" | "tellAsked"> {
  const watchAsked: WakeUps["watchAsked"] = async ({ tenant, names }, onChange) => {
    const readDigests = async () => new Set((await lookUps(tenant)).flatMap((digest) => names.map(digest)));
    let digests = await readDigests();
    let readAtMs = performance.now();
    const receive = (message?: string) => {
      // Without a message, changes may have been missed.
      if (message === undefined || message.split(" ").some((name) => digests.has(name))) return onChange();
      if (performance.now() - readAtMs < RENEW_AFTER_MS) return;
      readAtMs = performance.now();
      readDigests().then(
        (renewed) => {
          digests = renewed;
          onChange();
        },
        () => undefined, // Redis is away: its return is reported without a message
      );
    };
    const listening = await Promise.allSettled(partitions.map((partition) => wakeUps.listen(keys.askedChannel(partition), receive)));
    const stop = () => {
      for (const each of listening) if (each.status === "fulfilled") each.value();
    };
    const failed = listening.find((each) => each.status === "rejected");
    if (failed) {
      stop();
      throw failed.reason;
    }
    return stop;
  };
  return {
    watchAsked,
    async tellAsked({ tenant, names }) {
      const [digest] = await lookUps(tenant);
      const [partition] = partitions;
      if (!digest || partition === undefined) return;
      const [channel, message] = [keys.askedChannel(partition), names.map(digest).join(" ")];
      await reached(sharded ? redis.spublish(channel, message) : redis.publish(channel, message));
    },
  };
}
