/** The run queue on BullMQ: one queue per partition, and the offers on lanes that make most jobs unnecessary (fast-lane.ts). */
import { hash } from "node:crypto";
import type { Called, Log, RunCause, RunQueue, RunRef } from "@parley/core";
import { Queue, type Telemetry } from "bullmq";
import type { Redis } from "ioredis";
import { type Keys, partitionOf, RUN_QUEUE } from "../keys.ts";
import type { LiveWorkers } from "./live-workers.ts";
import type { Turns } from "./turns.ts";
import { reached } from "../connection/unavailable.ts";

/**
 * BullMQ keeps a stream of job events. Parley does not read it, and the default of 10,000 entries is a megabyte per
 * queue.
 */
export const EVENTS_KEPT = 100;

/**
 * A job that is kept blocks its id forever and silently: the run could never be added again. Nothing in a job is
 * worth keeping, because the task is the record.
 */
const KEEP_NO_JOBS = { removeOnComplete: true, removeOnFail: true } as const;

/**
 * Answers are acted on before new calls, because someone is waiting for the effect. BullMQ takes jobs without a
 * priority before those with one. New calls that are not counted are all first. Runs that are counted take turns,
 * whatever made them due.
 */
const BEHIND_ANSWERS = 1;

/**
 * How long new tasks go to the queue without an offer to a worker, after an offer that none took. After an offer,
 * adding the job is a separate round trip: with more tasks than places, every task would cost one.
 */
const QUEUED_MS = 100;

/**
 * `<taskId>.<run>`, so that a run that is added twice is added once.
 *
 * A run that an answer overtook has an id of its own. The answer added the next run while the current one was open,
 * and that job is refused as stale. If `park` then added its job under the same id, BullMQ would drop it, and the
 * task would wait for the sweep.
 */
export function jobIdOf({ taskId, run }: RunRef, cause: RunCause): string {
  return cause === "overtaken" ? `${taskId}.${run}.${cause}` : `${taskId}.${run}`;
}

/** The run that a job is for. Task ids contain no dots. */
export function runOfJob(jobId: string): RunRef {
  const [taskId = "", run] = jobId.split(".");
  return { taskId, run: Number(run) };
}

/** Encodes what a task calls as one word. A name with half of a surrogate pair cannot be encoded and is left out. */
export function calledWord(calls: Called | undefined): readonly string[] {
  return calls?.name.isWellFormed() === true ? [`${calls.kind}:${encodeURIComponent(calls.name)}`] : [];
}

/** Returns undefined for a word that another version of Parley may have written differently. */
export function readCalledWord(word: string): Called | undefined {
  const [, kind, name] = /^(tool|prompt):(.+)$/.exec(word) ?? [];
  if (name === undefined) return undefined;
  try {
    return { kind: kind as Called["kind"], name: decodeURIComponent(name) };
  } catch {
    return undefined;
  }
}

/** A share as one short word: names of tenants may be long and have spaces. */
export function shareWord(share: string): string {
  return hash("sha256", share, "base64url").slice(0, SHARE_WORD_CHARS);
}

/** Enough that no two of the shares that one worker runs at the same time have the same word. */
const SHARE_WORD_CHARS = 11;

/** Other versions of Parley may leave it out, or add to it. */
export interface JobData {
  /** shareWord. */
  readonly share?: string;
  /** calledWord. */
  readonly calls?: string;
}

export interface RedisQueue extends RunQueue {
  /** `place`: the run's priority, and `word` its share's word, if they are already known. */
  add(run: Parameters<RunQueue["add"]>[0] & { readonly place?: number; readonly word?: string }): Promise<void>;
  /**
   * A new task was offered to a worker and none took it: none is free or listening. For a moment, new tasks are
   * queued directly.
   */
  notTaken(taskId: string): void;
  /**
   * Opens the queues of these partitions. A queue that is opened by its first run waits for Redis without a timeout.
   */
  open(partitions: readonly number[]): Promise<void>;
  counts(partition: number): Promise<{ readonly waiting: number; readonly active: number }>;
  close(): Promise<void>;
}

interface Placed extends RunRef {
  readonly share: string | undefined;
  readonly cause: RunCause;
}

export interface RedisQueueOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly log: Log;
  readonly turns: Turns;
  readonly workers: Pick<LiveWorkers, "next">;
  /** BullMQ's own interface for traces. */
  readonly telemetry?: Telemetry | undefined;
}

/**
 * The run queue: one BullMQ queue per partition, on the store's connection, so that a task and its run are sent in
 * one burst and in that order. The job's id identifies the run (see jobIdOf), its name is the cause, and its data
 * says what a new task calls.
 */
export function createRedisQueue({ redis, keys, log, turns, workers, telemetry }: RedisQueueOptions): RedisQueue {
  const queues = new Map<number, Promise<Queue>>();
  /** Partition → until when its new tasks are queued directly. */
  const queuedUntilMs = new Map<number, number>();

  function queueOf(partition: number): Promise<Queue> {
    const known = queues.get(partition);
    if (known) return known;
    const opened = openQueue(partition);
    queues.set(partition, opened);
    opened.catch(() => queues.delete(partition));
    return opened;
  }

  async function openQueue(partition: number): Promise<Queue> {
    const queue = new Queue(RUN_QUEUE, {
      connection: redis,
      prefix: keys.queuePrefix(partition),
      defaultJobOptions: KEEP_NO_JOBS,
      streams: { events: { maxLen: EVENTS_KEPT } },
      ...(telemetry && { telemetry }),
    });
    queue.on("error", (error) => log.warn({ partition, error: error.message }, "run queue in trouble"));
    try {
      await queue.waitUntilReady();
    } catch (error) {
      // It stays broken, and would listen to the connection forever: the next run opens another.
      await queue.close();
      throw error;
    }
    return queue;
  }

  function placeOf({ taskId, share, cause }: Pick<Placed, "taskId" | "share" | "cause">): number {
    const isNew = cause === "created";
    if (share === undefined) return isNew ? BEHIND_ANSWERS : 0;
    return isNew ? turns.next({ taskId, share }) : turns.nextDue({ taskId, share });
  }

  return {
    async open(partitions) {
      await reached(Promise.all(partitions.map(queueOf)));
    },
    async add({ taskId, run, cause = "overdue", share, place, word, calls }) {
      const partition = partitionOf(taskId);
      if (partition === undefined) throw new TypeError("a run needs a task id");
      const priority = place ?? placeOf({ taskId, share, cause });
      const order = priority > 0 ? { priority } : {};
      const [called] = cause === "created" ? calledWord(calls) : [];
      const ofShare = word ?? (share === undefined ? undefined : shareWord(share));
      const data: JobData = { ...(called !== undefined && { calls: called }), ...(ofShare !== undefined && { share: ofShare }) };
      const add = async () => (await queueOf(partition)).add(cause, data, { jobId: jobIdOf({ taskId, run }, cause), ...order });
      await reached(add());
    },
    lane({ taskId, cause, share, calls }) {
      const partition = partitionOf(taskId);
      if (partition === undefined) return undefined;
      // A share of which nothing else waits is offered all the same: a worker may have a place in reserve (run-places.ts).
      const isQueued = cause === "created" && (queuedUntilMs.get(partition) ?? 0) > performance.now();
      if (isQueued && (share === undefined || !turns.isQuiet({ taskId, share }))) return undefined;
      const worker = workers.next(partition);
      if (worker === undefined) return undefined;
      const channel = keys.lane(partition, worker);
      const called = calledWord(calls);
      if (share !== undefined) return [channel, placeOf({ taskId, share, cause }), called[0] ?? "-", shareWord(share)].join(" ");
      return cause === "created" ? [channel, placeOf({ taskId, share, cause }), ...called].join(" ") : channel;
    },
    notTaken(taskId) {
      const partition = partitionOf(taskId);
      if (partition !== undefined) queuedUntilMs.set(partition, performance.now() + QUEUED_MS);
    },
    async counts(partition) {
      const { wait = 0, prioritized = 0, active = 0 } = await (await queueOf(partition)).getJobCounts("wait", "prioritized", "active");
      return { waiting: wait + prioritized, active };
    },
    async close() {
      const opened = await Promise.allSettled(queues.values());
      await Promise.all(opened.map(async (queue) => (queue.status === "fulfilled" ? queue.value.close() : undefined)));
    },
  };
}
