/**
 * The rights that a user of Redis needs, as docs/redis.md lists them, and a check of whether the user of a connection has them.
 *
 * The check changes nothing. Redis refuses a command that the user may not send when it is queued in a transaction, and refuses to execute a
 * transaction in which a command was refused. The last command of this one is always refused, because it lacks its arguments.
 */
import type { Redis } from "ioredis";

/** With which a connection logs in, and asks for INFO. */
const LOGIN = ["hello", "auth", "ping", "info"];
/** In a cluster only. */
const CLUSTER = ["cluster slots", "cluster info"];
const SUBSCRIBE = ["subscribe", "unsubscribe"];
const TRANSACTION = ["multi", "exec"];
/** Each with as many arguments as it needs. KEY and CHANNEL are replaced. */
const COMMANDS = [
  "time",
  "client setname parley-doctor",
  "wait 0 0",
  "publish CHANNEL 1",
  "eval 1 0",
  "evalsha 1 0",
  "get KEY",
  "set KEY 1",
  "incr KEY",
  "del KEY",
  "exists KEY",
  "pexpire KEY 1",
  "pexpireat KEY 1",
  "pttl KEY",
  "hget KEY 1",
  "hset KEY 1 1",
  "hsetnx KEY 1 1",
  "hmget KEY 1",
  "hmset KEY 1 1",
  "hdel KEY 1",
  "hgetall KEY",
  "hexists KEY 1",
  "hincrby KEY 1 1",
  "hkeys KEY",
  "hlen KEY",
  "hscan KEY 0",
  "zadd KEY 1 1",
  "zrem KEY 1",
  "zscore KEY 1",
  "zrank KEY 1",
  "zcard KEY",
  "zcount KEY 1 1",
  "zrange KEY 0 0",
  "zrangebyscore KEY 0 0",
  "zrevrangebyscore KEY 0 0",
  "zremrangebyscore KEY 0 0",
  "zpopmin KEY",
  "bzpopmin KEY 1",
  "zscan KEY 0",
  "lpush KEY 1",
  "rpush KEY 1",
  "lrange KEY 0 0",
  "lrem KEY 0 1",
  "llen KEY",
  "lindex KEY 0",
  "lpos KEY 1",
  "ltrim KEY 0 0",
  "rpop KEY",
  "rpoplpush KEY KEY",
  "sadd KEY 1",
  "srem KEY 1",
  "scard KEY",
  "smembers KEY",
  "sismember KEY 1",
  "xadd KEY * 1 1",
  "xdel KEY 1",
  "xinfo stream KEY",
  "xlen KEY",
  "xrange KEY - +",
  "xrevrange KEY + -",
  "xtrim KEY MAXLEN 1",
] as const;

/** As ACL SETUSER takes them: `+get`, `+client|setname`. */
export const RIGHTS: readonly string[] = [...LOGIN, ...CLUSTER, ...SUBSCRIBE, ...TRANSACTION, ...COMMANDS].map(rightOf);

function rightOf(command: string): string {
  const [name = "", subcommand = ""] = command.split(" ");
  return ["client", "cluster", "xinfo"].includes(name) ? `+${name}|${subcommand}` : `+${name}`;
}

/** The rights that the user lacks, as ACL SETUSER takes them. Afterwards the connection can only be closed. */
export async function missingRights(redis: Redis, { prefix, isCluster }: { prefix: string; isCluster: boolean }): Promise<string[]> {
  const missing = new Set<string>();
  const key = `${prefix}:{p0}:doctor`;
  const channel = `${prefix}:doctor`;

  async function tried(command: string): Promise<void> {
    const [name = "", ...rest] = command.replaceAll("KEY", key).replaceAll("CHANNEL", channel).split(" ");
    await redis.call(name, ...rest).catch(({ message }: Error) => {
      // A refused EXEC is an EXECABORT that says why.
      if (!/^NOPERM|no permissions/i.test(message)) return;
      if (/\bkeys?\b/.test(message)) missing.add(`~${prefix}:*`);
      else if (/\bchannels?\b/.test(message)) missing.add(`&${prefix}:*`);
      else missing.add(rightOf(command));
    });
  }

  await tried("multi");
  // Without transactions each command would be executed.
  if (missing.size > 0) return [...missing];
  for (const command of [...COMMANDS, ...(isCluster ? CLUSTER : [])]) await tried(command);
  await redis.call("get").catch(() => undefined);
  await tried("exec");
  if (!missing.has("+exec")) await tried(`subscribe ${channel}`);
  return [...missing];
}
