import { describeApprovals } from "./approvals-contract.ts";
import { openRedis } from "./open-redis.ts";

describeApprovals("on Redis", async () => {
  const { approvals, close } = await openRedis();
  return { approvals, close };
});
