import { setTimeout as sleep } from "node:timers/promises";
import { createGatewayShare } from "../../packages/redis/gateway.ts";
import { createKeys } from "../../packages/redis/keys.ts";
import { openTestRedis } from "../support/redis.ts";
import { describeShare } from "./share-contract.ts";

describeShare("on Redis", async () => {
  const { redis, prefix, close } = openTestRedis();
  let nowMs = 1_000_000;
  const wakeUps = {
    listen: async (channel: string, listener: (message?: string) => void) => {
      const subscriber = redis.duplicate();
      await subscriber.subscribe(channel);
      subscriber.on("message", (_channel, message: string) => listener(message));
      return () => subscriber.disconnect();
    },
  };
  return {
    countsListeners: !redis.isCluster,
    share: () => createGatewayShare({ redis, wakeUps, keys: createKeys(prefix), now: () => nowMs }),
    async pass(ms) {
      nowMs += ms;
      // Leases are Redis' own. The longer ones are of processes, by the clock above.
      if (ms < 1_000) await sleep(ms);
    },
    close,
  };
});
