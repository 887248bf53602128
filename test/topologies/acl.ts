/** What a user needs to be Parley, as docs/redis.md says it; the suites run as this user, and its refusals are counted. */
import type { Redis } from "ioredis";

const COMMANDS = {
  connections: "hello auth ping info time client|setname cluster|slots cluster|info wait",
  "publish and subscribe": "subscribe unsubscribe publish",
  scripts: "eval evalsha",
  keys: "get set incr del exists pexpire pexpireat pttl multi exec",
  hashes: "hget hset hsetnx hmget hmset hdel hgetall hexists hincrby hkeys hlen hscan",
  "sorted sets": "zadd zrem zscore zrank zcard zcount zrange zrangebyscore zrevrangebyscore zremrangebyscore zpopmin bzpopmin zscan",
  lists: "lpush rpush lrange lrem llen lindex lpos ltrim rpop rpoplpush",
  sets: "sadd srem scard smembers sismember",
  streams: "xadd xdel xinfo|stream xlen xrange xrevrange xtrim",
} as const;

export const LEAST_RIGHTS: readonly string[] = Object.values(COMMANDS).flatMap((names) => names.split(" ").map((name) => `+${name}`));

/** What the user was refused since the server started, as `reason object`. */
export async function refusals(redis: Redis): Promise<string[]> {
  const entries = (await redis.call("ACL", "LOG")) as string[][];
  return entries.map((entry) => `${entry[3]} ${entry[7]}`);
}
