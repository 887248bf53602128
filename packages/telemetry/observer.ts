import type { Observer, RunReport } from "@parley/core";
import { toolLabel } from "./labels.ts";
import type { Metrics } from "./metrics.ts";
import type { Tracing } from "./tracing.ts";

/** Adds fields to every line that is logged within `work`. */
export type WithLogFields = <T>(fields: object, work: () => T) => T;

export interface ObserverOptions {
  readonly metrics: Metrics | undefined;
  readonly tracing: Tracing | undefined;
  readonly withLogFields: WithLogFields;
}

interface ActiveRun {
  readonly tool: string;
  readonly startedAtMs: number;
}

/** Turns core's reports into metrics and spans. */
export function createObserver({ metrics, tracing, withLogFields }: ObserverOptions): Observer & { refresh(): void } {
  const active = new Set<ActiveRun>();

  /** Runs `work` within a span of the task's trace, with the trace id in the log. Without tracing it only runs `work`. */
  async function traced<T>(part: Parameters<Tracing["tell"]>[0], work: () => Promise<T>, ended?: (value: T) => object): Promise<T> {
    if (!tracing) return await work();
    return await tracing.tell(part, async (span) => {
      const ids = tracing.ids();
      const value = await (ids ? withLogFields({ traceId: ids.traceId }, work) : work());
      if (ended) span.setAttributes(ended(value) as Record<string, string>);
      return value;
    });
  }

  return {
    /** Brings what is known of active runs up to date, for a read of the metrics. */
    refresh() {
      if (!metrics) return;
      metrics.toolRuns.reset();
      metrics.oldestRun.reset();
      const oldest = new Map<string, number>();
      for (const { tool, startedAtMs } of active) {
        metrics.toolRuns.inc({ tool });
        oldest.set(tool, Math.min(startedAtMs, oldest.get(tool) ?? Infinity));
      }
      const nowMs = performance.now();
      for (const [tool, startedAtMs] of oldest) metrics.oldestRun.set({ tool }, (nowMs - startedAtMs) / 1_000);
    },

    traceparent: () => tracing?.traceparent(),

    created(call) {
      metrics?.created.inc({ tool: toolLabel(call) });
    },

    async answering({ task, key, ask }, work) {
      const attributes = { "parley.task.id": task.id, "parley.tool": task.call.name, "parley.ask": ask?.key ?? "(not open)" };
      const name = ask ? `answer ${key}` : "answer";
      const receipt = await traced({ name, traceparent: task.call.traceparent, attributes }, work, ({ type }) => ({
        "parley.receipt": type,
      }));
      if (metrics) {
        const tool = toolLabel(task.call);
        metrics.answers.inc({ tool, receipt: receipt.type });
        if (ask && receipt.type === "accepted" && receipt.missing === undefined)
          metrics.answerWait.observe({ tool }, Math.max(0, Date.now() - ask.askedAtMs) / 1_000);
      }
      return receipt;
    },

    async running({ task, journal, attempt }, work) {
      const startedAtMs = performance.now();
      const attributes = {
        "parley.task.id": task.id,
        "parley.tool": task.call.name,
        "parley.run": task.run,
        "parley.attempt": attempt,
        "parley.journal.entries": journal.size,
      };
      let end = "broken";
      const run = { tool: toolLabel(task.call), startedAtMs };
      active.add(run);
      metrics?.active.inc();
      if (journal.size > 0) metrics?.replays.observe(journal.size);
      try {
        const part = { name: `run ${task.call.name}`, traceparent: task.call.traceparent, attributes };
        const report = await traced(part, work, (of) => ({ "parley.end": endOf(of), ...("code" in of && { "error.type": of.code }) }));
        end = endOf(report);
        if (report.type === "given-up") metrics?.givenUp.inc({ tool: toolLabel(task.call) });
        if (metrics && report.type === "finished" && report.code !== undefined) {
          metrics.errors.inc({ tool: toolLabel(task.call), code: report.code });
          if (report.code === "REPLAY_DIVERGED") metrics.divergences.inc({ tool: toolLabel(task.call) });
        }
        return report;
      } finally {
        active.delete(run);
        metrics?.active.dec();
        metrics?.runs.observe({ tool: toolLabel(task.call), end }, (performance.now() - startedAtMs) / 1_000);
      }
    },
  };
}

function endOf(report: RunReport): string {
  return report.type === "finished" ? report.status : report.type;
}
