/** How far each webhook is, and what was given up: one hash and one list for each. */
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";

/** How much of what was given up is kept of one webhook, and for how long. */
export const DEAD_LETTERS_MAX = 1_000;
const DEAD_LETTERS_MS = 30 * 24 * 60 * 60 * 1_000;
/** How long the place of a webhook is kept that nobody serves: longer than the outbox keeps anything. */
const STATE_MS = 366 * 24 * 60 * 60 * 1_000;

/** All throw UNAVAILABLE. */
export function createWebhookStates({ redis, keys }: { readonly redis: Redis; readonly keys: Pick<Keys, "webhook"> }) {
  return {
    async load(name: string): Promise<object> {
      const [state] = keys.webhook(name);
      return JSON.parse((await reached(redis.get(state))) ?? "{}") as object;
    },
    async save(name: string, state: object, keepMs = STATE_MS): Promise<void> {
      await reached(redis.set(keys.webhook(name)[0], JSON.stringify(state), "PX", keepMs));
    },
    async bury(name: string, letter: object): Promise<void> {
      const [, dead] = keys.webhook(name);
      const text = JSON.stringify(letter);
      await reached(
        redis
          .multi()
          .lpush(dead, text)
          .ltrim(dead, 0, DEAD_LETTERS_MAX - 1)
          .pexpire(dead, DEAD_LETTERS_MS)
          .exec(),
      );
    },
    async drop(name: string): Promise<void> {
      await reached(redis.del(...keys.webhook(name)));
    },
    /** Forgets one that was given up, the oldest if there are several of it. */
    async exhume(name: string, letter: object): Promise<void> {
      await reached(redis.lrem(keys.webhook(name)[1], -1, JSON.stringify(letter)));
    },
    /** The newest first. */
    async dead(name: string): Promise<readonly object[]> {
      const found = await reached(redis.lrange(keys.webhook(name)[1], 0, -1));
      return found.map((text) => JSON.parse(text) as object);
    },
  };
}

export type WebhookStates = ReturnType<typeof createWebhookStates>;
