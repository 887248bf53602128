/** The floor of everything that a worker does: BullMQ alone, add → start → complete, queue and worker in one process. */
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { inParallel } from "../measure.ts";

export interface Jobs {
  readonly clients: number;
  /** Each is `jobs` jobs, one after the other: a lifecycle is two. */
  readonly chains: number;
  readonly jobs: number;
}

export interface JobsDone {
  /** Milliseconds of each chain, from the first add until the last is completed. */
  readonly chains: readonly number[];
  /** Milliseconds of each job from add to start. */
  readonly starts: readonly number[];
  readonly wallMs: number;
}

const CONCURRENCY = 50; // a worker's own default

export async function runJobs(redisUrl: string, { clients, chains, jobs }: Jobs): Promise<JobsDone> {
  // Blocking for jobs takes a connection of its own, and autopipelining would slow a worker down.
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const options = { connection, prefix: "bench-floor" };
  const queue = new Queue("jobs", { ...options, defaultJobOptions: { removeOnComplete: true } });
  const sentAt = new Map<string, number>();
  const completed = new Map<string, () => void>();
  const starts: number[] = [];
  const worker = new Worker("jobs", async ({ id = "" }) => void starts.push(performance.now() - (sentAt.get(id) ?? Number.NaN)), {
    ...options,
    concurrency: CONCURRENCY,
  });
  worker.on("completed", ({ id = "" }) => completed.get(id)?.());
  await worker.waitUntilReady();
  let ids = 0;

  async function job(): Promise<void> {
    ids += 1;
    const jobId = `j-${ids}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    completed.set(jobId, resolve);
    sentAt.set(jobId, performance.now());
    await queue.add("job", {}, { jobId });
    await promise;
    completed.delete(jobId);
    sentAt.delete(jobId);
  }

  const { latencies, wallMs } = await inParallel(clients, chains, async () => {
    for (let each = 0; each < jobs; each += 1) await job();
  });
  await worker.close();
  await queue.obliterate({ force: true });
  await queue.close();
  connection.disconnect();
  return { chains: latencies, starts, wallMs };
}
