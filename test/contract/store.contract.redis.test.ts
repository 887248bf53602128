import { openRedis } from "./open-redis.ts";
import { withCheckedNews } from "./checked-news.ts";
import { aContentKey } from "./content-keys.ts";
import { describeStore } from "./store-contract.ts";

/** The shards of a Cluster tell nobody of all channels at once. */
const isCluster = process.env["REDIS_URL"]?.startsWith("redis-cluster") ?? false;

describeStore(isCluster ? "on Redis" : "on Redis, whose wake-ups say what is read", async () =>
  isCluster ? await openRedis() : await withCheckedNews(await openRedis()),
);
describeStore("on Redis that holds content sealed", () => openRedis({ contentKeys: aContentKey() }));
describeStore("on Redis with four partitions, of which the tasks live in one", () => openRedis({ partitions: 4 }), { partitions: 4 });
