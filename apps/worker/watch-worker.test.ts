import { DEFAULT_SETTINGS } from "@parley/core";
import { createTelemetry, NO_TELEMETRY, type Telemetry } from "@parley/telemetry";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { BegunRun } from "./runs-at-work.ts";
import { type WatchedWork, watchWorker } from "./watch-worker.ts";

const core = { ...DEFAULT_SETTINGS, journalEntriesMax: 10, journalSizeMax: 1_000 };
let telemetry: Telemetry;
let draining: AbortController;
let writable: () => Promise<void>;
let watched: WatchedWork;
let noted: unknown[];
let warned: string[];
let isAway = false;

function mishapsOf(kept: unknown[]) {
  return {
    read: async () => [],
    note: async (mishap: object) => void (isAway ? await Promise.reject(new Error("Redis is away")) : kept.push(mishap)),
  };
}

beforeEach(async () => {
  draining = new AbortController();
  [noted, warned, isAway] = [[], [], false];
  writable = async () => undefined;
  const options = { process: "worker", version: "0", allowedHosts: [], withLogFields: <T>(_fields: object, work: () => T) => work() };
  telemetry = await createTelemetry({ ...NO_TELEMETRY, metrics: { host: "127.0.0.1", port: 0 } }, options);
  const redis = {
    censuses: { count: async () => undefined } as never,
    memory: undefined as never,
    mishaps: mishapsOf(noted),
    now: () => 5,
    writable: () => writable(),
  };
  watched = watchWorker(telemetry, {
    redis,
    core,
    concurrency: 7,
    log: { warn: (_fields, message) => void warned.push(message) },
    draining: draining.signal,
  });
});

const begun = ({ entries = 0, journalSize = 0, takeovers = 0 }): BegunRun => ({
  task: { call: { kind: "tool", name: "subject" } } as BegunRun["task"],
  journal: new Map(Array.from({ length: entries }, (_, n) => [`step:${n}`, {} as never])),
  journalSize,
  attempt: 0,
  takeovers,
});

async function total(metric: "takeovers" | "nearLimit" | "strays" | "blocks" | "blocked" | "sweeps" | "swept" | "slots"): Promise<number> {
  const { values } = (await telemetry.metrics?.[metric].get()) ?? { values: [] };
  return values.reduce((sum, { value }) => sum + value, 0);
}

describe("a worker counts", () => {
  test("runs that were taken over, once each, however often in a row", async () => {
    for (const takeovers of [0, 1, 3]) watched.begun(begun({ takeovers }));
    expect(await total("takeovers")).toBe(2);
  });

  test.each([
    [{ entries: 7, journalSize: 799 }, 0],
    [{ entries: 8 }, 1],
    [{ journalSize: 800 }, 1],
    [{ entries: 10, journalSize: 1_000 }, 1],
  ])("a journal of %o as near its limit %i times", async (journal, count) => {
    watched.begun(begun(journal));
    expect(await total("nearLimit")).toBe(count);
  });

  test("blocks of the event loop with their duration, and uncaught errors", async () => {
    watched.blocked(2_500);
    watched.blocked(500);
    watched.stray("run");
    expect([await total("blocks"), await total("blocked"), await total("strays")]).toEqual([2, 3, 1]);
  });

  test("since when a webhook fails and when it last gave up, each by its name, and nothing once another worker posts", async () => {
    const shown = async () => (await telemetry.metrics?.registry.metrics())?.match(/^parley_webhook_\w+_timestamp_seconds.*$/gm) ?? [];
    watched.webhookState("chat", { failingSinceMs: 4_000, gaveUpAtMs: 3_500 });
    watched.webhookState("mail", { failingSinceMs: 9_000 });
    expect(await shown()).toEqual([
      'parley_webhook_failing_since_timestamp_seconds{webhook="chat"} 4',
      'parley_webhook_failing_since_timestamp_seconds{webhook="mail"} 9',
      'parley_webhook_last_given_up_timestamp_seconds{webhook="chat"} 3.5',
    ]);
    watched.webhookState("chat", { gaveUpAtMs: 3_500 });
    watched.webhookState("mail", undefined);
    expect(await shown()).toEqual(['parley_webhook_last_given_up_timestamp_seconds{webhook="chat"} 3.5']);
    watched.webhookState("chat", undefined);
    expect(await shown()).toEqual([]);
  });

  test("its slots, and its sweeps with the runs that they queued", async () => {
    expect(await total("slots")).toBe(7);
    for (const runs of [0, 3]) expect(await watched.sweep(0, async () => runs)).toBe(runs);
    expect([await total("sweeps"), await total("swept")]).toEqual([2, 3]);
  });

  test("what alerts watch from 0, so that they see the first event as an increase", async () => {
    const text = await telemetry.metrics?.registry.metrics();
    for (const what of ["run", "ended_run", "process"]) expect(text).toContain(`parley_stray_errors_total{of="${what}"} 0\n`);
    expect(text).toContain('parley_runs_refused_total{reason="key_missing"} 0\n');
  });
});

test("what pages somebody is noted in Redis, and a run ends as well if Redis is away", async () => {
  const reports = [{ type: "parked" }, { type: "finished", status: "failed", code: "HANDLER" }, { type: "compensated" }] as const;
  for (const report of reports) await watched.ended(begun({}), report as never);
  expect(noted).toEqual([]);
  await watched.ended(begun({}), { type: "given-up" });
  await watched.ended(begun({}), { type: "finished", status: "failed", code: "POISONED" } as never);
  expect(noted).toEqual([
    { kind: "given_up", tool: "subject", atMs: 5 },
    { kind: "poisoned", tool: "subject", atMs: 5 },
  ]);
  isAway = true;
  await watched.ended(begun({}), { type: "given-up" });
  expect(warned).toEqual(["mishap not noted"]);
});

test("a worker is ready while Redis takes writes, and not once it drains, which its metrics show", async () => {
  const operator = await telemetry.open();
  onTestFinished(() => telemetry.close());
  const ready = async () => {
    const response = await fetch(`${operator}/readyz`);
    return [response.status, ((await response.json()) as { problem?: string }).problem];
  };
  const isDraining = async () => /^parley_draining (.*)$/m.exec(await (await fetch(`${operator}/metrics`)).text())?.[1];
  expect([await ready(), await isDraining()]).toEqual([[200, undefined], "0"]);
  writable = async () => {
    throw new Error("OOM command not allowed when used memory > 'maxmemory'.");
  };
  expect(await ready()).toEqual([503, expect.stringContaining("OOM")]);
  writable = async () => undefined;
  draining.abort();
  expect([await ready(), await isDraining()]).toEqual([[503, "draining"], "1"]);
});
