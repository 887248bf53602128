/**
 * The worker's side of the queues: takes the runs of the partitions that it serves (live-workers.ts), and sweeps them.
 *
 * The run queue makes runs fast; the sweeps make them certain (sweeps.ts).
 */
import { randomBytes } from "node:crypto";
import type { Called, Log, RunCause, RunRef } from "@parley/core";
import { type Job, type Telemetry, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { RedisWakeUps } from "../wake-ups/wake-ups.ts";
import { type Keys, RUN_QUEUE } from "../keys.ts";
import { openLane } from "./fast-lane.ts";
import { BEAT_EVERY_MS, type LiveWorker, type LiveWorkers, serving } from "./live-workers.ts";
import { createPlaces, type Places } from "./run-places.ts";
import { type JobData, readCalledWord, type RedisQueue, runOfJob } from "./queue.ts";
import { startSweeps } from "./sweeps.ts";
import { originOf, reached } from "../connection/unavailable.ts";

/**
 * The job of a worker that died becomes available after 5 to 7 seconds; with BullMQ's defaults it would take 50. If the task's lease still holds
 * then, the run is refused as held and its job ends, so the sweep can add it again. `maxStalledCount` is practically infinite: beyond it BullMQ
 * would drop the job whenever a worker dies, and every such run would wait for the sweep.
 */
const WORKER_SETTINGS = { lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000_000 } as const;

/** How long a worker that Redis refused a job waits before it asks again. */
const REFUSED_RETRY_MS = 500;

export interface TakenRun extends RunRef {
  readonly cause: RunCause;
  readonly queuedAtMs: number;
  /** The run was overdue, or its job was handed out before: another worker may have begun it. */
  readonly isSecondHand: boolean;
  /** What a new task calls, if the front end that created it sent this along. */
  readonly calls?: Called;
}

export interface ConsumeRuns {
  /** How many partitions this worker serves, of those that live-workers.ts assigns; 0, the default, means all. */
  readonly share?: number;
  /** Runs at once in this process, shared evenly by the partitions, at least one each. */
  readonly concurrency: number;
  /** One run. What it throws is logged; the task's lease and the sweep bring the run back. */
  readonly run: (run: TakenRun) => Promise<unknown>;
  /** Adds the overdue runs of a partition. Called every second by one worker of the deployment. */
  readonly sweep: (partition: number) => Promise<unknown>;
}

export interface Consumer {
  /** Identifies the worker among the others. */
  readonly id: string;
  /** The partitions that are served now. */
  readonly partitions: readonly number[];
  /** Takes no more runs, and resolves when those at work have ended. If the process ends earlier, other workers take them over. */
  close(): Promise<void>;
}

export interface ConsumeOptions extends ConsumeRuns {
  readonly partitions: readonly number[];
  /** Opened with `maxRetriesPerRequest: null` and without autopipelining, which slows workers down. Workers duplicate it to block on. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly log: Log;
  readonly workers: LiveWorkers;
  readonly wakeUps: Pick<RedisWakeUps, "listen" | "leave">;
  readonly queue: Pick<RedisQueue, "add">;
  readonly telemetry?: Telemetry | undefined;
}

/** How long a partition is still served after it was assigned to other workers, until all of them have noticed. */
const LEAVE_AFTER_MS = 2 * BEAT_EVERY_MS;

interface Part {
  leaveAtMs?: number;
  /** How many runs of its queue are at work at once. */
  resize(concurrency: number): void;
  close(): Promise<void>;
}

export async function consumeRuns(options: ConsumeOptions): Promise<Consumer> {
  const { partitions, concurrency, share = 0, log, workers } = options;
  const self: LiveWorker = { id: randomBytes(6).toString("base64url"), share };
  // Depends on its share and not on what it currently serves: a worker that starts before the others serves more for
  // a while, and keeps its lanes.
  const hasLane = concurrency > Math.min(share || partitions.length, partitions.length);
  const parts = new Map<number, Part>();
  const leaving = new Set<Promise<unknown>>();
  const resize = () => {
    for (const part of parts.values()) part.resize(places.perQueue());
  };
  const places = createPlaces({ concurrency, queues: () => parts.size, changed: resize });
  let isClosed = false;

  /** Serves this worker's partitions, and those that were reassigned for a little longer. */
  async function serve(living: readonly LiveWorker[]): Promise<void> {
    // The reply to a beat that was on its way at the end would open queues that nothing closes.
    if (isClosed) return;
    // While Redis is slow, this worker's own beat may be older than it thinks.
    const all = living.some(({ id }) => id === self.id) ? living : [...living, self];
    const mine = new Set(partitions.filter((partition) => serving(partition, all, partitions.length).some(({ id }) => id === self.id)));
    let opened = 0;
    for (const partition of mine) {
      if (parts.has(partition)) continue;
      parts.set(partition, openPart(partition, { ...options, worker: self.id, places, hasLane }));
      opened += 1;
    }
    resize();
    const nowMs = performance.now();
    for (const [partition, part] of parts) {
      if (mine.has(partition)) delete part.leaveAtMs;
      else if ((part.leaveAtMs ??= nowMs + LEAVE_AFTER_MS) <= nowMs) leave(partition, part);
    }
    if (opened > 0) log.debug({ worker: self.id, partitions: mine.size, workers: all.length }, "partitions served");
  }

  function leave(partition: number, part: Part): void {
    parts.delete(partition);
    const left = part.close().finally(() => leaving.delete(left));
    leaving.add(left);
  }

  // The connection logs its own failure; the next round tries again.
  const beat = () =>
    void workers
      .beat(self)
      .then(serve)
      .catch(() => undefined);

  await serve(await reached(workers.beat(self)));
  const timer = setInterval(beat, BEAT_EVERY_MS);
  timer.unref();

  return {
    id: self.id,
    get partitions() {
      return [...parts.keys()].toSorted((one, other) => one - other);
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      for (const [partition, part] of parts) leave(partition, part);
      await workers.leave(self).catch(() => undefined); // then it counts as dead a little later
      await Promise.all(leaving);
    },
  };
}

/** The runs, sweeps and lane of one partition. */
function openPart(
  partition: number,
  {
    redis,
    keys,
    log,
    telemetry,
    worker,
    wakeUps,
    queue,
    places,
    run,
    sweep,
    hasLane,
  }: ConsumeOptions & { worker: string; places: Places; hasLane: boolean },
): Part {
  const shared = { connection: redis, prefix: keys.queuePrefix(partition) };
  const runs = new PatientWorker(
    RUN_QUEUE,
    async (job: Job<JobData>) => {
      const { share } = job.data;
      places.entered(share);
      try {
        await run(runOf(job));
      } finally {
        places.left(share);
      }
    },
    { ...shared, ...WORKER_SETTINGS, concurrency: places.perQueue(), ...(telemetry && { telemetry }) },
  );
  const inTrouble = (error: Error) => log.warn({ partition, error: error.message }, "queue in trouble");
  runs.on("error", inTrouble);
  runs.on("failed", (job, error) => log.error({ partition, job: job?.id, ...originOf(error) }, "job failed"));
  runs.on("stalled", (job) => log.warn({ partition, job }, "job taken over from a silent worker"));

  const sweeps = startSweeps({ redis, key: keys.swept(partition), partition, log, sweep });
  // If the queues use all places, a lane would only pass runs on.
  const lane = hasLane ? openLane({ channel: keys.lane(partition, worker), wakeUps, log, places, run, queue }) : undefined;

  return {
    resize(each) {
      if (runs.concurrency !== each) runs.concurrency = each;
    },
    async close() {
      await Promise.all([lane?.close(), runs.close(), sweeps.close()]);
    },
  };
}

/**
 * When Redis replies with an error (full, read-only, without its replicas), BullMQ asks for the next job at once:
 * thousands of times a second, each with a line in the log.
 */
class PatientWorker extends Worker {
  protected override async moveToActive(...parameters: Parameters<Worker["moveToActive"]>): ReturnType<Worker["moveToActive"]> {
    try {
      return await super.moveToActive(...parameters);
    } catch (error) {
      await this.delay(REFUSED_RETRY_MS);
      throw error;
    }
  }
}

function runOf({ id = "", name, timestamp, attemptsStarted, data }: Job<JobData>): TakenRun {
  const cause = name as RunCause;
  const calls = readCalledWord(String(data.calls));
  return {
    ...runOfJob(id),
    cause,
    queuedAtMs: timestamp,
    isSecondHand: cause === "overdue" || attemptsStarted > 1,
    ...(calls && { calls }),
  };
}
