import { openRedis } from "./open-redis.ts";
import { sealingCodec } from "./sealing-codec.ts";
import { describeStore } from "./store-contract.ts";

describeStore("on Redis", () => openRedis());
describeStore("on Redis that holds content sealed", () => openRedis({}, { codec: sealingCodec() }));
describeStore("on Redis with four partitions, of which the tasks live in one", () => openRedis({ partitions: 4 }));
