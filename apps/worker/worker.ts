/** A worker: takes runs from the queue, runs them, sweeps for what is overdue. Holds nothing that another worker could need (I8). */
import { runTask, type Services, sweep } from "@parley/core";
import { createLogger, createValidator, sha256Digest, systemClock } from "@parley/node";
import { connectRedis } from "@parley/redis";
import { loadCatalogue } from "@parley/sdk";
import type { WorkerConfig } from "./config.ts";

export interface Worker {
  /** Takes no more runs, waits for those at work up to the drain timeout, disconnects. True when all had ended. */
  close(): Promise<boolean>;
}

/** Throws DefinitionError for tool modules that do not load, UNAVAILABLE for a Redis that does not serve. */
export async function startWorker(config: WorkerConfig): Promise<Worker> {
  const log = createLogger("worker", config.logLevel);
  const catalogue = await loadCatalogue(config.tools);
  const redis = await connectRedis(config.redis, { log });
  const services: Services = {
    store: redis.store,
    queue: redis.queue,
    events: redis.events,
    ids: redis.ids,
    clock: systemClock,
    digest: sha256Digest,
    validate: createValidator(),
    log,
    settings: config.core,
  };
  await redis.consumeRuns({
    concurrency: config.concurrency,
    run: (ref) => runTask(services, catalogue, ref),
    sweep: (partition) => sweep(services, { partition }),
  });
  log.info({ tools: catalogue.tools.size, concurrency: config.concurrency, partitions: redis.partitions.length }, "worker ready");

  return {
    async close() {
      log.info({}, "worker draining");
      const drained = new AbortController();
      const ended = await Promise.race([
        redis.close().then(() => true),
        systemClock.sleep(config.drainTimeoutMs, drained.signal).then(() => false),
      ]);
      drained.abort();
      if (ended) log.info({}, "worker stopped");
      else log.warn({}, "worker stopped with runs at work, others take them over");
      return ended;
    },
  };
}
