/** One Redis for all test files of a run; each keeps to a key prefix of its own. REDIS_URL, where it is set, is that Redis. */
import { startSharedRedis } from "./shared-redis.ts";

export default async function setup(): Promise<() => Promise<void>> {
  const { url, close } = await startSharedRedis();
  process.env["REDIS_URL"] = url;
  return close;
}
