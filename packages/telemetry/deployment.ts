import type { Telemetry } from "./telemetry.ts";

/** A task that is this late is no longer on its way: the sweep adds what is late by the grace, each second. */
const OVERDUE_AFTER_MS = 5_000;

/** What the store knows of the whole deployment. */
export interface DeploymentCensus {
  readonly unfinished: number;
  readonly parked: number;
  readonly overdue: number;
  readonly waitingRuns: number;
  readonly activeRuns: number;
  readonly asks: { readonly open: number; readonly oldestAtMs: number | undefined; readonly countedAtMs: number } | undefined;
}

export interface ShowDeployment {
  read(options: { readonly nowMs: number; readonly parkedBeyondMs: number; readonly overdueAfterMs: number }): Promise<DeploymentCensus>;
  /** A task that will not run within this counts as parked. */
  readonly leaseMs: number;
}

/**
 * Shows the deployment on the operator's port of any process, front end or worker: an autoscaler for workers reads it where
 * it is, also while there is no worker. Read from the store each time that metrics are read.
 */
export function showDeployment(telemetry: Telemetry, { read, leaseMs }: ShowDeployment): void {
  const { metrics } = telemetry;
  if (!metrics) return;
  const { unfinished, parked, overdue, openAsks, oldestAsk, censusAge, queue } = metrics;

  /** What was true before Redis went away is not shown as if it still were. */
  function forget(error: unknown): never {
    for (const gauge of [unfinished, parked, overdue, openAsks, oldestAsk, censusAge]) gauge.set(NaN);
    queue.reset();
    throw error;
  }

  telemetry.beforeReading(async () => {
    const nowMs = Date.now();
    const census = await read({ nowMs, parkedBeyondMs: leaseMs, overdueAfterMs: OVERDUE_AFTER_MS }).catch(forget);
    unfinished.set(census.unfinished);
    parked.set(census.parked);
    overdue.set(census.overdue);
    queue.set({ state: "waiting" }, census.waitingRuns);
    queue.set({ state: "active" }, census.activeRuns);
    if (!census.asks) return;
    openAsks.set(census.asks.open);
    oldestAsk.set(census.asks.oldestAtMs === undefined ? 0 : (nowMs - census.asks.oldestAtMs) / 1_000);
    censusAge.set((nowMs - census.asks.countedAtMs) / 1_000);
  });
}
