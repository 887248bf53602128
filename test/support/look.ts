/** Connections for tests that look into Redis and meddle with it, for any form of its address. */
import { openConnection } from "@parley/redis";
import { Cluster, type Redis } from "ioredis";

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * LOOK_URL, where it is set, stands for REDIS_URL: what is tested may be a user with least rights, who cannot look at everything.
 */
export function openLook(url: string): Redis {
  const { REDIS_URL, LOOK_URL } = process.env;
  const lookUrl = url === REDIS_URL && LOOK_URL ? LOOK_URL : url;
  return openConnection(lookUrl, { log: silent, name: "look", options: { maxRetriesPerRequest: null } });
}

/** Every key under the prefix, wherever it is. */
export async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for (const node of nodesOf(redis)) {
    let cursor = "0";
    do {
      const [next, found] = await node.scan(cursor, "MATCH", `${prefix}:*`, "COUNT", 1_000);
      keys.push(...found);
      cursor = next;
    } while (cursor !== "0");
  }
  return keys;
}

/** The servers that hold keys of their own. */
function nodesOf(redis: Redis): Redis[] {
  // To its types the one cannot be the other; openConnection says why it is.
  const connection: unknown = redis;
  return connection instanceof Cluster ? connection.nodes("master") : [redis];
}
