/**
 * Whether anything grows with the number of parked tasks: memory per task, the time of a read and of a lifecycle beside them.
 *
 * One task is parked by a client. The others are written as a front end and a worker would have (create, begin, park), by the store
 * itself in a pipeline, since a million lifecycles would take half an hour.
 */
import type { Task } from "@parley/core";
import { connectRedis, type RedisBackend } from "@parley/redis";
import type { Benchmark, Figures, Metric } from "../benchmark.ts";
import { createClient, type Client } from "../client.ts";
import { cost, usedMemory } from "../cost.ts";
import { lifecycle, parked } from "../lifecycle.ts";
import { inParallel, median } from "../measure.ts";
import type { Stage } from "../stage.ts";
import { atMost } from "../target.ts";

const TOGETHER = 200;
const SAMPLE_EVERY = 97;
const WAITS_MS = 7 * 24 * 60 * 60 * 1_000;
const GRACE_MS = 1_000;
const LEASE_MS = 10_000;
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export function growth({ quick, million }: { quick: boolean; million: boolean }): Benchmark {
  const sizes = [1_000, 10_000, ...(quick ? [] : [100_000]), ...(million ? [1_000_000] : [])];
  const largest = sizes.at(-1) ?? 0;
  return {
    name: "growth",
    group: "Growth: beside ever more parked tasks",
    rounds: 1,
    alone: true,
    async open(stage) {
      const client = createClient(`${stage.frontEnd.url}/mcp`, 50);
      const backend = await connectRedis({ url: stage.redisUrl }, { log: SILENT });
      return {
        async parley() {
          await inParallel(50, stage.some(2_000), () => lifecycle(client)); // processes that have been up for a while
          const model = await backend.store.load((await parked(client)).taskId);
          if (!model) throw new Error("there is no task to write more of");
          const taskIds: string[] = [];
          const figures: Record<string, number> = {};
          let filled = 0;
          let bytes = 0;
          for (const size of sizes) {
            const before = await usedMemory(stage.redis);
            await fill(backend, model, { count: size - filled, taskIds });
            bytes += (await usedMemory(stage.redis)) - before;
            filled = size;
            figures[`bytes@${size}`] = bytes / size;
            for (const [name, value] of Object.entries(await beside(stage, client, taskIds))) figures[`${name}@${size}`] = value;
          }
          for (const name of ["get", "lifecycle", "busyLifecycle", "redisCpuMs"]) {
            figures[`${name}Ratio`] = (figures[`${name}@${largest}`] ?? 0) / (figures[`${name}@${sizes[0]}`] ?? 0);
          }
          return figures;
        },
        async close() {
          client.close();
          await backend.close();
        },
      };
    },
    metrics: [
      ...sizes.flatMap((size): Metric[] => [
        {
          metric: `Redis memory per task at ${told(size)}`,
          figure: `bytes@${size}`,
          unit: "B",
          target: atMost(1_300, "B"),
          point: { chart: "parked-memory", x: size, series: "Redis memory per parked task" },
        },
      ]),
      ...sizes.map((size): Metric => ({
        metric: `tasks/get p50 beside ${told(size)}`,
        figure: `get@${size}`,
        unit: "ms",
        point: { chart: "parked-latency", x: size, series: "tasks/get" },
      })),
      ...sizes.map((size): Metric => ({
        metric: `lifecycle p50 beside ${told(size)}, 1 client`,
        figure: `lifecycle@${size}`,
        unit: "ms",
        point: { chart: "parked-latency", x: size, series: "lifecycle, 1 client" },
      })),
      ...sizes.map((size): Metric => ({
        metric: `lifecycle p50 beside ${told(size)}, 50 clients`,
        figure: `busyLifecycle@${size}`,
        unit: "ms",
        point: { chart: "parked-latency", x: size, series: "lifecycle, 50 clients" },
      })),
      ...sizes.map((size): Metric => ({
        metric: `CPU of Redis per lifecycle beside ${told(size)}`,
        figure: `redisCpuMs@${size}`,
        unit: "ms",
      })),
      { metric: `tasks/get p50, ${told(largest)} : 1,000`, figure: "getRatio", unit: "×", target: atMost(1.25, "×") },
      { metric: `lifecycle p50, ${told(largest)} : 1,000, 1 client`, figure: "lifecycleRatio", unit: "×", target: atMost(1.25, "×") },
      { metric: `lifecycle p50, ${told(largest)} : 1,000, 50 clients`, figure: "busyLifecycleRatio", unit: "×", target: atMost(1.25, "×") },
      { metric: `CPU of Redis per lifecycle, ${told(largest)} : 1,000`, figure: "redisCpuMsRatio", unit: "×", target: atMost(1.25, "×") },
    ],
  };
}

async function beside({ some, redis, frontEnd, worker }: Stage, client: Client, taskIds: readonly string[]): Promise<Figures> {
  const gets = await inParallel(1, some(1_000), async () => {
    await client.get(taskIds[Math.floor(Math.random() * taskIds.length)] ?? "");
  });
  const single = await inParallel(1, some(200), () => lifecycle(client));
  const operations = some(2_000);
  let busy: readonly number[] = [];
  const { redisCpuMs = Number.NaN } = await cost({ redis, processes: { frontEnd, worker }, operations }, async () => {
    ({ latencies: busy } = await inParallel(50, operations, () => lifecycle(client)));
  });
  return { get: median(gets.latencies), lifecycle: median(single.latencies), busyLifecycle: median(busy), redisCpuMs };
}

/** Writes `count` tasks like `model`; some of their ids are added to `taskIds`. */
async function fill(
  { store, ids, now }: RedisBackend,
  model: Task,
  { count, taskIds }: { count: number; taskIds: string[] },
): Promise<void> {
  let written = 0;
  await inParallel(TOGETHER, count, async () => {
    written += 1;
    const taskId = ids.taskId();
    if (written % SAMPLE_EVERY === 0) taskIds.push(taskId);
    const token = ids.token();
    const nowMs = now();
    const dueAtMs = nowMs + WAITS_MS;
    const asks = model.asks.map((ask) => ({ ...ask, askedAtMs: nowMs, deadlineMs: dueAtMs }));
    // On one connection, in this order.
    const [, , { type }] = await Promise.all([
      store.create({ taskId, call: { ...model.call, createdAtMs: nowMs }, graceMs: GRACE_MS }),
      store.begin({ taskId, run: 1, token, nowMs, leaseMs: LEASE_MS }),
      store.park({ taskId, token, nowMs, entries: [], asks, dueAtMs, attempt: 0, graceMs: GRACE_MS }),
    ]);
    if (type !== "parked") throw new Error(`a task was not parked but ${type}`);
  });
}

function told(count: number): string {
  return count.toLocaleString("en");
}

function ignore(): void {}
