import { z } from "zod";

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Settings for metrics and traces. Apps merge them into their own; the OTEL_ names are OpenTelemetry's. */
export const telemetryEnvironment = {
  PARLEY_METRICS_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe("Port for /metrics, /healthz and /readyz of this process, for the operator only; 0 picks a free one. Unset: none."),
  PARLEY_METRICS_HOST: z.string().min(1).default("127.0.0.1").describe("Address of that port. Use 0.0.0.0 in a container."),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Where traces are sent: the base address of an OTLP/HTTP receiver, such as http://localhost:4318. Unset: no traces."),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("The same for traces only, as a full address with its path."),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS).default("parentbased_always_on").describe("Which traces are collected."),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe("Share of traces that a traceidratio sampler keeps, from 0 to 1."),
};

const telemetrySchema = z.object(telemetryEnvironment);

export interface TelemetrySettings {
  /** Undefined: no port is opened and no metrics are collected. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  /** Undefined: no traces. */
  readonly traces: TraceSettings | undefined;
}

export interface TraceSettings {
  /** Address of the receiver, with its path. */
  readonly url: string;
  readonly sampler: (typeof SAMPLERS)[number];
  /** Share of traces that a ratio sampler keeps, from 0 to 1. */
  readonly share: number;
}

export const NO_TELEMETRY: TelemetrySettings = { metrics: undefined, traces: undefined };

export function telemetrySettings(environment: z.output<typeof telemetrySchema>): TelemetrySettings {
  const port = environment.PARLEY_METRICS_PORT;
  const base = environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base === undefined ? undefined : `${base.replace(/\/$/, "")}/v1/traces`);
  return {
    metrics: port === undefined ? undefined : { host: environment.PARLEY_METRICS_HOST, port },
    traces: url === undefined ? undefined : { url, sampler: environment.OTEL_TRACES_SAMPLER, share: environment.OTEL_TRACES_SAMPLER_ARG },
  };
}
