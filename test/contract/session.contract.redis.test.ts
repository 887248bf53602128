import { openRedis } from "./open-redis.ts";
import { describeSessions } from "./session-contract.ts";

describeSessions("on Redis", () => openRedis());
