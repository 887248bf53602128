import type { Log } from "@parley/core";
import type { RunAtWork } from "./runs-at-work.ts";

/** How often runs are looked at. */
const LOOK_EVERY_MS = 1_000;

export interface ReportLongRuns {
  readonly active: Iterable<RunAtWork>;
  readonly reportMs: number;
  /** Whether the run may be reported. */
  readonly counts: (run: RunAtWork) => boolean;
  readonly log: Pick<Log, "warn">;
  readonly elapsedMs: () => number;
}

/** Logs each run that is active for `reportMs`, and again whenever its time has doubled. Returns the look; the first one logs what is long by then. */
export function longRuns({ active, reportMs, counts, log, elapsedMs }: ReportLongRuns): () => void {
  const reportAtMs = new WeakMap<RunAtWork, number>();
  return () => {
    const nowMs = elapsedMs();
    for (const run of active) {
      const forMs = nowMs - run.startedAtMs;
      if (forMs < (reportAtMs.get(run) ?? reportMs) || !counts(run)) continue;
      let next = reportMs;
      while (next <= forMs) next *= 2;
      reportAtMs.set(run, next);
      log.warn({ taskId: run.taskId, run: run.run, tool: run.tool, forMs: Math.round(forMs) }, "run still active");
    }
  };
}

/** Returns the function that stops it. `reportMs` 0: nothing is reported. */
export function reportLongRuns(options: ReportLongRuns): () => void {
  if (options.reportMs === 0) return () => undefined;
  const timer = setInterval(longRuns(options), LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}
