/**
 * Wake-ups of the index of open asks: one channel for each partition, on which scripts/task.lua names the audiences of
 * asks that were opened or closed, as digests. A process subscribes to them while someone watches, however many do.
 */
import type { WakeUps } from "@parley/core";
import type { ContentCodec } from "../content/codec.ts";
import type { Keys } from "../keys.ts";
import type { RedisWakeUps } from "./wake-ups.ts";

export interface AskedWatchOptions {
  readonly wakeUps: Pick<RedisWakeUps, "listen">;
  readonly keys: Pick<Keys, "askedChannel">;
  readonly partitions: readonly number[];
  readonly codec: Pick<ContentCodec, "lookUps">;
}

export function askedWatch({ wakeUps, keys, partitions, codec }: AskedWatchOptions): WakeUps["watchAsked"] {
  return async ({ tenant, names }, onChange) => {
    const digests = new Set((await codec.lookUps(tenant)).flatMap((digest) => names.map(digest)));
    const receive = (message?: string) => {
      // Without a message, changes may have been missed.
      if (message === undefined || message.split(" ").some((name) => digests.has(name))) onChange();
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
}
