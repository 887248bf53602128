/** The suites run as a user with the least rights (packages/redis/connection/rights.ts), and its refusals are counted. */
import type { Redis } from "ioredis";

/** What the user was refused since the server started, as `reason object`. */
export async function refusals(redis: Redis): Promise<string[]> {
  const entries = (await redis.call("ACL", "LOG")) as string[][];
  return entries.map((entry) => `${entry[3]} ${entry[7]}`);
}
