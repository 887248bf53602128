/**
 * A lifecycle (call, question, answer, result) with clients that poll at once, then after 20 ms, doubling each time.
 *
 * The floor is the two BullMQ jobs of a lifecycle and nothing else. The peer keeps its tasks in memory, pushes the question on the stream
 * of `tasks/result`, and polls every 20 ms. The durable peer is measured with the same client as Parley.
 */
import type { Benchmark, Figures } from "../benchmark.ts";
import { type Client, createClient } from "../client.ts";
import { cost, type CostOf } from "../cost.ts";
import type { JobsDone } from "../floor/jobs.ts";
import { ARGUMENTS, lifecycle } from "../lifecycle.ts";
import { inParallel, median, quantile } from "../measure.ts";
import { finishTask, openSession, parkedTask } from "../session.ts";
import { atLeast, atMost, type Target } from "../target.ts";

const CLIENTS = [1, 10, 50, 200];
const COUNTS: Readonly<Record<number, number>> = { 1: 200, 10: 1_000, 50: 2_000, 200: 2_000 };
/** The peer waits out its 20 ms at the end of each. */
const PEERS_COUNT_OF_ONE = 60;
/** It takes some seconds for these. With 50 clients nearly each round loses a task, which is waited for in vain. */
const DURABLE_COUNTS: Readonly<Record<number, number>> = { 1: 40, 10: 100 };

export const lifecycles: readonly Benchmark[] = CLIENTS.map((clients) => ({
  name: `lifecycle-${clients}`,
  group: `Lifecycle, ${clients} client${clients === 1 ? "" : "s"} (call, question, answer, result)`,
  async open({ some, redis, frontEnd, worker, floor, peer, durablePeer }) {
    const count = some(COUNTS[clients] ?? 0);
    const client = createClient(`${frontEnd.url}/mcp`, clients);
    const sessions = await Promise.all(Array.from({ length: clients }, () => openSession({ url: `${peer.url}/mcp` })));
    const durableCount = some(DURABLE_COUNTS[clients] ?? 0);
    const durable = durablePeer && createClient(`${durablePeer.url}/mcp`, clients);

    return {
      async floor() {
        let done: JobsDone | undefined;
        const each = await cost({ redis, processes: { worker: floor }, operations: count }, async () => {
          const response = await fetch(`${floor.url}/jobs`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ clients, chains: count, jobs: 2 }),
          });
          done = (await response.json()) as JobsDone;
        });
        return { ...each, ...rates(done?.chains ?? [], done?.wallMs ?? 0) };
      },
      peer: () => {
        const free = [...sessions];
        return measured({ processes: { frontEnd: peer }, operations: clients === 1 ? some(PEERS_COUNT_OF_ONE) : count }, async () => {
          const session = free.pop();
          if (!session) throw new Error("more at once than there are sessions");
          await finishTask(session, await parkedTask(session, "ask", ARGUMENTS));
          free.push(session);
        });
      },
      ...(durablePeer &&
        durable &&
        durableCount > 0 && {
          durablePeer: () => of(durable, { redis: durablePeer.redis, processes: { durablePeer }, operations: durableCount }),
        }),
      parley: () => of(client, { redis, processes: { frontEnd, worker }, operations: count }),
      async close() {
        client.close();
        durable?.close();
        for (const session of sessions) session.close();
      },
    };

    async function of(client: Client, costs: CostOf): Promise<Figures> {
      let gets = 0;
      const counted: Client = { ...client, get: (taskId) => ((gets += 1), client.get(taskId)) };
      const figures = await measured(costs, () => lifecycle(counted));
      return { ...figures, gets: gets / costs.operations };
    }

    async function measured(of: CostOf, work: () => Promise<void>): Promise<Figures> {
      let latencies: readonly number[] = [];
      let wallMs = 0;
      const each = await cost(of, async () => {
        ({ latencies, wallMs } = await inParallel(clients, of.operations, work));
      });
      return { ...each, ...rates(latencies, wallMs) };
    }
  },
  metrics: [
    {
      metric: "p50",
      figure: "p50",
      unit: "ms",
      point: { chart: "lifecycle-latency", x: clients },
      ...only(clients === 1, atMost(6, "ms")),
    },
    { metric: "p99", figure: "p99", unit: "ms" },
    {
      metric: "per second",
      figure: "perSecond",
      unit: "/s",
      point: { chart: "lifecycle-rate", x: clients },
      ...only(clients === 50, atLeast(750, "/s")),
    },
    {
      metric: "CPU of front end and worker",
      figure: "cpuMs",
      unit: "ms",
      ...only(clients === 50, atMost(1.6, "ms")),
    },
    { metric: "CPU of the front end", figure: "frontEndCpuMs", unit: "ms" },
    { metric: "CPU of the worker", figure: "workerCpuMs", unit: "ms" },
    { metric: "looks (`tasks/get`); 2 if each finds what it waits for", figure: "gets", unit: "" },
    { metric: "CPU of Redis", figure: "redisCpuMs", unit: "ms" },
    { metric: "Redis commands, those in scripts among them", figure: "commands", unit: "" },
    {
      metric: "Redis reads from sockets",
      figure: "reads",
      unit: "",
      ...only(clients === 1, atMost(18, "")),
      ...only(clients === 50, atMost(8, "")),
    },
    { metric: "bytes to Redis", figure: "bytesIn", unit: "B" },
    { metric: "bytes from Redis", figure: "bytesOut", unit: "B" },
  ],
}));

function rates(latencies: readonly number[], wallMs: number): Figures {
  return { p50: median(latencies), p99: quantile(latencies, 0.99), perSecond: (latencies.length / wallMs) * 1_000 };
}

function only(applies: boolean, target: Target): { target?: Target } {
  return applies ? { target } : {};
}
