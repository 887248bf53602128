import type { GatewayObserver } from "@parley/gateway";
import type { Telemetry } from "@parley/telemetry";

/** Exports a worker's gateway metrics. Labels are bounded, since names of upstreams come from the operator's file. */
export function watchGateway(
  { metrics, beforeReading }: Pick<Telemetry, "metrics" | "beforeReading">,
  counts: () => { readonly waiting: number; readonly all: number },
): GatewayObserver | undefined {
  if (!metrics) return undefined;
  beforeReading(async () => {
    const { waiting, all } = counts();
    metrics.upstreamCalls.set({ state: "waiting" }, waiting);
    metrics.upstreamCalls.set({ state: "working" }, all - waiting);
  });
  return {
    question: (labels) => metrics.elicitations.inc({ ...labels }),
    callEnded: (upstream, ms) => metrics.upstreamCallTime.observe({ upstream }, ms / 1_000),
    taskless: (upstream, outcome) => metrics.tasklessCalls.inc({ upstream, outcome }),
    listed(upstream, isUp) {
      if (isUp === undefined) metrics.upstreamUp.remove({ upstream });
      else metrics.upstreamUp.set({ upstream }, isUp ? 1 : 0);
    },
  };
}
