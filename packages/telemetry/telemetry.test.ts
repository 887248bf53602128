import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { NO_TELEMETRY, type TelemetrySettings } from "./settings.ts";
import { createTelemetry, type Telemetry } from "./telemetry.ts";

let opened: Telemetry | undefined;
afterEach(() => opened?.close());

async function telemetry(settings: Partial<TelemetrySettings>): Promise<Telemetry> {
  const options = { process: "test", version: "1", allowedHosts: [], withLogFields: <T>(_fields: object, work: () => T) => work() };
  opened = await createTelemetry({ ...NO_TELEMETRY, ...settings }, options);
  return opened;
}

test("without settings nothing is observed or wrapped", async () => {
  const { observer, watchStore, watchCatalogue, open } = await telemetry({});
  const store = {} as Parameters<typeof watchStore>[0];
  const catalogue = { tools: new Map() } as unknown as Parameters<typeof watchCatalogue>[0];
  expect(observer).toBeUndefined();
  expect(watchStore(store)).toBe(store);
  expect(watchCatalogue(catalogue)).toBe(catalogue);
  expect(await open()).toBeUndefined();
});

test("metrics can be read while the store is unavailable", async () => {
  const { beforeReading, open } = await telemetry({ metrics: { host: "127.0.0.1", port: 0 } });
  beforeReading(() => Promise.reject(new Error("Redis is away")));
  const response = await fetch(`${await open()}/metrics`);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('parley_build_info{version="1",process="test"} 1');
});

test("/healthz returns the version", async () => {
  const { open } = await telemetry({ metrics: { host: "127.0.0.1", port: 0 } });
  expect(await (await fetch(`${await open()}/healthz`)).json()).toEqual({ status: "ok", version: "1" });
});

test("/readyz succeeds only if every check does", async () => {
  const { readyWhen, open } = await telemetry({ metrics: { host: "127.0.0.1", port: 0 } });
  const url = `${await open()}/readyz`;
  expect((await fetch(url)).status).toBe(200);
  readyWhen(() => Promise.reject(new Error("draining")));
  const response = await fetch(url);
  expect([response.status, await response.json()]).toEqual([503, { status: "unavailable", problem: "draining" }]);
});

test("a trace receiver that does not respond does not keep the process from exiting", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await new Promise((listening) => silent.once("listening", listening));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1/traces`;
  const { tracing, close } = await telemetry({ traces: { url, sampler: "always_on", share: 1 } });
  await tracing!.tell({ name: "run", attributes: {} }, async () => undefined);
  const startedAtMs = performance.now();
  await close();
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  silent.closeAllConnections();
  silent.close();
});

test("withdrawn asks are counted when any kind of write has recorded them; answered asks and sleeps are not counted", async () => {
  const { watchStore, metrics } = await telemetry({ metrics: { host: "127.0.0.1", port: 0 } });
  let reply = "taken";
  const store = watchStore({
    record: async () => reply,
    finish: async () => reply,
    park: async () => ({ type: reply }),
  } as unknown as Parameters<typeof watchStore>[0]);
  const answered = { type: "answer", answer: { action: "decline" } } as const;
  const entry = (key: string, outcome: { readonly type: "withdrawn" } | typeof answered) => {
    return { key, entry: { digest: "", calledAt: "0", withdrawn: true, outcome } } as const;
  };
  const entries = [entry("ask:a", { type: "withdrawn" }), entry("ask:b", answered), entry("sleep:c", { type: "withdrawn" })];
  const request = { taskId: "0-a", token: "t", nowMs: 0, entries, asks: [] };
  const count = async () => (await metrics?.withdrawn.get())?.values[0]?.value;

  await store.record({ ...request, leaseMs: 1 });
  expect(await count()).toBe(1);
  await store.finish({ ...request, outcome: { type: "result", result: {} } });
  await store.park({ ...request, dueAtMs: 0, attempt: 0, graceMs: 0 });
  expect(await count()).toBe(3);
  reply = "refused";
  await store.record({ ...request, leaseMs: 1 });
  expect(await count()).toBe(3);
});

test("an ask that ends by its deadline is counted, and an answer by a person or a late deadline is not", async () => {
  const { watchStore, metrics } = await telemetry({ metrics: { host: "127.0.0.1", port: 0 } });
  let receipt = "accepted";
  const store = watchStore({ answer: async () => ({ receipt }) } as unknown as Parameters<typeof watchStore>[0]);
  const answer = { taskId: "0-a", nowMs: 0 } as unknown as Parameters<typeof store.answer>[0];
  await store.answer(answer);
  await store.answer({ ...answer, token: "of the run that saw the deadline" });
  receipt = "late";
  await store.answer({ ...answer, token: "of the run that saw the deadline" });
  expect((await metrics?.timedOut.get())?.values).toMatchObject([{ value: 1 }]);
});
