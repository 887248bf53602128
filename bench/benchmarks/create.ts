/** `tools/call` that creates a task. Compared with Fastify with one HSET and one BullMQ job, and with the peer, which stores the task in a map. */
import type { Benchmark } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { cost, type CostOf } from "../cost.ts";
import { ARGUMENTS } from "../lifecycle.ts";
import { inParallel, median } from "../measure.ts";
import { exchange } from "../exchange.ts";
import { openSession } from "../session.ts";
import { Agent } from "node:http";

const CLIENTS = 10;

export const create: Benchmark = {
  name: "create",
  group: "Creating a task (`tools/call`, 10 clients)",
  async open({ some, redis, frontEnd, worker, floor, peer }) {
    const operations = some(2_000);
    const client = createClient(`${frontEnd.url}/mcp`, CLIENTS);
    const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => openSession({ url: `${peer.url}/mcp` })));
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask", arguments: ARGUMENTS } });

    const measured = async (of: Omit<CostOf, "operations">, work: (number: number) => Promise<unknown>) => {
      let latencies: number[] = [];
      let wallMs = 0;
      let number = 0;
      const each = await cost({ ...of, operations }, async () => {
        ({ latencies, wallMs } = await inParallel(CLIENTS, operations, async () => void (await work((number += 1)))));
      });
      return { ...each, p50: median(latencies), perSecond: (operations / wallMs) * 1_000 };
    };
    return {
      async floor() {
        const figures = await measured(
          { redis, processes: { frontEnd: floor } },
          () => exchange({ url: `${floor.url}/create`, agent, headers, body }, ignore).ended,
        );
        await exchange({ url: `${floor.url}/forget`, agent, headers, body: "{}" }, ignore).ended;
        return figures;
      },
      peer: () =>
        measured({ processes: { frontEnd: peer } }, async (number) => {
          const params = { name: "ask", arguments: ARGUMENTS, task: { ttl: 60_000 } };
          await sessions[number % CLIENTS]?.request("tools/call", params);
        }),
      parley: () => measured({ redis, processes: { frontEnd, worker } }, () => client.call("ask", ARGUMENTS)),
      async close() {
        client.close();
        agent.destroy();
        for (const session of sessions) session.close();
      },
    };
  },
  metrics: [
    { metric: "p50", figure: "p50", unit: "ms" },
    { metric: "per second; Parley's worker runs each task to its question meanwhile", figure: "perSecond", unit: "/s" },
    { metric: "CPU of the front end", figure: "frontEndCpuMs", unit: "ms" },
    { metric: "CPU of the worker, to the question", figure: "workerCpuMs", unit: "ms" },
    { metric: "CPU of Redis", figure: "redisCpuMs", unit: "ms" },
  ],
};

function ignore(): void {}
