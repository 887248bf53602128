/**
 * How long a tenant's call waits for its first run while 100,000 calls of another tenant are waiting: in turns, and in order of arrival.
 * The latter is what BullMQ does on its own, and takes the place of the floor. Measures store, queue and BullMQ's worker, without HTTP and
 * without work in the tool.
 */
import { randomBytes } from "node:crypto";
import { type Call, shareOf } from "@parley/core";
import { connectRedis } from "@parley/redis";
import type { Benchmark, Figures } from "../benchmark.ts";
import { inParallel, quantile } from "../measure.ts";
import type { Stage } from "../stage.ts";
import { atMost } from "../target.ts";

const WAITING = 100_000;
const QUIET_CALLS = 200;
const QUIET_EVERY_MS = 20;
const CLIENTS = 50;
const CONCURRENCY = 10;
const ROOMY = { tasks: 10_000_000, bytes: 10_000_000_000 };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

async function beside(stage: Stage, order: "turns" | "arrival"): Promise<Figures> {
  const backend = await connectRedis({ url: stage.redisUrl, prefix: `fair-${randomBytes(4).toString("hex")}` }, { log: silent });
  const { store, queue, ids } = backend;
  const createdAtMs = new Map<string, number>();
  const waitedMs: number[] = [];

  async function create(tenant: string): Promise<void> {
    const taskId = await ids.taskId(tenant);
    const call: Call = {
      kind: "tool",
      name: "ask",
      arguments: {},
      principal: `one of ${tenant}`,
      tenant,
      capabilities: {},
      createdAtMs: backend.now(),
      retentionMs: 1,
      seed: ids.token(),
      hidden: false,
    };
    if (tenant === "quiet") createdAtMs.set(taskId, performance.now());
    const inTurns = order === "turns";
    await Promise.all([
      store.create({ taskId, call, graceMs: 3_600_000, ...(inTurns && { quotas: { principal: ROOMY, tenant: ROOMY } }) }),
      queue.add({ taskId, run: 1, cause: "created", ...(inTurns && { share: shareOf(call) }) }),
    ]);
  }

  await inParallel(CLIENTS, stage.some(WAITING), () => create("noisy"));
  const consumer = await backend.consumeRuns({
    concurrency: CONCURRENCY,
    async run({ taskId }) {
      const fromMs = createdAtMs.get(taskId);
      if (fromMs !== undefined) waitedMs.push(performance.now() - fromMs);
      await store.begin({ taskId, run: 1, token: ids.token(), nowMs: backend.now(), leaseMs: 60_000 });
      await store.cancel({ taskId, nowMs: backend.now(), message: "" });
    },
    sweep: async () => undefined,
  });
  for (let call = 0; call < stage.some(QUIET_CALLS); call += 1) {
    await create("quiet");
    await new Promise((resolve) => setTimeout(resolve, QUIET_EVERY_MS));
  }
  while (waitedMs.length < stage.some(QUIET_CALLS)) await new Promise((resolve) => setTimeout(resolve, QUIET_EVERY_MS));
  await consumer.close();
  await stage.redis.flushall();
  await backend.close();
  return { p50: quantile(waitedMs, 0.5), p99: quantile(waitedMs, 0.99) };
}

export const fairness: Benchmark = {
  name: "fairness",
  group: `A quiet tenant beside ${WAITING.toLocaleString("en")} waiting tasks of a noisy one (floor: the order of arrival)`,
  rounds: 1,
  alone: true,
  open: async (stage) => ({ floor: () => beside(stage, "arrival"), parley: () => beside(stage, "turns") }),
  metrics: [
    { metric: "the quiet tenant's wait for a run, p50", figure: "p50", unit: "ms" },
    { metric: "p99", figure: "p99", unit: "ms", target: atMost(100, "ms") },
  ],
};
