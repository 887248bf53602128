/**
 * Delays acknowledgements until a failover can no longer undo them: the reply to a write waits until replicas have the write too.
 *
 *   write ─▶ its reply ─┐
 *   WAIT ──▶ how many ──┴─▶ acknowledged
 *
 * WAIT covers the last write of its connection and everything that other connections wrote before. One WAIT after a small write of our own
 * therefore covers all commands of a turn of the event loop, and makes a repeated answer or a read wait for the writes of others. (Redis 7.0
 * does not need the small write, Valkey does.)
 */
import { ParleyError } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "./unavailable.ts";

const KEPT_MS = 10_000;

/** Returns the command's reply once replicas have its write. Throws UNAVAILABLE, which leaves open whether the write happened. */
export type Acknowledge = <Reply>(command: Promise<Reply>) => Promise<Reply>;

export interface Replicas {
  readonly redis: Redis;
  /** The key of the small write. */
  readonly key: string;
  /** 0: no reply waits. */
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
