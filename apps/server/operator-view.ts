import type { Telemetry } from "@parley/telemetry";
import type { Lifecycle } from "./front-end/lifecycle.ts";
import type { SharedGate } from "./front-end/gate.ts";

export interface OperatorView {
  readonly waits: Pick<SharedGate, "open">;
  readonly listens: Pick<SharedGate, "open">;
  readonly lifecycle: Lifecycle;
  readonly reachable: () => Promise<void>;
}

/** Adds the state of this front end to the metrics and the readiness of the operator's port. */
export function showOperator(telemetry: Telemetry, { waits, listens, lifecycle, reachable }: OperatorView): void {
  telemetry.beforeReading(async () => {
    telemetry.metrics?.listens.set(listens.open);
    telemetry.metrics?.calls.set(waits.open);
    telemetry.metrics?.draining.set(lifecycle.draining.aborted ? 1 : 0);
  });
  telemetry.readyWhen(async () => {
    if (lifecycle.draining.aborted) throw new Error("draining");
    await reachable();
  });
}
