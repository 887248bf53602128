import { openRedis } from "./open-redis.ts";
import { withCheckedNews } from "./checked-news.ts";
import { aContentKey } from "./content-keys.ts";
import { describeStore } from "./store-contract.ts";

describeStore("on Redis", () => openRedis());
// The shards of a Cluster tell nobody of all channels at once.
if (!process.env["REDIS_URL"]?.startsWith("redis-cluster"))
  describeStore("on Redis, whose wake-ups say what is read", async () => await withCheckedNews(await openRedis()));
describeStore("on Redis that holds content sealed", () => openRedis({ contentKeys: aContentKey() }));
describeStore("on Redis with four partitions, of which the tasks live in one", () => openRedis({ partitions: 4 }), { partitions: 4 });
