/**
 * Whether anything grows with the number of parked tasks: memory per task, and the time of a read and of a lifecycle beside them.
 *
 * A client parks one task. The store writes the others in a pipeline, as a front end and a worker would have (create, begin, park), because
 * a million lifecycles would take half an hour.
 */
import type { Ask, AskAbout, Audience, Task } from "@parley/core";
import { connectRedis, type RedisBackend } from "@parley/redis";
import type { Benchmark, Figures, Metric } from "../benchmark.ts";
import { createClient, type Client } from "../client.ts";
import { cost, usedMemory } from "../cost.ts";
import { ARGUMENTS, lifecycle, parked } from "../lifecycle.ts";
import { inParallel, median } from "../measure.ts";
import { openStage, type Stage } from "../stage.ts";
import { atMost } from "../target.ts";

const TOGETHER = 200;
const SAMPLE_EVERY = 97;
const WAITS_MS = 7 * 24 * 60 * 60 * 1_000;
/** Longer than a busy machine takes from one script to the next: a worker must not take the task over. */
const GRACE_MS = 600_000;
const LEASE_MS = 600_000;
export const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

const LATENCIES = {
  get: "tasks/get p50",
  lifecycle: "lifecycle p50, 1 client",
  busyLifecycle: "lifecycle p50, 50 clients",
} as const;
const SMALLEST = 1_000;

export function growth({ quick, million }: { quick: boolean; million: boolean }): Benchmark {
  const sizes = [10_000, ...(quick ? [] : [100_000]), ...(million ? [1_000_000] : [])];
  const flat = (what: string, figure: string): Metric[] =>
    sizes.map((size) => ({
      metric: `${what}, ${told(size)} : ${told(SMALLEST)}`,
      figure: `${figure}Ratio@${size}`,
      unit: "×",
      target: atMost(1.25, "×"),
    }));
  return {
    name: "growth",
    group: "Growth: beside ever more parked tasks, and beside 1,000 on another deployment in turn",
    rounds: 1,
    alone: true,
    async open(stage) {
      const small = await openSite(stage);
      const grown = await openSite(await openStage(quick));
      return {
        async parley() {
          const figures: Record<string, number> = {};
          figures[`bytes@${SMALLEST}`] = (await small.growTo(SMALLEST)) / SMALLEST;
          const ofSmall: Figures[] = [];
          for (const size of sizes) {
            figures[`bytes@${size}`] = (await grown.growTo(size)) / size;
            const pairs: { small: Figures; grown: Figures }[] = [];
            for (let round = 0; round < (quick ? 1 : 3); round += 1) pairs.push({ small: await small.look(), grown: await grown.look() });
            ofSmall.push(...pairs.map((pair) => pair.small));
            for (const name of [...Object.keys(LATENCIES), "redisCpuMs"]) {
              const of = (side: "small" | "grown") => median(pairs.map((pair) => pair[side][name] ?? Number.NaN));
              figures[`${name}@${size}`] = of("grown");
              figures[`${name}Ratio@${size}`] = of("grown") / of("small");
            }
          }
          for (const name of [...Object.keys(LATENCIES), "redisCpuMs"]) {
            figures[`${name}@${SMALLEST}`] = median(ofSmall.map((figuresOfRound) => figuresOfRound[name] ?? Number.NaN));
          }
          return figures;
        },
        async close() {
          await small.leave();
          await grown.leave();
          await grown.stage.close();
        },
      };
    },
    metrics: [
      ...[SMALLEST, ...sizes].map((size): Metric => ({
        metric: `Redis memory per task at ${told(size)}`,
        figure: `bytes@${size}`,
        unit: "B",
        target: atMost(1_300, "B"),
        point: { chart: "parked-memory", x: size },
      })),
      ...Object.entries(LATENCIES).flatMap(([name, what]): Metric[] => [
        ...[SMALLEST, ...sizes].map((size): Metric => ({
          metric: `${what} beside ${told(size)}`,
          figure: `${name}@${size}`,
          unit: "ms",
          point: { chart: "parked-latency", x: size, series: what.replace(" p50", "") },
        })),
        ...flat(what, name),
      ]),
      ...[SMALLEST, ...sizes].map((size): Metric => ({
        metric: `CPU of Redis per lifecycle beside ${told(size)}`,
        figure: `redisCpuMs@${size}`,
        unit: "ms",
      })),
      ...flat("CPU of Redis per lifecycle", "redisCpuMs"),
    ],
  };
}

/** A deployment whose parked tasks grow. */
interface Site {
  readonly stage: Stage;
  /** Bytes that all parked tasks take in Redis. */
  growTo(size: number): Promise<number>;
  look(): Promise<Figures>;
  leave(): Promise<void>;
}

async function openSite(stage: Stage): Promise<Site> {
  const client = createClient(`${stage.frontEnd.url}/mcp`, 50);
  const backend = await connectRedis({ url: stage.redisUrl }, { log: SILENT });
  await inParallel(50, stage.some(2_000), () => lifecycle(client)); // processes that have been up for a while
  const model = await backend.store.load((await parked(client)).taskId);
  if (!model) throw new Error("there is no task to write more of");
  const taskIds: string[] = [];
  let filled = 0;
  let bytes = 0;
  return {
    stage,
    async growTo(size) {
      const before = await usedMemory(stage.redis);
      await fill(backend, model, { count: size - filled, taskIds });
      bytes += (await usedMemory(stage.redis)) - before;
      filled = size;
      return bytes;
    },
    look: () => beside(stage, client, taskIds),
    async leave() {
      client.close();
      await backend.close();
    },
  };
}

async function beside({ some, redis, frontEnd, worker }: Stage, client: Client, taskIds: readonly string[]): Promise<Figures> {
  const gets = await inParallel(1, some(500), async () => {
    await client.get(taskIds[Math.floor(Math.random() * taskIds.length)] ?? "");
  });
  const single = await inParallel(1, some(100), () => lifecycle(client));
  const operations = some(1_000);
  let busy: readonly number[] = [];
  const { redisCpuMs = Number.NaN } = await cost({ redis, processes: { frontEnd, worker }, operations }, async () => {
    ({ latencies: busy } = await inParallel(50, operations, () => lifecycle(client)));
  });
  return { get: median(gets.latencies), lifecycle: median(single.latencies), busyLifecycle: median(busy), redisCpuMs };
}

export interface Filling {
  readonly count: number;
  /** Some of the ids are added to it. */
  readonly taskIds: string[];
  /** Whom the asks of a task are put to; those of the model by default. */
  readonly audienceOf?: (number: number) => Audience;
  /** What the question of such a task says about itself. */
  readonly aboutOf?: (number: number) => AskAbout | undefined;
}

/** Writes `count` tasks like `model`. */
export async function fill(
  { store, ids, now }: RedisBackend,
  model: Task,
  { count, taskIds, audienceOf, aboutOf }: Filling,
): Promise<void> {
  let written = 0;
  await inParallel(TOGETHER, count, async () => {
    const number = (written += 1);
    const taskId = await ids.taskId();
    if (number % SAMPLE_EVERY === 1) taskIds.push(taskId);
    const token = ids.token();
    const nowMs = now();
    const dueAtMs = nowMs + WAITS_MS;
    const audience = audienceOf?.(number);
    const about = aboutOf?.(number);
    const asks = model.asks.map((ask): Ask => {
      const { request } = ask;
      const saying = about && request.type === "form" ? { request: { ...request, about } } : {};
      return { ...ask, askedAtMs: nowMs, deadlineMs: dueAtMs, ...(audience && { audience }), ...saying };
    });
    await store.create({ taskId, call: { ...model.call, createdAtMs: nowMs, arguments: ARGUMENTS, seed: ids.token() }, graceMs: GRACE_MS });
    await store.begin({ taskId, run: 1, token, nowMs, leaseMs: LEASE_MS });
    const { type } = await store.park({ taskId, token, nowMs, entries: [], asks, dueAtMs, attempt: 0, graceMs: GRACE_MS });
    if (type !== "parked") throw new Error(`a task was not parked but ${type}`);
  });
}

export function told(count: number): string {
  return count.toLocaleString("en");
}

function ignore(): void {}
