/** Work that only one process may do at a time, or once: a key for each claim, which expires. */
import type { Claims } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { reached } from "../connection/unavailable.ts";

/** Throws UNAVAILABLE. */
export function createClaims({ redis, keys }: { readonly redis: Redis; readonly keys: Pick<Keys, "claim"> }): Claims {
  const scripts = loadScripts(redis, { names: ["take", "release"], folder: "claim/", keyCount: () => 1 });
  return {
    take: async (name, holder, ms) => (await reached(scripts.take([keys.claim(name), holder, Math.ceil(ms)]))) === 1,
    isTaken: async (name) => (await reached(redis.exists(keys.claim(name)))) === 1,
    release: async (name, holder) => void (await reached(scripts.release([keys.claim(name), holder]))),
  };
}
