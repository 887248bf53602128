import { createTelemetry, NO_TELEMETRY } from "@parley/telemetry";
import { expect, test } from "vitest";
import { watchGateway } from "./watch-gateway.ts";

async function watched(counts = { waiting: 0, all: 0 }) {
  const options = { process: "worker", version: "0", allowedHosts: [], withLogFields: <T>(_fields: object, work: () => T) => work() };
  const telemetry = await createTelemetry({ ...NO_TELEMETRY, metrics: { host: "127.0.0.1", port: 0 } }, options);
  const refreshes: (() => Promise<void>)[] = [];
  const { metrics } = telemetry;
  const observer = watchGateway({ metrics, beforeReading: (refresh) => void refreshes.push(refresh) }, () => counts)!;
  const lines = async (name: string) => {
    await Promise.all(refreshes.map((refresh) => refresh()));
    return (await metrics!.registry.getSingleMetricAsString(name)).split("\n").filter((line) => !line.startsWith("#"));
  };
  return { observer, lines };
}

test("calls at upstreams that wait for an answer are counted apart from those at work", async () => {
  const { lines } = await watched({ waiting: 2, all: 5 });
  expect(await lines("parley_upstream_calls")).toEqual([
    'parley_upstream_calls{state="waiting"} 2',
    'parley_upstream_calls{state="working"} 3',
  ]);
});

test("questions and calls of an upstream are counted by how they ended", async () => {
  const { observer, lines } = await watched();
  observer.question({ upstream: "up", kind: "form", outcome: "decline" });
  observer.taskless?.("up", "task");
  observer.callEnded("up", 2_000);
  expect(await lines("parley_elicitations_total")).toEqual(['parley_elicitations_total{upstream="up",kind="form",outcome="decline"} 1']);
  expect(await lines("parley_upstream_taskless_calls_total")).toEqual([
    'parley_upstream_taskless_calls_total{upstream="up",outcome="task"} 1',
  ]);
  expect(await lines("parley_upstream_call_seconds")).toContain('parley_upstream_call_seconds_sum{upstream="up"} 2');
});

test("an upstream is up or away for as long as this worker reads its lists", async () => {
  const { observer, lines } = await watched();
  observer.listed("up", false);
  expect(await lines("parley_upstream_up")).toEqual(['parley_upstream_up{upstream="up"} 0']);
  observer.listed("up", true);
  expect(await lines("parley_upstream_up")).toEqual(['parley_upstream_up{upstream="up"} 1']);
  observer.listed("up", undefined);
  expect(await lines("parley_upstream_up")).toEqual([]);
});
