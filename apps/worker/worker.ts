/** A worker: takes runs from the queue, runs them, and sweeps for overdue tasks. It holds no state that another worker could need (I8). */
import { readFileSync } from "node:fs";
import { openGate, type PlantTest } from "@parley/approvals/every-process";
import { createSuspects, createTask, fixedCatalogue, runTask, type Services, sweep } from "@parley/core";
import type { Gateway, GatewayRun } from "@parley/gateway";
import { fileStore } from "@parley/files";
import {
  agreedSecrets,
  authored,
  createLogger,
  createScope,
  createValidator,
  depositSeal,
  eventTokens,
  type EventLoopWatch,
  expectShortLives,
  sha256Digest,
  systemClock,
  watchEventLoop,
  withLogFields,
} from "@parley/node";
import { connectRedis, type Consumer, type RedisBackend } from "@parley/redis";
import { loadCatalogue } from "@parley/sdk";
import { createTelemetry, type Telemetry } from "@parley/telemetry";
import type { WorkerConfig } from "./config.ts";
import { announceVersions } from "./announce-versions.ts";
import { createDeposits } from "./deposits.ts";
import { startModules, type StartedModules } from "./modules.ts";
import { openGateway } from "./open-gateway.ts";
import { reportLongRuns } from "./report-long-runs.ts";
import { createRunsAtWork } from "./runs-at-work.ts";
import { catchStrayErrors } from "./stray-errors.ts";
import { watchWorker } from "./watch-worker.ts";

export interface Worker {
  /** Takes no more runs, waits for active ones up to the drain timeout, and disconnects. Resolves to true if all of them ended. */
  close(): Promise<boolean>;
  /** Resolves after an uncaught exception outside of runs. The owner must then close the worker and exit the process. */
  readonly broken: Promise<void>;
}

/**
 * Throws DefinitionError for tool modules that do not load, RulesError for an invalid file of rules, an Error that says what is wrong with the
 * file of webhooks, one that names a shared module that does not start, UNAVAILABLE if Redis does not serve, and Node's error if the operator's
 * port cannot be opened. A shared telemetry is opened and closed by its owner.
 */
export async function startWorker(config: WorkerConfig, shared?: Telemetry): Promise<Worker> {
  expectShortLives();
  const log = createLogger("worker", config.logLevel);
  const { allowedHosts, core, concurrency } = config;
  const telemetry =
    shared ?? (await createTelemetry(config.telemetry, { process: "worker", version: VERSION, allowedHosts, withLogFields }));
  const loaded = authored(await loadCatalogue(config.tools));
  const gate = await openGate({ ...config.rules, showVersion: telemetry.showRules, log });
  const own = telemetry.watchCatalogue(loaded);
  const redis = await connectRedis(config.redis, { log, telemetry: telemetry.tracing?.bullmq });
  const scope = createScope();
  const runs = createRunsAtWork();
  const draining = new AbortController();
  const stopping = new AbortController();
  const watched = watchWorker(telemetry, { redis, core, concurrency, log, draining: draining.signal });
  const observer = runs.follow(
    telemetry.observer,
    (begun) => {
      watched.begun(begun);
      gateway?.begun(begun.task.id, begun.task.call);
    },
    watched.ended,
  );
  const services = await servicesOf(config, { redis, telemetry, log, scope, observer, stopping: stopping.signal });
  const { promise: broken, resolve: breaks } = Promise.withResolvers<void>();
  const stopCatching = catchStrayErrors({ scope, current: runs.current, log, count: watched.stray, broken: breaks });
  let gateway: Gateway | undefined;
  let consumer: Consumer | undefined;
  const recorders = {
    approvals: redis.approvals,
    standing: redis.standing,
    lastApproved: redis.lastApproved,
    plant: ({ tool, ...test }: PlantTest) => {
      // Nobody called, so the audit has no call: it has the test.
      const { audit: _, ...unaudited } = services;
      return createTask(unaudited, tool, { ...test, door: "rules", capabilities: {}, hidden: true, isUncounted: true });
    },
    ...(config.redis.audit && { audit: redis.audit }),
    digest: services.digest,
    now: redis.now,
    count: watched.stopped,
  };
  let catalogues = gate.wrap(fixedCatalogue(own), recorders);
  const work = (run: GatewayRun) => watched.run(run, () => runTask(services, catalogues.runnable(), run));
  let loop: EventLoopWatch | undefined;
  let modules: StartedModules | undefined;
  let operator: string | undefined;
  let stopAnnouncing: (() => void) | undefined;
  let stopWatchingFile: (() => void) | undefined;
  let stopWebhooks: (() => Promise<void>) | undefined;
  const stopReporting = reportLongRuns({
    active: runs.active,
    reportMs: config.runReportMs,
    // A call at an upstream is active while people are asked.
    counts: ({ tool }) => own.tools.has(tool),
    log,
    elapsedMs: () => performance.now(),
  });

  async function stopWatching(): Promise<void> {
    gate.close();
    stopReporting();
    stopAnnouncing?.();
    stopWatchingFile?.();
    stopCatching();
    await loop?.close();
  }

  /** Stops taking runs first, so that calls to upstreams can still be answered while active runs end. */
  /** Resolves to whether no call at an upstream was left. */
  async function stop(): Promise<boolean> {
    const startedMs = Date.now();
    await Promise.all([consumer?.close(), stopWebhooks?.()]);
    // The remaining calls must be handed over to other workers while there is time.
    const drainMs = config.drainTimeoutMs * HOLD_SHARE - (Date.now() - startedMs);
    const isEmpty = (await gateway?.close(Math.max(0, drainMs))) ?? true;
    // No run is left that could use the modules.
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
    runs.listIn(loop);
    modules = await startModules(loaded.modules ?? [], { timeoutMs: config.moduleTimeoutMs, clock: systemClock, log });
    if (config.upstreams) {
      const opened = await openGateway({
        file: config.upstreams,
        settings: config.gateway,
        own,
        services,
        redis,
        telemetry,
        version: VERSION,
        ...(config.rules.file !== undefined && { mustBeTask: gate.concerns }),
      });
      ({ gateway, stopWatchingFile } = opened);
      catalogues = gate.wrap(gateway.offer, recorders);
      await gateway.open(work);
    }
    gate.watchNames(gateway?.offer.listed ?? (() => own), gateway?.offer.unlisted);
    stopAnnouncing = await announceVersions(redis.serving, own, log);
    // A leaf: loaded only if there is something to post.
    if (redis.outbox) {
      const { postInThread } = await import("./post-in-thread.ts");
      stopWebhooks = await postInThread(
        {
          redis: config.redis,
          secrets: config.secrets,
          logLevel: config.logLevel,
          file: config.webhooks,
          upstreams: config.upstreamsFile,
          isPrivate: config.subscriptionsPrivate,
          publicUrl: config.publicUrl,
        },
        {
          log,
          count: watched.webhook,
          show: watched.webhookState,
          broke: () => watched.stray("process"),
        },
      );
    }
    consumer = await redis.consumeRuns({
      concurrency,
      share: config.partitionShare,
      run: (run) => gateway?.run(run, work) ?? work(run),
      sweep: (partition) => watched.sweep(partition, () => sweep(services, { partition })),
    });
    operator = shared ? undefined : await telemetry.open();
  } catch (error) {
    await stopWatching();
    await stopWebhooks?.();
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
      // Runs that are still active then have the rest of the time to stop, and are put back for other workers.
      void systemClock.sleep(config.drainTimeoutMs * STOP_SHARE, drained.signal).then(() => stopping.abort());
      const ended = await Promise.race([stop(), systemClock.sleep(config.drainTimeoutMs, drained.signal)]);
      drained.abort();
      await stopWatching();
      if (!shared) await telemetry.close();
      if (ended === true) log.info({}, "worker stopped");
      else if (ended === false) log.warn({}, "worker stopped, and ended calls at upstreams whose questions were not answered in time");
      else if (runs.count > 0) log.warn({ runs: runs.count }, "worker stopped with active runs, other workers take them over");
      else log.warn({}, "worker stopped without active runs, but Redis or an upstream did not respond in time");
      return ended === true;
    },
  };
}

interface Parts extends Required<Pick<Services, "log" | "scope" | "observer" | "stopping">> {
  readonly redis: RedisBackend;
  readonly telemetry: Telemetry;
}

async function servicesOf(config: WorkerConfig, { redis, telemetry, log, scope, observer, stopping }: Parts): Promise<Services> {
  const files = await fileStore(config.files, config.redis.prefix);
  const secrets = await agreedSecrets(config.secrets, redis.secret);
  return {
    store: telemetry.watchStore(redis.store),
    queue: redis.queue,
    wakeUps: redis.wakeUps,
    ids: redis.ids,
    clock: { ...systemClock, now: redis.now },
    scope,
    digest: redis.content.digest(sha256Digest),
    validate: createValidator(),
    log,
    settings: config.core,
    observer,
    stopping,
    suspects: createSuspects(systemClock),
    serving: redis.serving,
    slots: redis.slots,
    ...(files && { files }),
    ...(config.redis.audit && { audit: redis.audit }),
    deposits: createDeposits(redis.store, depositSeal(secrets)),
    claims: redis.claims,
    ...(config.oauth.length > 0 && {
      // A leaf: loaded only if there are providers.
      oauth: (await import("@parley/identity")).createOauthProviders(config.oauth, redis.now),
      grants: redis.keptGrants.sealedBy(depositSeal(secrets)),
    }),
    eventTokens: eventTokens({ secrets, publicUrl: config.publicUrl }),
  };
}

/**
 * Share of the drain timeout during which runs may continue. The rest (of 20 s by default) is longer than the 5 s that a step has to react to its
 * signal, and leaves time to record its result.
 */
const STOP_SHARE = 2 / 3;
/** Share of the drain timeout during which calls to upstreams are held. */
const HOLD_SHARE = 0.75;

const { version: VERSION } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
