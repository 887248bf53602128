/**
 * Which workers are alive and which partitions each of them serves, without a coordinator.
 *
 *   parley:workers   zset: `<worker>.<share>` by the time, of Redis' clock, of its last beat
 *
 * Every process that reads the set computes the same assignment by rendezvous hashing: for each partition the workers
 * are ranked by a hash of worker and partition, and the first ones serve it. A worker that comes or goes moves only
 * its own share.
 *
 *   share   how many partitions a worker should serve; 0: all of them
 *   cover   how many workers serve a partition: at least two, and as many as give each worker its share
 *
 * A worker applies its own share. The ranks are the same for all, so workers with different shares, for example while
 * the setting is being changed, leave no partition unserved: the first two always serve it.
 */
import type { Log } from "@parley/core";
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";

/** How often a worker beats, and how often readers refresh. */
export const BEAT_EVERY_MS = 2_000;
/** A worker without a beat for this long counts as dead: three beats. */
export const ALIVE_MS = 6_000;
/** The set expires when no process refreshes it. */
const SET_KEPT_MS = 3_600_000;
/** Minimum number of workers per partition, if there are that many. */
const COVER_MIN = 2;

export interface LiveWorker {
  /** Letters, digits, - and _. */
  readonly id: string;
  /** Number of partitions that it should serve; 0: all. */
  readonly share: number;
}

/** How many workers serve each partition, as computed by a worker with that share. */
export function coverOf(share: number, workers: number, partitions: number): number {
  if (share === 0) return workers;
  return Math.min(workers, Math.max(COVER_MIN, Math.ceil((share * workers) / partitions)));
}

/** The workers that serve a partition, by rank. */
export function serving(partition: number, workers: readonly LiveWorker[], partitions: number): readonly LiveWorker[] {
  const ranked = workers
    .map((worker) => ({ worker, rank: rankOf(worker.id, partition) }))
    .toSorted((one, other) => other.rank - one.rank || (one.worker.id < other.worker.id ? -1 : 1));
  return ranked.flatMap(({ worker }, at) => (at < coverOf(worker.share, workers.length, partitions) ? [worker] : []));
}

/**
 * FNV-1a of the worker, mixed with the partition by the finaliser of MurmurHash3, so that all bits of both affect
 * each bit of the rank.
 */
function rankOf(id: string, partition: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash ^= Math.imul(partition + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export interface LiveWorkers {
  /** Records a beat of this worker and returns all live workers, including itself. */
  beat(worker: LiveWorker): Promise<readonly LiveWorker[]>;
  leave(worker: LiveWorker): Promise<void>;
  /**
   * The workers that serve the partition, in turn; undefined while none is known. Starts to refresh with the first
   * call, and never waits for it.
   */
  next(partition: number): string | undefined;
  close(): void;
}

export interface LiveWorkersOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly partitions: number;
  /** By Redis' clock. */
  readonly now: () => number;
  readonly log: Log;
}

export function createLiveWorkers({ redis, keys, partitions, now, log }: LiveWorkersOptions): LiveWorkers {
  const { workers: key } = keys;
  let seen: readonly LiveWorker[] = [];
  let seenNames = "";
  let seenAtMs = 0;
  let of = new Map<number, readonly LiveWorker[]>();
  let following: NodeJS.Timeout | undefined;
  let turn = 0;
  let beatAtMs = 0;

  async function look(): Promise<void> {
    const found = livingAt(now(), await redis.zrange(key, "0", "-1", "WITHSCORES"));
    seenAtMs = now();
    // Redis lists them by their last beats, in another order each time.
    const names = found.map(nameOf).toSorted().join(" ");
    if (names === seenNames) return;
    seen = found;
    seenNames = names;
    of = new Map();
  }

  function follow(): void {
    const tryLook = () =>
      void look().catch((error: unknown) =>
        log.debug({ error: error instanceof Error ? error.message : String(error) }, "workers not seen"),
      );
    following = setInterval(tryLook, BEAT_EVERY_MS);
    following.unref();
    tryLook();
  }

  return {
    async beat(worker) {
      const atMs = now();
      const [, , members] = await Promise.all([
        redis.zadd(key, atMs, nameOf(worker)),
        redis.pexpire(key, SET_KEPT_MS),
        redis.zrange(key, "0", "-1", "WITHSCORES"),
      ]);
      const forgotten = beatsOf(members).filter((beat) => beat.atMs < atMs - SET_KEPT_MS);
      if (forgotten.length > 0) await redis.zrem(key, ...forgotten.map(({ name }) => name));
      // While Redis was unreachable, no worker could beat. If the first to beat again took all others for dead, each
      // worker would serve everything.
      const lastMs = beatAtMs === 0 ? atMs : beatAtMs + BEAT_EVERY_MS;
      beatAtMs = atMs;
      return livingAt(Math.min(atMs, lastMs), members);
    },
    async leave(worker) {
      await redis.zrem(key, nameOf(worker));
    },
    next(partition) {
      if (!following) follow();
      // Redis was unreachable, so the live workers are unknown.
      if (seenAtMs < now() - ALIVE_MS) return undefined;
      let those = of.get(partition);
      if (!those) of.set(partition, (those = serving(partition, seen, partitions)));
      turn += 1;
      return those[turn % those.length]?.id;
    },
    close() {
      clearInterval(following);
    },
  };
}

/** A member of the set. */
function nameOf({ id, share }: LiveWorker): string {
  return `${id}.${share}`;
}

/** The members of the set with the times of their last beats, from the flat reply to ZRANGE. */
function beatsOf(flat: readonly string[]): readonly { readonly name: string; readonly atMs: number }[] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [{ name, atMs: Number(flat[at + 1]) }] : []));
}

function livingAt(atMs: number, flat: readonly string[]): readonly LiveWorker[] {
  const living = beatsOf(flat).filter((beat) => beat.atMs > atMs - ALIVE_MS);
  return living.map(({ name }) => {
    const [id = "", share] = name.split(".");
    return { id, share: Number(share) };
  });
}
