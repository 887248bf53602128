/**
 * Lets nobody be told what a failover could still take back: replies to what was acknowledged wait until replicas have it too.
 *
 *   write ─▶ its reply ─┐
 *   WAIT ──▶ how many ──┴─▶ told
 *
 * WAIT answers for everything that the server did before it, whoever asked for it. So one answers for all that leave in a turn of the event
 * loop, a repeated answer waits for the first one, and so can a read.
 */
import { ParleyError } from "@parley/core";
import type { Redis } from "ioredis";
import { reached } from "./unavailable.ts";

/** The command's reply, once replicas have what it did. Throws UNAVAILABLE, which leaves open what became of it. */
export type Acknowledge = <Reply>(command: Promise<Reply>) => Promise<Reply>;

export interface Replicas {
  readonly redis: Redis;
  /** 0: nobody waits. */
  readonly count: number;
  /** How long; everything that follows on this connection waits as well. */
  readonly timeoutMs: number;
}

export function acknowledgeWith({ redis, count, timeoutMs }: Replicas): Acknowledge {
  if (count === 0) return reached;
  let next: Promise<number> | undefined;

  function held(): Promise<number> {
    next ??= new Promise((resolve) => {
      setImmediate(() => {
        next = undefined;
        resolve(redis.wait(count, timeoutMs));
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
