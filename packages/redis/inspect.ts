/** What an operator should know about a Redis before trusting it with tasks. `parley doctor` turns it into advice. */
import type { Redis } from "ioredis";
import { field, isRecent, openForOnce } from "./connect.ts";

export interface RedisFacts {
  /** Of Redis, or of Valkey: `Valkey 9.1.2`. */
  readonly version: string;
  readonly recent: boolean;
  readonly maxmemoryPolicy: string;
  /** Whether there is an append-only file. */
  readonly appendOnly: boolean;
  /** `everysec`, `always`, `no`; undefined if CONFIG is disabled, as on hosted servers. */
  readonly appendFsync: string | undefined;
  readonly usedMemoryBytes: number;
  /** 0 for no limit. */
  readonly maxmemoryBytes: number;
}

/** Throws an Error that says why Redis could not be asked. */
export async function inspectRedis(url: string): Promise<RedisFacts> {
  // The nodes of a cluster are configured alike, so the first speaks for all.
  const redis = openForOnce(url, 3_000)[0] as Redis;
  // The cause of a failed connection arrives as an event; the promise only says that the connection is closed.
  let cause: Error | undefined;
  redis.on("error", (error: Error) => (cause = error));
  try {
    await redis.connect();
    const info = await redis.info();
    const [, appendFsync] = (await redis.call("CONFIG", "GET", "appendfsync").catch(() => [])) as string[];
    const compatible = field(info, "redis_version") ?? "0";
    const valkey = field(info, "valkey_version");
    return {
      version: valkey === undefined ? `Redis ${compatible}` : `Valkey ${valkey}`,
      recent: isRecent(compatible),
      maxmemoryPolicy: field(info, "maxmemory_policy") ?? "noeviction",
      appendOnly: field(info, "aof_enabled") === "1",
      appendFsync,
      usedMemoryBytes: Number(field(info, "used_memory") ?? 0),
      maxmemoryBytes: Number(field(info, "maxmemory") ?? 0),
    };
  } catch (error) {
    throw cause ?? error;
  } finally {
    redis.disconnect();
  }
}
