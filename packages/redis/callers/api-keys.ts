/**
 * The keys with which machines call: one hash of id to JSON record. They are few, created manually, and stay until
 * revoked.
 */
import { type ApiKey, type ApiKeys, ParleyError } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import type { Acknowledge } from "../connection/replicas.ts";
import { reached } from "../connection/unavailable.ts";

/** Maximum number of keys in a deployment, including expired ones; about 300 bytes each. */
export const API_KEYS_MAX = 10_000;

export interface ApiKeyRing extends ApiKeys {
  /** Throws UNAVAILABLE, and QUOTA_EXCEEDED beyond 10,000 keys. */
  add(key: ApiKey): Promise<void>;
  /** Oldest first. */
  list(): Promise<readonly ApiKey[]>;
  /** Returns the revoked key; undefined if it does not exist. */
  revoke(id: string): Promise<ApiKey | undefined>;
}

export interface ApiKeysOptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "apiKeys">;
  readonly acknowledge: Acknowledge;
}

export function createApiKeys({ redis, keys: { apiKeys: hashKey }, acknowledge }: ApiKeysOptions): ApiKeyRing {
  async function find(id: string): Promise<ApiKey | undefined> {
    const record = await reached(redis.hget(hashKey, id));
    return record === null ? undefined : read(id, record);
  }

  return {
    find,
    async add({ id, ...record }) {
      if ((await reached(redis.hlen(hashKey))) >= API_KEYS_MAX) {
        throw new ParleyError("QUOTA_EXCEEDED", `there are ${API_KEYS_MAX} API keys: revoke some that are no longer used`);
      }
      const text = JSON.stringify(record);
      if ((await acknowledge(redis.hsetnx(hashKey, id, text))) === 1) return;
      // Unless this command has added it and was sent again, because its reply was lost.
      if ((await reached(redis.hget(hashKey, id))) !== text) throw new Error(`API key ${id} exists already`);
    },
    async list() {
      const found = Object.entries(await reached(redis.hgetall(hashKey))).map(([id, record]) => read(id, record));
      return found.sort((a, b) => a.createdAtMs - b.createdAtMs);
    },
    async revoke(id) {
      const found = await find(id);
      await acknowledge(redis.hdel(hashKey, id));
      return found;
    },
  };
}

function read(id: string, record: string): ApiKey {
  return { id, ...(JSON.parse(record) as Omit<ApiKey, "id">) };
}
