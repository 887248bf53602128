import type { RunReport, Settings } from "@parley/core";
import type { RedisBackend, TakenRun } from "@parley/redis";
import { type Telemetry, toolLabel } from "@parley/telemetry";
import type { BegunRun } from "./runs-at-work.ts";
import type { StrayOf } from "./stray-errors.ts";

/** A task that is this late is no longer on its way: the sweep adds what is late by the grace, each second. */
const OVERDUE_AFTER_MS = 5_000;

export interface WatchWorker {
  readonly redis: Pick<RedisBackend, "censuses" | "writable">;
  readonly core: Settings;
  readonly concurrency: number;
  readonly draining: AbortSignal;
}

export interface WatchedWork {
  run(run: TakenRun, work: () => Promise<RunReport>): Promise<RunReport>;
  sweep(partition: number, work: () => Promise<number>): Promise<number>;
  /** A run holds its task. */
  begun(begun: BegunRun): void;
  /** An error came up that nobody caught. */
  stray(of: StrayOf): void;
  /** The event loop was blocked, and is free again. */
  blocked(ms: number): void;
}

/** Journals from here on are near what they may hold. */
const NEAR_LIMIT = 0.8;

/** What a worker tells beside its runs: how long they waited, what sweeps caught, and the deployment as it sees it. */
export function watchWorker(telemetry: Telemetry, { redis, core, concurrency, draining }: WatchWorker): WatchedWork {
  telemetry.readyWhen(async () => {
    if (draining.aborted) throw new Error("draining");
    await redis.writable();
  });
  const { metrics } = telemetry;
  if (!metrics) {
    const nothing = () => undefined;
    return { run: (_run, work) => work(), sweep: (_partition, work) => work(), begun: nothing, stray: nothing, blocked: nothing };
  }

  /** What was true before Redis went away is not shown as if it still were. */
  function forget(error: unknown): never {
    const { unfinished, parked, overdue, openAsks, oldestAsk, censusAge } = telemetry.metrics ?? {};
    for (const gauge of [unfinished, parked, overdue, openAsks, oldestAsk, censusAge]) gauge?.set(NaN);
    telemetry.metrics?.queue.reset();
    throw error;
  }

  metrics.slots.set(concurrency);
  // A counter that appears with its first event has no increase that an alert could see.
  for (const whose of ["run", "ended_run", "process"] as const) metrics.strays.inc({ of: whose }, 0);
  telemetry.beforeReading(async () => {
    metrics.draining.set(draining.aborted ? 1 : 0);
    const nowMs = Date.now();
    const census = await redis.censuses.read({ nowMs, parkedBeyondMs: core.leaseMs, overdueAfterMs: OVERDUE_AFTER_MS }).catch(forget);
    metrics.unfinished.set(census.unfinished);
    metrics.parked.set(census.parked);
    metrics.overdue.set(census.overdue);
    metrics.queue.set({ state: "waiting" }, census.waitingRuns);
    metrics.queue.set({ state: "active" }, census.activeRuns);
    if (!census.asks) return;
    metrics.openAsks.set(census.asks.open);
    metrics.oldestAsk.set(census.asks.oldestAtMs === undefined ? 0 : (nowMs - census.asks.oldestAtMs) / 1_000);
    metrics.censusAge.set((nowMs - census.asks.countedAtMs) / 1_000);
  });

  return {
    async run({ cause, queuedAtMs }, work) {
      // The clocks of two machines: what comes out negative took no time.
      const waitedMs = Math.max(0, Date.now() - queuedAtMs);
      const report = await work();
      if (report.type === "refused") metrics.refusals.inc({ reason: report.reason });
      else metrics.runWait.observe({ cause }, waitedMs / 1_000);
      return report;
    },
    async sweep(partition, work) {
      const runs = await work();
      metrics.sweeps.inc();
      metrics.swept.inc(runs);
      await redis.censuses.count(partition, Date.now());
      return runs;
    },
    begun({ task, journal, journalSize, takeovers }) {
      const tool = toolLabel(task.call);
      if (takeovers > 0) metrics.takeovers.inc({ tool });
      const share = Math.max(journal.size / core.journalEntriesMax, journalSize / core.journalSizeMax);
      if (share >= NEAR_LIMIT) metrics.nearLimit.inc({ tool });
    },
    stray: (of) => metrics.strays.inc({ of }),
    blocked(ms) {
      metrics.blocks.inc();
      metrics.blocked.inc(ms / 1_000);
    },
  };
}
