/** A worker: takes runs from the queue, runs them, sweeps for what is overdue. Holds nothing that another worker could need (I8). */
import { readFileSync } from "node:fs";
import { createSuspects, describeError, fixedCatalogue, runTask, type Services, sweep } from "@parley/core";
import type { Gateway, GatewayRun } from "@parley/gateway";
import { fileStore } from "@parley/files";
import { createOauthProviders } from "@parley/identity";
import {
  agreedSecrets,
  createLogger,
  createScope,
  createValidator,
  depositSeal,
  eventTokens,
  type EventLoopWatch,
  sha256Digest,
  systemClock,
  watchEventLoop,
  withLogFields,
} from "@parley/node";
import { connectRedis, type Consumer, deploymentId } from "@parley/redis";
import { loadCatalogue } from "@parley/sdk";
import { createTelemetry, type Telemetry } from "@parley/telemetry";
import type { WorkerConfig } from "./config.ts";
import { announceVersions } from "./announce-versions.ts";
import { createDeposits } from "./deposits.ts";
import { startModules, type StartedModules } from "./modules.ts";
import { createRunsAtWork } from "./runs-at-work.ts";
import { catchStrayErrors } from "./stray-errors.ts";
import { watchGateway } from "./watch-gateway.ts";
import { watchWorker } from "./watch-worker.ts";

export interface Worker {
  /** Takes no more runs, waits for those at work up to the drain timeout, disconnects. True when all had ended. */
  close(): Promise<boolean>;
  /** Resolves when an exception came up that belongs to no run: the worker must then be closed and the process ended. */
  readonly broken: Promise<void>;
}

/**
 * Throws DefinitionError for tool modules that do not load, an Error that names a module of theirs that does not start, UNAVAILABLE for a Redis that does not serve, and Node's error for an operator's
 * port that cannot be listened on. A shared telemetry is opened and closed by its owner.
 */
export async function startWorker(config: WorkerConfig, shared?: Telemetry): Promise<Worker> {
  const log = createLogger("worker", config.logLevel);
  const { allowedHosts, core, concurrency } = config;
  const telemetry =
    shared ?? (await createTelemetry(config.telemetry, { process: "worker", version: VERSION, allowedHosts, withLogFields }));
  const loaded = await loadCatalogue(config.tools);
  const own = telemetry.watchCatalogue(loaded);
  const redis = await connectRedis(config.redis, { log, telemetry: telemetry.tracing?.bullmq });
  const scope = createScope();
  const files = await fileStore(config.files, config.redis.prefix);
  const runs = createRunsAtWork();
  const draining = new AbortController();
  const stopping = new AbortController();
  const watched = watchWorker(telemetry, { redis, core, concurrency, draining: draining.signal });
  const secrets = await agreedSecrets(config.secrets, redis.secret);
  const services: Services = {
    store: telemetry.watchStore(redis.store),
    queue: redis.queue,
    wakeUps: redis.wakeUps,
    ids: redis.ids,
    clock: { ...systemClock, now: redis.now },
    scope,
    digest: redis.content.digest(sha256Digest),
    validate: createValidator(),
    log,
    settings: core,
    observer: runs.follow(telemetry.observer, (begun) => {
      watched.begun(begun);
      gateway?.begun(begun.task.id, begun.task.call);
    }),
    stopping: stopping.signal,
    suspects: createSuspects(systemClock),
    serving: redis.serving,
    slots: redis.slots,
    ...(files && { files }),
    deposits: createDeposits(redis.store, depositSeal(secrets)),
    claims: redis.claims,
    ...(config.oauth.length > 0 && { oauth: createOauthProviders(config.oauth, redis.now) }),
    eventTokens: eventTokens({ secrets, publicUrl: config.publicUrl }),
  };
  const { promise: broken, resolve: breaks } = Promise.withResolvers<void>();
  const stopCatching = catchStrayErrors({ scope, current: runs.current, log, count: watched.stray, broken: breaks });
  let gateway: Gateway | undefined;
  let consumer: Consumer | undefined;
  let catalogues = fixedCatalogue(own);
  const work = (run: GatewayRun) => watched.run(run, () => runTask(services, catalogues.runnable(), run));
  let loop: EventLoopWatch | undefined;
  let modules: StartedModules | undefined;
  let operator: string | undefined;
  let stopAnnouncing: (() => void) | undefined;
  let stopWatchingFile: (() => void) | undefined;

  async function stopWatching(): Promise<void> {
    stopAnnouncing?.();
    stopWatchingFile?.();
    stopCatching();
    await loop?.close();
  }

  /** Calls of upstreams can still be answered while the runs at work end. */
  async function stop(): Promise<boolean> {
    const startedMs = Date.now();
    await consumer?.close();
    // Those that are left have to be told to the others while there is time.
    const drainMs = config.drainTimeoutMs * HOLD_SHARE - (Date.now() - startedMs);
    const isEmpty = (await gateway?.close(Math.max(0, drainMs))) ?? true;
    // Nothing runs any more that could use them.
    await modules?.stop();
    await redis.close();
    return isEmpty;
  }

  try {
    loop = await watchEventLoop({
      reportMs: config.blockedReportMs,
      killMs: config.blockedKillMs,
      log: { name: "worker", level: config.logLevel },
      current: runs.current,
      onFree: watched.blocked,
    });
    runs.tell(loop);
    modules = await startModules(loaded.modules ?? [], { timeoutMs: config.moduleTimeoutMs, clock: systemClock, log });
    if (config.upstreams) {
      const { upstreams } = config.upstreams;
      const deployment = await deploymentId(redis.secret);
      const observer = watchGateway(telemetry, () => gateway?.counts() ?? { waiting: 0, all: 0 });
      // Loaded where there are upstreams: an MCP client comes with it.
      const { createGateway } = await import("@parley/gateway");
      gateway = await createGateway({
        upstreams,
        own,
        services,
        share: redis.gateway,
        settings: config.gateway,
        version: VERSION,
        deployment,
        ...(observer && { observer }),
      });
      catalogues = gateway.offer;
      const replace = gateway.replace;
      stopWatchingFile = config.upstreams.watch({
        log,
        onChange: (others) =>
          void replace(others).catch((error: unknown) => log.warn(describeError(error), "change of upstreams could not be announced")),
      });
      await gateway.open(work);
    }
    stopAnnouncing = await announceVersions(redis.serving, own, log);
    consumer = await redis.consumeRuns({
      concurrency,
      share: config.partitionShare,
      run: (run) => gateway?.run(run, work) ?? work(run),
      sweep: (partition) => watched.sweep(partition, () => sweep(services, { partition })),
    });
    operator = shared ? undefined : await telemetry.open();
  } catch (error) {
    await stopWatching();
    await gateway?.close(0);
    await modules?.stop();
    await redis.close();
    throw error;
  }
  log.info(
    { operator, tools: catalogues.runnable().tools.size, concurrency, worker: consumer.id, partitions: consumer.partitions.length },
    "worker ready",
  );

  return {
    broken,
    async close() {
      log.info({}, "worker draining");
      draining.abort();
      const drained = new AbortController();
      // What is still at work then has the rest of the time to stop, and is put back for others.
      void systemClock.sleep(config.drainTimeoutMs * STOP_SHARE, drained.signal).then(() => stopping.abort());
      const ended = await Promise.race([stop(), systemClock.sleep(config.drainTimeoutMs, drained.signal).then(() => false)]);
      drained.abort();
      await stopWatching();
      if (!shared) await telemetry.close();
      if (ended) log.info({}, "worker stopped");
      else log.warn({}, "worker stopped with runs at work, others take them over");
      return ended;
    },
  };
}

/** How much of the drain timeout runs may work on for. Of the 20 s by default it leaves more than the 5 s that a step has to heed its signal, and time to write what it came to. */
const STOP_SHARE = 2 / 3;
/** How much of the drain timeout calls of upstreams are held for. */
const HOLD_SHARE = 0.75;

const { version: VERSION } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
