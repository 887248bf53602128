import type { Recorders } from "@parley/approvals/every-process";
import type { Log, RunReport, Settings } from "@parley/core";
import type { RedisBackend, TakenRun } from "@parley/redis";
import { ruleLabel, showDeployment, type Telemetry, toolLabel } from "@parley/telemetry";
import type { BegunRun } from "./runs-at-work.ts";
import type { StrayOf } from "./stray-errors.ts";

export interface WatchWorker {
  readonly redis: Pick<RedisBackend, "censuses" | "memory" | "mishaps" | "writable" | "now">;
  readonly log: Pick<Log, "warn">;
  readonly core: Settings;
  readonly concurrency: number;
  readonly draining: AbortSignal;
}

export interface WatchedWork {
  run(run: TakenRun, work: () => Promise<RunReport>): Promise<RunReport>;
  sweep(partition: number, work: () => Promise<number>): Promise<number>;
  /** A run has begun: it holds its task. */
  begun(begun: BegunRun): void;
  /** A run has ended. What pages somebody is noted in Redis, where it outlives this process. */
  ended(begun: BegunRun, report: RunReport): Promise<void>;
  /** A rule stopped a call, or a stopped call went on. */
  stopped: NonNullable<Recorders["count"]>;
  /** A webhook was posted. */
  webhook(name: string, result: "delivered" | "failed" | "given_up"): void;
  /** How a webhook is; undefined if another worker may know. */
  webhookState(name: string, state: { readonly failingSinceMs?: number; readonly gaveUpAtMs?: number } | undefined): void;
  /** An error was not caught. */
  stray(of: StrayOf): void;
  /** The event loop was blocked and is free again. */
  blocked(ms: number): void;
}

/** From this share of its limits on, a journal counts as near its limit. */
const NEAR_LIMIT = 0.8;

/** Exports a worker's metrics in addition to those of its runs: waiting times, sweeps, uncaught errors, and the state of the deployment. */
export function watchWorker(telemetry: Telemetry, { redis, core, concurrency, log, draining }: WatchWorker): WatchedWork {
  async function ended({ task }: BegunRun, report: RunReport): Promise<void> {
    const kind = mishapIn(report);
    if (!kind) return;
    const tool = toolLabel(task.call);
    await redis.mishaps
      .note({ kind, tool, atMs: redis.now() })
      .catch((error: unknown) => log.warn({ err: error, kind, tool }, "mishap not noted"));
  }

  telemetry.readyWhen(async () => {
    if (draining.aborted) throw new Error("draining");
    await redis.writable();
  });
  const { metrics } = telemetry;
  if (!metrics) {
    const nothing = () => undefined;
    return {
      run: (_run, work) => work(),
      sweep: (_partition, work) => work(),
      begun: nothing,
      ended,
      stopped: nothing,
      webhook: nothing,
      webhookState: nothing,
      stray: nothing,
      blocked: nothing,
    };
  }

  metrics.slots.set(concurrency);
  // Counters start at 0: if a counter appeared with its first event, an alert could not see an increase.
  for (const source of ["run", "ended_run", "process"] as const) metrics.strays.inc({ of: source }, 0);
  metrics.refusals.inc({ reason: "key_missing" }, 0);
  telemetry.beforeReading(async () => metrics.draining.set(draining.aborted ? 1 : 0));
  showDeployment(telemetry, {
    read: (options) => redis.censuses.read(options),
    readMemory: () => redis.memory.read(),
    readMishaps: () => redis.mishaps.read(),
    leaseMs: core.leaseMs,
  });

  return {
    async run({ cause, queuedAtMs }, work) {
      // The times come from the clocks of two machines, so a negative difference counts as zero.
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
    ended,
    stopped({ rule, did, waitedMs }) {
      metrics.approvals.inc({ rule: ruleLabel(rule), did });
      if (waitedMs !== undefined) metrics.approvalWait.observe({ rule: ruleLabel(rule), did }, waitedMs / 1_000);
    },
    webhook: (webhook, result) => metrics.webhooks.inc({ webhook, result }),
    webhookState(webhook, { failingSinceMs, gaveUpAtMs } = {}) {
      for (const [gauge, atMs] of [
        [metrics.webhookFailing, failingSinceMs],
        [metrics.webhookGivenUp, gaveUpAtMs],
      ] as const) {
        if (atMs === undefined) gauge.remove({ webhook });
        else gauge.set({ webhook }, atMs / 1_000);
      }
    },
    stray: (of) => metrics.strays.inc({ of }),
    blocked(ms) {
      metrics.blocks.inc();
      metrics.blocked.inc(ms / 1_000);
    },
  };
}

function mishapIn(report: RunReport): "given_up" | "poisoned" | undefined {
  if (report.type === "given-up") return "given_up";
  return report.type === "finished" && report.code === "POISONED" ? "poisoned" : undefined;
}
