import { depositSeal } from "@parley/node";
import { describeGrants } from "./grants-contract.ts";
import { openRedis } from "./open-redis.ts";

describeGrants("on Redis", async () => {
  const redis = await openRedis({ audit: true, partitions: 4 });
  return {
    grants: redis.keptGrants.sealedBy(depositSeal(["s".repeat(40)])),
    facts: async () => (await redis.audit.read(0, 0, 100)).map(({ fact }) => fact),
    close: () => redis.close(),
  };
});
