import { aContentKey } from "./content-keys.ts";
import { describeFirstCalls } from "./first-call-contract.ts";
import { openRedis } from "./open-redis.ts";

describeFirstCalls("on Redis", () => openRedis());
describeFirstCalls("on Redis that holds content sealed", () => openRedis({ contentKeys: aContentKey() }));
