/**
 * The worker's side of the queues: takes runs, and sweeps.
 *
 * Sweeping is what makes runs certain; the run queue only makes them fast. So the sweep's job scheduler is put in order again and again by
 * every worker: were its chain of delayed jobs ever broken (a failover that lost the last second, a worker whose clock was ahead and put the
 * next sweep as far ahead), it would stay so.
 */
import type { Log, RunCause, RunRef } from "@parley/core";
import { type Job, Queue, type Telemetry, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { type Keys, RUN_QUEUE, SWEEP_QUEUE } from "./keys.ts";
import { EVENTS_KEPT, KEEP_NO_JOBS, runOfJob } from "./queue.ts";

/**
 * The job of a worker that died is free again after 5 to 7 seconds; BullMQ's defaults take 50. If the task's lease still holds then, the run is
 * refused as held and its job ends, which leaves its id to the sweep. `maxStalledCount` as good as infinite: it bounds
 * how often a task survives the death of its worker, and beyond it the job would vanish and leave the task to the sweep each time.
 */
const WORKER_SETTINGS = { lockDuration: 5_000, stalledInterval: 2_000, maxStalledCount: 1_000_000 } as const;

const SWEEP_EVERY_MS = 1_000;
const MEND_SWEEP_EVERY_MS = 5_000;

/** How long a worker that Redis refused a job waits before it asks again. */
const REFUSED_RETRY_MS = 500;

export interface TakenRun extends RunRef {
  readonly cause: RunCause;
  readonly queuedAtMs: number;
  /** Found overdue, or handed out before: somebody may have begun it. */
  readonly isSecondHand: boolean;
}

export interface ConsumeRuns {
  readonly partitions: readonly number[];
  /** Runs at once in this process, shared evenly by the partitions, at least one each. */
  readonly concurrency: number;
  /** One run. What it throws is logged; the task's lease and the sweep bring the run back. */
  readonly run: (run: TakenRun) => Promise<unknown>;
  /** Adds the overdue runs of a partition. Called every second by one worker of the deployment. */
  readonly sweep: (partition: number) => Promise<unknown>;
}

export interface Consumer {
  /** Takes no more runs and resolves when those at work have ended. Whoever cannot wait lets the process end: others take over. */
  close(): Promise<void>;
}

export interface ConsumeOptions extends ConsumeRuns {
  /** Opened with `maxRetriesPerRequest: null` and without autopipelining, which slows workers down. Workers duplicate it to block on. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly log: Log;
  readonly telemetry?: Telemetry | undefined;
}

export async function consumeRuns({ redis, keys, log, telemetry, partitions, concurrency, run, sweep }: ConsumeOptions): Promise<Consumer> {
  const each = Math.max(1, Math.ceil(concurrency / partitions.length));
  const parts = partitions.map((partition) => {
    const shared = { connection: redis, prefix: keys.queuePrefix(partition) };
    const runs = new PatientWorker(RUN_QUEUE, async (job) => void (await run(runOf(job))), {
      ...shared,
      ...WORKER_SETTINGS,
      concurrency: each,
      ...(telemetry && { telemetry }),
    });
    const sweeps = new PatientWorker(SWEEP_QUEUE, async () => void (await sweep(partition)), {
      ...shared,
      ...WORKER_SETTINGS,
      concurrency: 1,
    });
    const schedule = new Queue(SWEEP_QUEUE, { ...shared, defaultJobOptions: KEEP_NO_JOBS, streams: { events: { maxLen: EVENTS_KEPT } } });

    const inTrouble = (error: Error) => log.warn({ partition, error: error.message }, "queue in trouble");
    schedule.on("error", inTrouble);
    for (const worker of [runs, sweeps]) {
      worker.on("error", inTrouble);
      worker.on("failed", (job, error) =>
        log.error({ partition, queue: worker.name, job: job?.id, error: error.name, stack: framesOf(error) }, "job failed"),
      );
      worker.on("stalled", (job) => log.warn({ partition, queue: worker.name, job }, "job taken over from a silent worker"));
    }
    return { runs, sweeps, schedule };
  });

  async function mendSweep(schedule: Queue): Promise<void> {
    // Putting a scheduler in order keeps the time of its next job, however far ahead: only a new one begins now.
    const nextMs = (await schedule.getJobScheduler("sweep"))?.next ?? 0;
    if (nextMs > Date.now() + MEND_SWEEP_EVERY_MS) await schedule.removeJobScheduler("sweep");
    await schedule.upsertJobScheduler("sweep", { every: SWEEP_EVERY_MS }, { name: "sweep", opts: KEEP_NO_JOBS });
  }
  const mendSweeps = () => Promise.all(parts.map(({ schedule }) => mendSweep(schedule)));

  await mendSweeps();
  const mending = setInterval(() => {
    // Its failure is the connection's, which is logged already; the next round tries again.
    mendSweeps().catch(() => undefined);
  }, MEND_SWEEP_EVERY_MS);
  mending.unref();

  return {
    async close() {
      clearInterval(mending);
      await Promise.all(parts.flatMap(({ runs, sweeps }) => [runs.close(), sweeps.close()]));
      await Promise.all(parts.map(({ schedule }) => schedule.close()));
    },
  };
}

/**
 * BullMQ asks for the next job again at once when Redis answers with an error (full, read-only, without its replicas): thousands of times a
 * second, each time with a line in the log.
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

function runOf({ id = "", name, timestamp, attemptsStarted }: Job): TakenRun {
  const cause = name as RunCause;
  return { ...runOfJob(id), cause, queuedAtMs: timestamp, isSecondHand: cause === "overdue" || attemptsStarted > 1 };
}

/** Where it came from, without its message: that can hold what a person answered. */
function framesOf(error: Error): string[] {
  return (error.stack ?? "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
}
