import type { GatewayObserver } from "@parley/gateway";
import type { Telemetry } from "@parley/telemetry";

/** What a worker tells of the servers behind it. Names of upstreams come from a file of the operator. */
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
    listed(upstream, isUp) {
      if (isUp === undefined) metrics.upstreamUp.remove({ upstream });
      else metrics.upstreamUp.set({ upstream }, isUp ? 1 : 0);
    },
  };
}
