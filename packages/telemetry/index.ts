/** Metrics, traces and health of a process. The only importer of prom-client and OpenTelemetry. */
export { showDeployment } from "./deployment.ts";
export { dialectLabel, methodLabel, ruleLabel, toolLabel } from "./labels.ts";
export type { Metrics } from "./metrics.ts";
export { NO_TELEMETRY, telemetryEnvironment, type TelemetrySettings, telemetrySettings } from "./settings.ts";
export { createTelemetry, type Telemetry } from "./telemetry.ts";
