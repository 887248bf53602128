/**
 * How full Redis is, so that operators see it coming, and so that what is left is kept for tasks that exist: a Redis that is full refuses every
 * write, also the answer of a person and the end of a task, which would free memory.
 */
import type { Room } from "@parley/core";
import { Cluster, type Redis } from "ioredis";
import { field } from "./connect.ts";
import { reached } from "./unavailable.ts";

/** Of the node of a Cluster that is fullest. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** `maxmemory`; 0 for no limit. */
  readonly maxBytes: number;
}

/** From this share of `maxmemory` on, no new calls are accepted. */
export const SCARCE_FROM = 0.95;
/** Redis is asked at most this often. At a hundred thousand writes a second, a reserve of 5 % of 1 GB lasts longer. */
const MEASURE_EVERY_MS = 1_000;

export interface MemoryWatch extends Room {
  /** Throws UNAVAILABLE. */
  read(): Promise<RedisMemory>;
}

export function createMemoryWatch(redis: Pick<Redis, "info"> | Cluster, elapsedMs: () => number = () => performance.now()): MemoryWatch {
  let last: RedisMemory | undefined;
  let masters = 1;
  let measuredAtMs = -Infinity;

  async function read(): Promise<RedisMemory> {
    const nodes: readonly Pick<Redis, "info">[] = redis instanceof Cluster ? redis.nodes("master") : [redis];
    const all = await reached(Promise.all(nodes.map(async (node) => memoryOf(await node.info("memory")))));
    masters = nodes.length;
    last = all.reduce((fullest, each) => (shareOf(each) > shareOf(fullest) ? each : fullest), all[0] ?? { usedBytes: 0, maxBytes: 0 });
    return last;
  }

  function measured(): RedisMemory | undefined {
    if (elapsedMs() - measuredAtMs >= MEASURE_EVERY_MS) {
      measuredAtMs = elapsedMs();
      // Nobody waits for it. A Redis that does not answer says so to whoever writes.
      read().catch(() => undefined);
    }
    return last;
  }

  return {
    read,
    isScarce() {
      const memory = measured();
      return memory !== undefined && shareOf(memory) >= SCARCE_FROM;
    },
    bytes() {
      const memory = measured();
      if (!memory || memory.maxBytes === 0) return undefined;
      return { free: Math.max(0, memory.maxBytes - memory.usedBytes) * masters, all: memory.maxBytes * masters };
    },
  };
}

function shareOf({ usedBytes, maxBytes }: RedisMemory): number {
  return maxBytes === 0 ? 0 : usedBytes / maxBytes;
}

function memoryOf(info: string): RedisMemory {
  return { usedBytes: Number(field(info, "used_memory") ?? 0), maxBytes: Number(field(info, "maxmemory") ?? 0) };
}
