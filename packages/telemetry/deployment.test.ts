import { afterEach, beforeEach, expect, test } from "vitest";
import { type DeploymentCensus, showDeployment } from "./deployment.ts";
import { NO_TELEMETRY } from "./settings.ts";
import { createTelemetry, type Telemetry } from "./telemetry.ts";

const CENSUS: DeploymentCensus = {
  unfinished: 7,
  parked: 4,
  overdue: 1,
  oldestDueAtMs: undefined,
  waitingRuns: 3,
  activeRuns: 2,
  asks: undefined,
};

let telemetry: Telemetry;
let mishaps: readonly { kind: string; tool: string; atMs: number }[] = [];
let memory = { usedBytes: 0, maxBytes: 0 };
let read: () => Promise<DeploymentCensus>;
let metrics: (names?: RegExp) => Promise<string[]>;

beforeEach(async () => {
  const options = { process: "test", version: "1", allowedHosts: [], withLogFields: <T>(_fields: object, work: () => T) => work() };
  telemetry = await createTelemetry({ ...NO_TELEMETRY, metrics: { host: "127.0.0.1", port: 0 } }, options);
  showDeployment(telemetry, { read: () => read(), readMemory: async () => memory, readMishaps: async () => mishaps, leaseMs: 7_000 });
  const url = `${await telemetry.open()}/metrics`;
  metrics = async (names = /^parley_(queue|tasks_unf)/) => (await (await fetch(url)).text()).split("\n").filter((line) => names.test(line));
});
afterEach(() => telemetry.close());

test("waiting and active runs are exported, but not while the store is unavailable: no autoscaler acts on old values", async () => {
  const shown = ['parley_queue_jobs{state="waiting"} 3', 'parley_queue_jobs{state="active"} 2', "parley_tasks_unfinished 7"];
  read = async () => CENSUS;
  expect(await metrics()).toEqual(shown);
  read = () => Promise.reject(new Error("Redis is away"));
  expect(await metrics()).toEqual(["parley_tasks_unfinished Nan"]);
  read = async () => CENSUS;
  expect(await metrics()).toEqual(shown);
});

test("how late the oldest run is, is exported; a run that is not due yet is not late", async () => {
  const seconds = async (oldestDueAtMs: number | undefined) => {
    read = async () => ({ ...CENSUS, oldestDueAtMs });
    const [line] = await metrics(/^parley_oldest_due_seconds /);
    return Number(line?.split(" ")[1]);
  };
  expect(await seconds(undefined)).toBe(0);
  expect(await seconds(Date.now() + 60_000)).toBe(0);
  expect(Math.round(await seconds(Date.now() - 60_000))).toBe(60);
});

test("the memory of Redis is exported with its limit, but not while Redis is away", async () => {
  read = async () => CENSUS;
  memory = { usedBytes: 700, maxBytes: 1_000 };
  const shown = async () => (await metrics(/^parley_redis_(max)?memory/)).toSorted();
  expect(await shown()).toEqual(["parley_redis_maxmemory_bytes 1000", "parley_redis_memory_bytes 700"]);
  read = () => Promise.reject(new Error("Redis is away"));
  expect(await shown()).toEqual(["parley_redis_maxmemory_bytes Nan", "parley_redis_memory_bytes Nan"]);
});

test("the last mishap of each tool is exported, but not while Redis is away", async () => {
  read = async () => CENSUS;
  const shown = async () => (await metrics(/^parley_last_mishap/)).toSorted();
  expect(await shown()).toEqual([]);
  mishaps = [
    { kind: "given_up", tool: "book", atMs: 1_500 },
    { kind: "poisoned", tool: "book", atMs: 2_000 },
  ];
  const lines = [
    'parley_last_mishap_timestamp_seconds{of="given_up",tool="book"} 1.5',
    'parley_last_mishap_timestamp_seconds{of="poisoned",tool="book"} 2',
  ];
  expect(await shown()).toEqual(lines);
  read = () => Promise.reject(new Error("Redis is away"));
  expect(await shown()).toEqual([]);
});
