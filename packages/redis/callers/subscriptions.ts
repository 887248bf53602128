/**
 * Subscriptions to events by webhook: one hash, bounded in number, which expires with the last of them. Who subscribes, with which
 * groups, and where it is posted is sealed and bound to the subscription's id: who reads Redis learns neither, and who writes to it
 * cannot have somebody's events posted to an address of their own. What does not open is no subscription.
 */
import type { Log, Subscription, Subscriptions } from "@parley/core";
import { hash } from "node:crypto";
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";

/** The number is looked at every few seconds, and may begin again once nobody has looked for so long. */
const VERSION_MS = 24 * 60 * 60 * 1_000;

/** Those that do not open and were logged once. */
const WARNED_MAX = 1_000;

export interface SubscriptionSeal {
  seal(id: string, text: string): string;
  /** Throws if the text was not sealed for this id by this deployment. */
  open(id: string, sealed: string): string;
}

export interface CreateSubscriptions {
  readonly redis: Redis;
  readonly keys: Pick<Keys, "subscriptions">;
  readonly log: Pick<Log, "warn">;
}

export function createSubscriptions(options: CreateSubscriptions): { sealedBy(seal: SubscriptionSeal): Subscriptions } {
  return { sealedBy: (seal) => subscriptionsIn(options, seal) };
}

function subscriptionsIn({ redis, keys, log }: CreateSubscriptions, seal: SubscriptionSeal): Subscriptions {
  const scripts = loadScripts(redis, { names: ["put"], folder: "subscription/", keyCount: () => 2 });
  const [all, version] = keys.subscriptions;
  const warned = new Set<string>();

  function opened(id: string, text: string): Subscription | undefined {
    const stored = text.slice(text.indexOf("\n") + 1);
    try {
      // Until they end, after seven days at most, there may be some that a process of an older version wrote in the clear. While these are read,
      // the seal hides subscriptions and does not yet keep who writes to Redis from adding one.
      return JSON.parse(stored.startsWith("{") ? stored : seal.open(id, stored)) as Subscription;
    } catch (error) {
      if (!warned.has(id)) log.warn({ err: error, subscription: id }, "a subscription to events does not open, and hears nothing");
      if (warned.size < WARNED_MAX) warned.add(id);
      return undefined;
    }
  }

  function live(entries: readonly (readonly [id: string, text: string])[], nowMs: number): Subscription[] {
    return entries.flatMap(([id, text]) => opened(id, text) ?? []).filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  }

  return {
    async put(subscription, limits, nowMs) {
      const { id, caller, expiresAtMs } = subscription;
      const owner = hash("sha256", JSON.stringify([caller.tenant, caller.principal]), "base64url").slice(0, 22);
      const text = seal.seal(id, JSON.stringify(subscription));
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
      return text === null ? undefined : live([[id, text]], nowMs)[0];
    },
    list: async (nowMs) => live(Object.entries(await reached(redis.hgetall(all))), nowMs),
    version: async () => (await reached(redis.get(version))) ?? "",
  };
}
