/** What an operator should know about a Redis before trusting it with tasks. `parley doctor` turns it into advice. */
import type { Redis } from "ioredis";
import { field, isClusterAddress, isNoCluster, isReadOnly, isRecent, openForOnce, refusesUs } from "../connection/connect.ts";
import { missingRights } from "../connection/rights.ts";

export interface RedisFacts {
  /** Of Redis, or of Valkey: `Valkey 9.1.2`. */
  readonly version: string;
  readonly recent: boolean;
  /** A replica that refuses writes. */
  readonly readOnly: boolean;
  readonly isCluster: boolean;
  /** Whether the address names what it is: `no cluster` behind the address of one, or `node` for the address of a Cluster's node alone. */
  readonly mode: "fits" | "no cluster" | "node";
  /** Replicas that are connected to it. */
  readonly replicas: number;
  readonly maxmemoryPolicy: string;
  /** Whether there is an append-only file. */
  readonly appendOnly: boolean;
  /** `everysec`, `always`, `no`; undefined if CONFIG is disabled, as on hosted servers. */
  readonly appendFsync: string | undefined;
  /** Rights that the user needs and lacks, as ACL SETUSER takes them. */
  readonly missingRights: readonly string[];
  readonly usedMemoryBytes: number;
  /** 0 for no limit. */
  readonly maxmemoryBytes: number;
}

/** `prefix`: of the deployment's keys and channels. Throws an Error that says why Redis could not be asked. */
export async function inspectRedis(url: string, prefix: string): Promise<RedisFacts> {
  let failed: unknown;
  // The nodes of a cluster are configured alike, so the first that answers speaks for all.
  for (const redis of openForOnce(url, 3_000)) {
    try {
      return await inspect(redis, url, prefix);
    } catch (error) {
      failed = error;
    }
  }
  throw failed;
}

async function inspect(redis: Redis, url: string, prefix: string): Promise<RedisFacts> {
  // The cause of a failed connection arrives as an event; the promise only says that the connection is closed.
  let cause: Error | undefined;
  redis.on("error", (error: Error) => (cause = error));
  try {
    await redis.connect();
    const info = await redis.info();
    if (cause && refusesUs(cause)) throw cause;
    const [, appendFsync] = (await redis.call("CONFIG", "GET", "appendfsync").catch(() => [])) as string[];
    const compatible = field(info, "redis_version") ?? "0";
    const valkey = field(info, "valkey_version");
    const isCluster = field(info, "cluster_enabled") === "1";
    return {
      version: valkey === undefined ? `Redis ${compatible}` : `Valkey ${valkey}`,
      recent: isRecent(compatible),
      readOnly: isReadOnly(info),
      isCluster,
      mode: isNoCluster(url, info) ? "no cluster" : isCluster && !isClusterAddress(url) ? "node" : "fits",
      replicas: Number(field(info, "connected_slaves") ?? 0),
      maxmemoryPolicy: field(info, "maxmemory_policy") ?? "noeviction",
      appendOnly: field(info, "aof_enabled") === "1",
      appendFsync,
      missingRights: await missingRights(redis, { prefix, isCluster }),
      usedMemoryBytes: Number(field(info, "used_memory") ?? 0),
      maxmemoryBytes: Number(field(info, "maxmemory") ?? 0),
    };
  } catch (error) {
    throw cause ?? error;
  } finally {
    redis.disconnect();
  }
}
