/** Requests with an idempotency key: one hash per caller, which expires with the newest of them. */
import { REPEATS_KEPT_MS, REPEATS_LEASE_MS, REPEATS_MAX, type Repeats } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

/** Throws UNAVAILABLE. */
export function createRepeats({ redis, keys }: { readonly redis: Redis; readonly keys: Pick<Keys, "repeats"> }): Repeats {
  const scripts = loadScripts(redis, { names: ["begin", "finish"], folder: "repeat/", keyCount: () => 1 });
  return {
    async begin({ caller, key, fingerprint, nowMs }) {
      const limits = [REPEATS_LEASE_MS, REPEATS_KEPT_MS, REPEATS_MAX];
      const [type, reply = ""] = (await reached(scripts.begin([keys.repeats(caller), key, fingerprint, nowMs, ...limits]))) as [
        "begun" | "underway" | "other" | "ended",
        string?,
      ];
      return type === "ended" ? { type, reply } : { type };
    },
    async end({ caller, key, fingerprint, nowMs }, reply = "") {
      await reached(scripts.finish([keys.repeats(caller), key, fingerprint, nowMs, REPEATS_KEPT_MS, reply]));
    },
  };
}
