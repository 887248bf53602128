import type { Log, RunCause, RunQueue, RunRef } from "@parley/core";
import { Queue, type Telemetry } from "bullmq";
import type { Redis } from "ioredis";
import { type Keys, partitionOf, RUN_QUEUE } from "./keys.ts";
import type { LiveWorkers } from "./live-workers.ts";
import type { Turns } from "./turns.ts";
import { reached } from "./unavailable.ts";

/** BullMQ keeps a stream of what happened to its jobs; nobody reads it here, and the default of 10,000 entries is a megabyte a queue. */
export const EVENTS_KEPT = 100;

/**
 * A job that is kept blocks its id forever, silently: the run could never be added again. Nothing of a job is worth keeping, the task is
 * the record.
 */
export const KEEP_NO_JOBS = { removeOnComplete: true, removeOnFail: true } as const;

/**
 * However many new calls come in, an answer is acted on at once: somebody waits for what becomes of it. BullMQ takes jobs without a priority
 * before those that have one. New calls that are not counted are all first.
 */
const BEHIND_ANSWERS = 1;

/**
 * How long new tasks go to the queue without a look for a worker, after one that none took. With a look the job is a round trip of its own: a
 * deployment with more tasks than places would take one for each.
 */
const QUEUED_MS = 100;

/**
 * `<taskId>.<run>`, so that a run that is added twice is added once.
 *
 * A run that an answer overtook has its own id. The answer added the next run while the current one was open, and that job is refused as
 * stale. If `park` added its job under the same id meanwhile, BullMQ would drop it, and the task would wait for the sweep.
 */
export function jobIdOf({ taskId, run }: RunRef, cause: RunCause): string {
  return cause === "overtaken" ? `${taskId}.${run}.${cause}` : `${taskId}.${run}`;
}

/** Which run a job is. Task ids have no dots. */
export function runOfJob(jobId: string): RunRef {
  const [taskId = "", run] = jobId.split(".");
  return { taskId, run: Number(run) };
}

export interface RedisQueue extends RunQueue {
  /** `place`: the priority of a first run, where it is known already. */
  add(run: Parameters<RunQueue["add"]>[0] & { readonly place?: number }): Promise<void>;
  /** A new task was to go to a worker directly, and none took it: others wait, or nobody listens. New tasks are queued for a moment. */
  untold(taskId: string): void;
  /** Opens the queues of these partitions. One that is opened by its first run waits for Redis without a timeout. */
  open(partitions: readonly number[]): Promise<void>;
  counts(partition: number): Promise<{ readonly waiting: number; readonly active: number }>;
  close(): Promise<void>;
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
 * The run queue: one BullMQ queue per partition on the store's own connection, so that a task and its run leave in one burst and in that
 * order. The job's id says which run it is (see jobIdOf), its name why it was added, it has no data.
 */
export function createRedisQueue({ redis, keys, log, turns, workers, telemetry }: RedisQueueOptions): RedisQueue {
  const queues = new Map<number, Promise<Queue>>();
  /** Partition → until when its new tasks are queued at once. */
  const queuedUntilMs = new Map<number, number>();

  function queueOf(partition: number): Promise<Queue> {
    const known = queues.get(partition);
    if (known) return known;
    const opened = openQueue(partition);
    queues.set(partition, opened);
    // A BullMQ queue that met an outage as it was opened stays broken: the next run opens another.
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
    await queue.waitUntilReady();
    return queue;
  }

  /** The priority of a new task's first run. */
  function placeOf({ taskId, share }: { readonly taskId: string; readonly share: string | undefined }): number {
    return share === undefined ? BEHIND_ANSWERS : turns.next({ taskId, share });
  }

  return {
    async open(partitions) {
      await reached(Promise.all(partitions.map(queueOf)));
    },
    async add({ taskId, run, cause = "overdue", share, place }) {
      const partition = partitionOf(taskId);
      if (partition === undefined) throw new TypeError("a run needs a task id");
      const order = cause === "created" ? { priority: place ?? placeOf({ taskId, share }) } : {};
      const add = async () => (await queueOf(partition)).add(cause, {}, { jobId: jobIdOf({ taskId, run }, cause), ...order });
      await reached(add());
    },
    lane({ taskId, cause, share }) {
      const partition = partitionOf(taskId);
      if (partition === undefined) return undefined;
      if (cause === "created" && (queuedUntilMs.get(partition) ?? 0) > performance.now()) return undefined;
      const worker = workers.next(partition);
      if (worker === undefined) return undefined;
      const channel = keys.lane(partition, worker);
      return cause === "created" ? `${channel} ${placeOf({ taskId, share })}` : channel;
    },
    untold(taskId) {
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
