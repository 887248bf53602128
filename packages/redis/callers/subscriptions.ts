/** Subscriptions to events by webhook: one hash, bounded in number, which expires with the last of them. */
import type { Subscription, Subscriptions } from "@parley/core";
import { hash } from "node:crypto";
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

/** The number is looked at every few seconds, and may begin again once nobody has looked for so long. */
const VERSION_MS = 24 * 60 * 60 * 1_000;

export function createSubscriptions({ redis, keys }: { readonly redis: Redis; readonly keys: Pick<Keys, "subscriptions"> }): Subscriptions {
  const scripts = loadScripts(redis, { names: ["put"], folder: "subscription/", keyCount: () => 2 });
  const [all, version] = keys.subscriptions;
  return {
    async put(subscription, limits, nowMs) {
      const { id, caller, expiresAtMs } = subscription;
      const owner = hash("sha256", JSON.stringify([caller.tenant, caller.principal]), "base64url").slice(0, 22);
      const text = JSON.stringify(subscription);
      return (await reached(
        scripts.put([all, version, id, owner, Math.ceil(expiresAtMs), text, nowMs, limits.own, limits.all, VERSION_MS]),
      )) as "kept" | "own" | "all";
    },
    async remove(id) {
      const [removed] = (await reached(redis.multi().hdel(all, id).incr(version).pexpire(version, VERSION_MS).exec())) ?? [];
      return removed?.[1] === 1;
    },
    async get(id, nowMs) {
      const text = await reached(redis.hget(all, id));
      return text === null ? undefined : liveIn([text], nowMs)[0];
    },
    list: async (nowMs) => liveIn(Object.values(await reached(redis.hgetall(all))), nowMs),
    version: async () => (await reached(redis.get(version))) ?? "",
  };
}

function liveIn(texts: readonly string[], nowMs: number): Subscription[] {
  return texts
    .map((text) => JSON.parse(text.slice(text.indexOf("\n") + 1)) as Subscription)
    .filter(({ expiresAtMs }) => expiresAtMs > nowMs);
}
