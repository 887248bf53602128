import type { Telemetry } from "./telemetry.ts";

/** A task that is this late counts as overdue. The sweep queues tasks that are late by the grace period every second, so workers are full or hang. */
const OVERDUE_AFTER_MS = 5_000;

/** Counts of the whole deployment, read from the store. */
export interface DeploymentCensus {
  readonly unfinished: number;
  readonly parked: number;
  readonly overdue: number;
  /** When the run that has been due longest became due; a later time if none is. */
  readonly oldestDueAtMs: number | undefined;
  readonly waitingRuns: number;
  readonly activeRuns: number;
  readonly asks: { readonly open: number; readonly oldestAtMs: number | undefined; readonly countedAtMs: number } | undefined;
}

export interface ShowDeployment {
  read(options: { readonly nowMs: number; readonly parkedBeyondMs: number; readonly overdueAfterMs: number }): Promise<DeploymentCensus>;
  readMemory(): Promise<{ readonly usedBytes: number; readonly maxBytes: number }>;
  /** The last mishap of each kind and tool. */
  readMishaps(): Promise<readonly { readonly kind: string; readonly tool: string; readonly atMs: number }[]>;
  /** A task that is not due within this time counts as parked. */
  readonly leaseMs: number;
}

/**
 * Adds metrics of the whole deployment to the operator's port of a process. Front ends and workers alike have them, so that an autoscaler
 * finds them even if there is no worker. The store is read whenever metrics are read.
 */
export function showDeployment(telemetry: Telemetry, { read, readMemory, readMishaps, leaseMs }: ShowDeployment): void {
  const { metrics } = telemetry;
  if (!metrics) return;
  const { unfinished, parked, overdue, oldestDue, openAsks, oldestAsk, censusAge, queue, mishaps, redisMemory, redisMemoryMax } = metrics;

  /** Clears the metrics if Redis is unavailable, so that outdated values are not shown as current. */
  function forget(error: unknown): never {
    for (const gauge of [unfinished, parked, overdue, oldestDue, openAsks, oldestAsk, censusAge, redisMemory, redisMemoryMax])
      gauge.set(NaN);
    queue.reset();
    mishaps.reset();
    throw error;
  }

  telemetry.beforeReading(async () => {
    const nowMs = Date.now();
    const census = await read({ nowMs, parkedBeyondMs: leaseMs, overdueAfterMs: OVERDUE_AFTER_MS }).catch(forget);
    const memory = await readMemory().catch(forget);
    const noted = await readMishaps().catch(forget);
    for (const { kind, tool, atMs } of noted) mishaps.set({ of: kind, tool }, atMs / 1_000);
    redisMemory.set(memory.usedBytes);
    redisMemoryMax.set(memory.maxBytes);
    unfinished.set(census.unfinished);
    parked.set(census.parked);
    overdue.set(census.overdue);
    oldestDue.set(Math.max(0, nowMs - (census.oldestDueAtMs ?? nowMs)) / 1_000);
    queue.set({ state: "waiting" }, census.waitingRuns);
    queue.set({ state: "active" }, census.activeRuns);
    if (!census.asks) return;
    openAsks.set(census.asks.open);
    oldestAsk.set(census.asks.oldestAtMs === undefined ? 0 : (nowMs - census.asks.oldestAtMs) / 1_000);
    censusAge.set((nowMs - census.asks.countedAtMs) / 1_000);
  });
}
