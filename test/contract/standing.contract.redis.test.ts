import { describeStanding } from "./standing-contract.ts";
import { openRedis } from "./open-redis.ts";

describeStanding("on Redis", async () => {
  const { standing, close } = await openRedis();
  return { standing, close };
});
