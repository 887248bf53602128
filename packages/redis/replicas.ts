/**
 * Lets nobody be told what a failover could still take back: replies to what was acknowledged wait until replicas have it too.
 *
 *   write ─▶ its reply ─┐
 *   WAIT ──▶ how many ──┴─▶ told
 *
 * WAIT answers for the last write of its connection and all that any other wrote before. So one that follows a small write of our own answers
 * for all that left in a turn of the event loop, and a repeated answer, or a read, waits for what others wrote. (Redis 7.0 does without the
 * write, Valkey does not.)
 */
import { ParleyError } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "./unavailable.ts";

const KEPT_MS = 10_000;

/** The command's reply, once replicas have what it did. Throws UNAVAILABLE, which leaves open what became of it. */
export type Acknowledge = <Reply>(command: Promise<Reply>) => Promise<Reply>;

export interface Replicas {
  readonly redis: Redis;
  /** Written for the sake of being written. */
  readonly key: string;
  /** 0: nobody waits. */
  readonly count: number;
  /** How long; everything that follows on this connection waits as well. */
  readonly timeoutMs: number;
}

export function acknowledgeWith({ redis, key, count, timeoutMs }: Replicas): Acknowledge {
  if (count === 0) return reached;
  let next: Promise<number> | undefined;

  function held(): Promise<number> {
    next ??= new Promise((resolve) => {
      setImmediate(() => {
        next = undefined;
        const written = redis.set(key, "", "PX", KEPT_MS);
        resolve(Promise.all([redis.wait(count, timeoutMs), written]).then(([replicas]) => replicas));
      });
    });
    return next;
  }

  return async (command) => {
    const [done, waited] = await reached(Promise.all([withServer(command), withServer(held())]));
    if (waited.reply < count) {
      throw new ParleyError("UNAVAILABLE", `Redis: ${waited.reply} of ${count} replicas have it (PARLEY_REDIS_REPLICAS)`);
    }
    // Another server knows nothing of what the last one had sent to its replicas.
    if (waited.server !== done.server) throw new ParleyError("UNAVAILABLE", "Redis: the connection was lost before replicas had it");
    return done.reply;
  };

  async function withServer<Reply>(command: Promise<Reply>): Promise<{ readonly reply: Reply; readonly server: unknown }> {
    const reply = await command;
    return { reply, server: redis.stream };
  }
}
