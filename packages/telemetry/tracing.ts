/**
 * OpenTelemetry traces: one trace per task, however long it waits and wherever it continues.
 *
 *   tools/call ─┬─ add ── process ── run ─┬─ step …
 *               │                         └─ park
 *               ├─ answer ── add ── process ── run ── step …      (linked to the trace of its own request)
 *               ┊
 *
 * The task stores the traceparent of its call. Later spans of the task belong to that trace. Their parent is the active span if it belongs to
 * the same trace, since BullMQ carries the trace from the process that queues a run to the worker that takes it. Otherwise their parent is the
 * call itself, with a link to the active span. This module is loaded only if traces are collected.
 *
 * Spans contain ids, names of tools, steps and asks, and kinds of errors; never arguments, answers or error messages.
 *
 * Source: W3C Trace Context; specification 2026-07-28, basic/index, "_meta" (traceparent, SEP-414); OpenTelemetry's conventions for MCP.
 */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { errorName } from "@parley/core";
import { BullMQOtel } from "bullmq-otel";
import type { TraceSettings } from "./settings.ts";

export interface Tracing {
  /** For BullMQ's queues and workers. */
  readonly bullmq: BullMQOtel;
  /** The traceparent of the active span, if it is sampled. */
  traceparent(): string | undefined;
  /** The ids of the active span, for the log. */
  ids(): { readonly traceId: string; readonly spanId: string } | undefined;
  /** Runs `work` within a server span that continues the carrier's traceparent. The span ends when `work` calls `end`. */
  serve(carrier: Carrier, work: (end: (name: string, attributes: Attributes, failed: boolean) => void) => void): void;
  /** Runs `work` within a span of a task's trace. */
  tell<T>(part: Part, work: (span: Span) => Promise<T>): Promise<T>;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** Headers or `_meta` members as the client sent them, not yet validated. */
export interface Carrier {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}

export interface Part {
  readonly name: string;
  /** The trace of the task. Absent: the parent is the active span. */
  readonly traceparent?: string | undefined;
  readonly attributes: Attributes;
}

const SCOPE = "parley";

export interface TracingOptions {
  readonly service: string;
  readonly version: string;
}

/** Call this once per process: OpenTelemetry's API is global. */
export function startTracing(settings: TraceSettings, { service, version }: TracingOptions): Tracing {
  const provider = new TracerProvider({
    sampler: samplerOf(settings),
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": service, "service.version": version, "process.pid": process.pid }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: settings.url }), scheduledDelayMillis: 1_000 })],
  });
  const contexts = new AsyncLocalStorageContextManager().enable();
  const propagator = new W3CTraceContextPropagator();
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(contexts);
  propagation.setGlobalPropagator(propagator);
  const tracer = provider.getTracer(SCOPE, version);

  return {
    bullmq: quiet(new BullMQOtel({ tracerName: SCOPE, version })),

    traceparent() {
      const active = trace.getSpanContext(context.active());
      if (!active || !isSpanContextValid(active) || (active.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
      return `00-${active.traceId}-${active.spanId}-01`;
    },

    ids() {
      const active = trace.getSpanContext(context.active());
      return active && isSpanContextValid(active) ? { traceId: active.traceId, spanId: active.spanId } : undefined;
    },

    serve(carrier, work) {
      const { traceparent, tracestate } = carrier;
      const given = {
        ...(typeof traceparent === "string" && { traceparent }),
        ...(typeof tracestate === "string" && { tracestate }),
      };
      const parent = propagation.extract(ROOT_CONTEXT, given);
      const span = tracer.startSpan("request", { kind: SpanKind.SERVER }, parent);
      context.with(trace.setSpan(parent, span), () =>
        work((name, attributes, failed) => {
          span.updateName(name).setAttributes(attributes);
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        }),
      );
    },

    async tell({ name, traceparent, attributes }, work) {
      const { parent, links } = placeOf(traceparent);
      const span = tracer.startSpan(name, { attributes, links }, parent);
      try {
        return await context.with(trace.setSpan(parent, span), () => work(span));
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", errorName(error));
        throw error;
      } finally {
        span.end();
      }
    },

    async close() {
      // First, because a receiver that does not respond keeps the rest waiting.
      trace.disable();
      context.disable();
      propagation.disable();
      await provider.shutdown();
    },
  };
}

/** The parent and the links of a span that belongs to the given trace. */
function placeOf(traceparent: string | undefined): { parent: Context; links: { context: SpanContext }[] } {
  const active = context.active();
  if (traceparent === undefined) return { parent: active, links: [] };
  const at = trace.getSpanContext(active);
  const stored = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, { traceparent }));
  if (!stored || at?.traceId === stored.traceId) return { parent: active, links: [] };
  return { parent: trace.setSpanContext(active, stored), links: at && isSpanContextValid(at) ? [{ context: at }] : [] };
}

function samplerOf({ sampler, share }: TraceSettings): Sampler {
  const [base, root] = sampler.startsWith("parentbased_")
    ? (["parentbased", sampler.slice("parentbased_".length)] as const)
    : ["", sampler];
  const own =
    root === "always_on" ? new AlwaysOnSampler() : root === "always_off" ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(share);
  return base === "parentbased" ? new ParentBasedSampler({ root: own }) : own;
}

/**
 * Keeps only the spans for adding and processing runs. BullMQ also traces its housekeeping, each time in a separate trace, and adds errors to
 * its spans, as exceptions and as events: their messages can contain a person's answer.
 */
function quiet(telemetry: BullMQOtel): BullMQOtel {
  const { tracer } = telemetry;
  const start = tracer.startSpan.bind(tracer);
  tracer.startSpan = (name, options, within) => {
    if (!/^(add|process) /.test(name)) return SILENT as never;
    const span = start(name, options, within);
    span.recordException = () => undefined;
    span.addEvent = () => undefined;
    return span;
  };
  return telemetry;
}

const SILENT = {
  setSpanOnContext: (within: Context) => within,
  setAttribute: () => undefined,
  setAttributes: () => undefined,
  addEvent: () => undefined,
  recordException: () => undefined,
  end: () => undefined,
};
