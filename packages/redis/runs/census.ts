/**
 * How many tasks exist, what they wait for and since when, for monitoring.
 *
 * The due set and the queue answer most of this with a few commands. Open asks are in their tasks' hashes, and an
 * index would cost each parked task a tenth of its size, so they are counted in passing: one slice of the tasks per
 * sweep.
 */
import type { Redis } from "ioredis";
import type { Keys } from "../keys.ts";
import { loadScripts } from "../scripts/load-scripts.ts";
import { absentKeyOf, SHARED_BY_TASKS } from "../scripts/scripts.ts";
import type { RedisQueue } from "./queue.ts";
import { reached } from "../connection/unavailable.ts";

/** Tasks per slice: about 2 ms of Redis. With one slice a second, 30,000 tasks take a minute. */
const SLICE = 500;
/** A census that is not continued expires. */
const KEEP_MS = 60 * 60 * 1_000;

export interface Census {
  readonly unfinished: number;
  /** Unfinished tasks that will not run before `parkedBeyondMs` unless they are answered. */
  readonly parked: number;
  /** Tasks whose run is overdue by more than `overdueAfterMs`. */
  readonly overdue: number;
  /** When the run that has been due longest became due, or when the next one will; undefined without tasks. */
  readonly oldestDueAtMs: number | undefined;
  readonly waitingRuns: number;
  readonly activeRuns: number;
  /** From the last complete round of counting; undefined before the first. */
  readonly asks: { readonly open: number; readonly oldestAtMs: number | undefined; readonly countedAtMs: number } | undefined;
}

export interface CensusOptions {
  readonly parkedBeyondMs: number;
  readonly overdueAfterMs: number;
  readonly nowMs: number;
}

export interface Censuses {
  /** Continues the count in one partition. Called by its sweep. */
  count(partition: number, nowMs: number): Promise<void>;
  read(options: CensusOptions): Promise<Census>;
}

export interface CensusesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queue: RedisQueue;
  readonly partitions: readonly number[];
}

export function createCensuses({ redis, keys, queue, partitions }: CensusesOptions): Censuses {
  const { census } = loadScripts(redis, {
    names: ["census"],
    folder: "",
    shared: SHARED_BY_TASKS,
    keyCount: () => 4,
    absentKey: absentKeyOf,
  });

  async function ofPartition(partition: number, { parkedBeyondMs, overdueAfterMs, nowMs }: CensusOptions): Promise<Census> {
    const due = keys.due(partition);
    const [unfinished, parked, overdue, [, first], jobs, [open, oldest, counted]] = await reached(
      Promise.all([
        redis.zcard(due),
        redis.zcount(due, nowMs + parkedBeyondMs, "+inf"),
        redis.zcount(due, "-inf", nowMs - overdueAfterMs),
        redis.zrangebyscore(due, "-inf", "+inf", "WITHSCORES", "LIMIT", 0, 1),
        queue.counts(partition),
        redis.hmget(keys.census(partition), "open_asks", "oldest_ask_at_ms", "counted_at_ms"),
      ]),
    );
    const asks = !counted
      ? undefined
      : { open: Number(open), oldestAtMs: oldest ? Number(oldest) : undefined, countedAtMs: Number(counted) };
    const oldestDueAtMs = first === undefined ? undefined : Number(first);
    return { unfinished, parked, overdue, oldestDueAtMs, waitingRuns: jobs.waiting, activeRuns: jobs.active, asks };
  }

  return {
    async count(partition, nowMs) {
      const key = keys.census(partition);
      await reached(census([key, key, key, keys.due(partition), SLICE, nowMs, KEEP_MS, keys.taskPrefix(partition)]));
    },
    async read(options) {
      return (await Promise.all(partitions.map((partition) => ofPartition(partition, options)))).reduce(added);
    },
  };
}

function added(a: Census, b: Census): Census {
  return {
    unfinished: a.unfinished + b.unfinished,
    parked: a.parked + b.parked,
    overdue: a.overdue + b.overdue,
    oldestDueAtMs: earliest(a.oldestDueAtMs, b.oldestDueAtMs),
    waitingRuns: a.waitingRuns + b.waitingRuns,
    activeRuns: a.activeRuns + b.activeRuns,
    // A sum that lacks a partition would look like a loss.
    asks: a.asks &&
      b.asks && {
        open: a.asks.open + b.asks.open,
        oldestAtMs: earliest(a.asks.oldestAtMs, b.asks.oldestAtMs),
        countedAtMs: Math.min(a.asks.countedAtMs, b.asks.countedAtMs),
      },
  };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
