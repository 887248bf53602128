import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Ids } from "@parley/core";

/** Ids of new tasks spread evenly over the partitions `0 … partitions - 1`. */
export function createIds({ partitions }: { readonly partitions: number }): Ids {
  const take = randomPool();
  return {
    taskId: () => `${randomInt(partitions)}-${take(16).toString("base64url")}`, // 128 bits (I10)
    token: () => take(12).toString("base64url"),
    uuid: () => randomUUID(),
    random: () => take(6).readUIntBE(0, 6) / 2 ** 48,
  };
}

const POOL_BYTES = 4_096;

/** Random bytes, fetched from the system in bulk as randomUUID does: a fetch for each token was 2 % of a busy worker. None is given twice. */
function randomPool(): (bytes: number) => Buffer {
  let pool = Buffer.alloc(0);
  let taken = 0;
  return (bytes) => {
    if (taken + bytes > pool.length) {
      pool = randomBytes(POOL_BYTES);
      taken = 0;
    }
    taken += bytes;
    return pool.subarray(taken - bytes, taken);
  };
}
