/**
 * Observes one process: metrics on the operator's port, traces to a receiver, both, or neither, which costs nothing.
 *
 * A front end and a worker in one process share one instance.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Catalogue, ErrorCode, KeyedEntry, Observer, TaskStore } from "@parley/core";
import { toolLabel } from "./labels.ts";
import type { Metrics } from "./metrics.ts";
import { createObserver, type WithLogFields } from "./observer.ts";
import { openOperatorPort } from "./operator-port.ts";
import type { TelemetrySettings } from "./settings.ts";
import { timedStore } from "./timed-store.ts";
import type { Tracing } from "./tracing.ts";

/** How long a process that shuts down tries to send its last spans. */
const FLUSH_MS = 2_000;

/** Error codes that alerts watch, in addition to divergences. */
const ALERTED = [
  "POISONED",
  "AMBIGUOUS_EFFECT",
  "UNHANDLED_REJECTION",
  "NOT_AWAITED",
  "JOURNAL_FULL",
] as const satisfies readonly ErrorCode[];

export interface Telemetry {
  readonly metrics: Metrics | undefined;
  readonly tracing: Tracing | undefined;
  /** Undefined if there are neither metrics nor traces. */
  readonly observer: Observer | undefined;
  /** Returns the store with its operations timed, and with parking in the task's trace. */
  watchStore(store: TaskStore): TaskStore;
  /** Returns the catalogue with the steps of tools in the task's trace. */
  watchCatalogue(catalogue: Catalogue): Catalogue;
  /** Shows by which rules for approvals the process decides. */
  showRules(version: string): void;
  /** Calls `refresh` whenever metrics are about to be read. If it rejects, the other metrics are read all the same. */
  beforeReading(refresh: () => Promise<void>): void;
  /** Adds a check to /readyz of the operator's port. */
  readyWhen(check: () => Promise<void>): void;
  /** Opens the operator's port if one is configured, and resolves to its address. */
  open(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface TelemetryOptions {
  readonly process: string;
  readonly version: string;
  readonly allowedHosts: readonly string[];
  readonly withLogFields: WithLogFields;
}

export async function createTelemetry(settings: TelemetrySettings, options: TelemetryOptions): Promise<Telemetry> {
  // prom-client and OpenTelemetry take a tenth of a second each to load, so they are loaded only if metrics or traces are configured.
  const metrics = settings.metrics && (await import("./metrics.ts")).createMetrics();
  metrics?.build.set({ version: options.version, process: options.process }, 1);
  const tracing =
    settings.traces &&
    (await import("./tracing.ts")).startTracing(settings.traces, { service: `parley-${options.process}`, version: options.version });
  const observer = metrics || tracing ? createObserver({ metrics, tracing, withLogFields: options.withLogFields }) : undefined;
  const refreshes: (() => Promise<void>)[] = [async () => observer?.refresh()];
  const checks: (() => Promise<void>)[] = [];
  let port: { close(): Promise<void> } | undefined;

  return {
    metrics,
    tracing,
    observer,
    watchStore(store) {
      const timed = metrics ? timedStore(store, (operation, ms) => metrics.redis.observe({ operation }, ms / 1_000)) : store;
      return tracing || metrics ? { ...timed, ...watchedEnds(timed, { metrics, tracing }) } : timed;
    },
    watchCatalogue(catalogue) {
      // Counters start at 0: if a counter appeared with its first event, an alert could not see an increase.
      for (const each of metrics ? catalogue.tools.values() : []) {
        const tool = toolLabel(each);
        metrics?.divergences.inc({ tool }, 0);
        metrics?.nearLimit.inc({ tool }, 0);
        metrics?.givenUp.inc({ tool }, 0);
        for (const code of ALERTED) metrics?.errors.inc({ tool, code }, 0);
      }
      return tracing ? watchedSteps(catalogue, tracing) : catalogue;
    },
    showRules(version) {
      metrics?.rules.reset();
      metrics?.rules.set({ version }, 1);
    },
    beforeReading: (refresh) => void refreshes.push(refresh),
    readyWhen: (check) => void checks.push(check),
    async open() {
      if (!settings.metrics || !metrics) return undefined;
      const opened = await openOperatorPort({
        ...settings.metrics,
        allowedHosts: options.allowedHosts,
        version: options.version,
        async metrics() {
          // A failed refresh must not fail the request: metrics matter most while something is unavailable.
          await Promise.allSettled(refreshes.map((refresh) => refresh()));
          return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
        },
        async ready() {
          await Promise.all(checks.map((check) => check()));
        },
      });
      port = opened;
      return opened.url;
    },
    async close() {
      await port?.close();
      // An unavailable receiver must not keep the process from exiting.
      const closed = tracing?.close().catch(() => undefined);
      await Promise.race([closed, wait(FLUSH_MS, undefined, { ref: false })]);
    },
  };
}

/** Traces parking, and counts asks that end without an answer. Only calls of the store show both. */
function watchedEnds(
  { park, answer, record, finish }: TaskStore,
  { metrics, tracing }: Pick<Telemetry, "metrics" | "tracing">,
): Pick<TaskStore, "park" | "answer" | "record" | "finish"> {
  function countWithdrawn(entries: readonly KeyedEntry[]): void {
    for (const { key, entry } of entries) {
      if (entry.outcome.type === "withdrawn" && key.startsWith("ask:")) metrics?.withdrawn.inc();
    }
  }

  return {
    async park(request) {
      const work = () => park(request);
      const attributes = { "parley.task.id": request.taskId, "parley.asks": request.asks.map(({ key }) => key) };
      const parked = await (tracing ? tracing.tell({ name: "park", attributes }, work) : work());
      if (parked.type !== "refused") countWithdrawn(request.entries);
      return parked;
    },
    async record(request) {
      const recorded = await record(request);
      if (recorded !== "refused") countWithdrawn(request.entries);
      return recorded;
    },
    async finish(request) {
      const finished = await finish(request);
      if (finished !== "refused") countWithdrawn(request.entries);
      return finished;
    },
    async answer(request) {
      const recorded = await answer(request);
      if (request.token !== undefined && recorded.receipt === "accepted") metrics?.timedOut.inc();
      return recorded;
    },
  };
}

function watchedSteps(catalogue: Catalogue, tracing: Tracing): Catalogue {
  const watch = <Of extends (Catalogue["tools"] extends ReadonlyMap<string, infer Tool> ? Tool : never)>(tool: Of): Of => ({
    ...tool,
    run: (args, effects) =>
      tool.run(args, {
        ...effects,
        step: (name, work, options) =>
          effects.step(
            name,
            (attempt) => {
              const attributes = { "parley.step": name, "parley.attempt": attempt.attempt };
              return tracing.tell({ name: `step ${name}`, attributes }, async () => await work(attempt));
            },
            options,
          ),
      }),
  });
  return { ...catalogue, tools: new Map([...catalogue.tools].map(([name, tool]) => [name, watch(tool)])) };
}
