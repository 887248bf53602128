import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Ids } from "@parley/core";

/** Ids of new tasks spread evenly over the partitions `0 … partitions - 1`. */
export function createIds({ partitions }: { readonly partitions: number }): Ids {
  return {
    taskId: () => `${randomInt(partitions)}-${randomBytes(16).toString("base64url")}`, // 128 bits (I10)
    token: () => randomBytes(12).toString("base64url"),
    uuid: () => randomUUID(),
    random: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  };
}
