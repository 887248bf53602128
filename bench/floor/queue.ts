/** The floor of answer→resume: BullMQ alone, from `add` to the worker's start, in this process. */
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

/** Milliseconds from add to start, one job at a time. */
export async function queueLatencies(redisUrl: string, jobs: number): Promise<number[]> {
  const options = { connection: new Redis(redisUrl, { maxRetriesPerRequest: null }), prefix: "bench-floor" };
  const queue = new Queue("floor", { ...options, defaultJobOptions: { removeOnComplete: true } });
  let started: () => void = () => undefined;
  const worker = new Worker("floor", async () => started(), options);
  await worker.waitUntilReady();
  const latencies: number[] = [];
  for (let job = 0; job < jobs; job += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    started = resolve;
    const sentAt = performance.now();
    await Promise.all([queue.add("job", {}), promise]);
    latencies.push(performance.now() - sentAt);
  }
  await worker.close();
  await queue.obliterate({ force: true });
  await queue.close();
  options.connection.disconnect();
  return latencies;
}
