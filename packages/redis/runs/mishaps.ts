/**
 * When a tool last did what pages somebody: for monitoring. A counter of the worker would do if workers lived on, but a process that ends,
 * or was started since the last scrape, takes what it has counted with it.
 */
import type { Redis } from "ioredis";
import { reached } from "../connection/unavailable.ts";
import type { Keys } from "../keys.ts";

/** Long enough for a monitoring that was away itself. */
const KEEP_MS = 30 * 24 * 60 * 60_000;

/** `given_up`: a compensation was given up. `poisoned`: a task ended every worker that took it. */
export type MishapKind = "given_up" | "poisoned";

export interface Mishap {
  readonly kind: MishapKind;
  readonly tool: string;
  readonly atMs: number;
}

/** Throws UNAVAILABLE. */
export interface Mishaps {
  note(mishap: Mishap): Promise<void>;
  /** The last one of each kind and tool. */
  read(): Promise<readonly Mishap[]>;
}

export function createMishaps({ redis, keys }: { readonly redis: Redis; readonly keys: Pick<Keys, "mishaps"> }): Mishaps {
  return {
    async note({ kind, tool, atMs }) {
      await reached(Promise.all([redis.hset(keys.mishaps, `${kind} ${tool}`, atMs), redis.pexpire(keys.mishaps, KEEP_MS)]));
    },
    async read() {
      const all = await reached(redis.hgetall(keys.mishaps));
      return Object.entries(all).map(([name, at]) => {
        const end = name.indexOf(" ");
        return { kind: name.slice(0, end) as MishapKind, tool: name.slice(end + 1), atMs: Number(at) };
      });
    },
  };
}
