import { aContentKey } from "./content-keys.ts";
import { describeFamilies } from "./families-contract.ts";
import { openRedis } from "./open-redis.ts";

describeFamilies("on Redis", () => openRedis());
describeFamilies("on Redis that holds content sealed", () => openRedis({ contentKeys: aContentKey() }));
