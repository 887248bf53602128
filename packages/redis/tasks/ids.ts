/** Ids and random values: ids of tasks name their partition, and the key that seals them if content is sealed. */
import { hash, randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Ids } from "@parley/core";

export interface IdsOptions {
  readonly partitions: number;
  /** The word of the key that seals content of the tenant. Absent without sealing. */
  readonly sealWord?: (tenant: string) => string | Promise<string>;
}

/** The tenant of callers without one. */
const DEFAULT_TENANT = "default";

/** Ids of new tasks spread evenly over the partitions `0 … partitions - 1`. */
export function createIds(options: {
  readonly partitions: number;
}): Omit<Ids, "taskId"> & { taskId(tenant?: string, once?: string): string };
export function createIds(options: IdsOptions): Ids;
export function createIds({ partitions, sealWord }: IdsOptions): Ids {
  const take = randomPool();
  const unguessable = () => take(16).toString("base64url"); // 128 bits (I10)
  const partition = (once: string | undefined) =>
    once === undefined ? randomInt(partitions) : Number.parseInt(hash("sha256", once).slice(0, 8), 16) % partitions;
  return {
    taskId(tenant = DEFAULT_TENANT, once) {
      const word = sealWord?.(tenant);
      if (word === undefined) return `${partition(once)}-${unguessable()}`;
      const sealed = (found: string) => `${partition(once)}-${found}-${unguessable()}`;
      return typeof word === "string" ? sealed(word) : word.then(sealed);
    },
    token: () => take(12).toString("base64url"),
    uuid: () => randomUUID(),
    random: () => take(6).readUIntBE(0, 6) / 2 ** 48,
  };
}

const POOL_BYTES = 4_096;

/**
 * Random bytes, fetched from the system in bulk as randomUUID does; a fetch for each token took 2 % of a busy
 * worker's time. No byte is returned twice.
 */
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
