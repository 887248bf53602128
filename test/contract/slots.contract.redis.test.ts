import { openRedis } from "./open-redis.ts";
import { describeSlots } from "./slots-contract.ts";

describeSlots("on Redis", () => openRedis());
