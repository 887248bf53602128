/** A held call of 2025-11-25: `tools/call` on a stream at one front end, the answer POSTed to the other, the result on the stream. */
import type { Benchmark, Figures } from "../benchmark.ts";
import { cost, type CostOf } from "../cost.ts";
import { ARGUMENTS } from "../lifecycle.ts";
import { inParallel, median, quantile } from "../measure.ts";
import { blockingLifecycle, openSession, type Session } from "../session.ts";

export const blockings: readonly Benchmark[] = [1, 50].map((clients) => ({
  name: `blocking-${clients}`,
  group: `Held call of 2025-11-25, answered at the other front end, ${clients} client${clients === 1 ? "" : "s"}`,
  async open({ some, redis, frontEnd, otherFrontEnd, worker, peer }) {
    const operations = some(clients === 1 ? 200 : 1_500);
    const open = (url: string, replyUrl: string) =>
      Promise.all(Array.from({ length: clients }, () => openSession({ url: `${url}/mcp`, replyUrl: `${replyUrl}/mcp` })));
    const ours = await open(frontEnd.url, otherFrontEnd.url);
    const peers = await open(peer.url, peer.url);
    return {
      // It cannot be answered at another process than the one that holds the call.
      peer: () => measured({ processes: { frontEnd: peer }, operations }, peers, "ask_held"),
      parley: () => measured({ redis, processes: { frontEnd, otherFrontEnd, worker }, operations }, ours, "ask_when"),
      async close() {
        for (const session of [...ours, ...peers]) session.close();
      },
    };

    async function measured(of: CostOf, sessions: readonly Session[], tool: string): Promise<Figures> {
      const free = [...sessions];
      let latencies: readonly number[] = [];
      let wallMs = 0;
      const each = await cost(of, async () => {
        ({ latencies, wallMs } = await inParallel(clients, operations, async () => {
          const session = free.pop();
          if (!session) throw new Error("more at once than there are sessions");
          await blockingLifecycle(session, tool, ARGUMENTS);
          free.push(session);
        }));
      });
      return { ...each, p50: median(latencies), p99: quantile(latencies, 0.99), perSecond: (operations / wallMs) * 1_000 };
    }
  },
  metrics: [
    { metric: "p50", figure: "p50", unit: "ms" },
    { metric: "p99", figure: "p99", unit: "ms" },
    { metric: "per second", figure: "perSecond", unit: "/s" },
    { metric: "CPU of both front ends and the worker", figure: "cpuMs", unit: "ms" },
    { metric: "CPU of Redis", figure: "redisCpuMs", unit: "ms" },
    { metric: "Redis commands, those in scripts among them", figure: "commands", unit: "" },
    { metric: "Redis reads from sockets", figure: "reads", unit: "" },
    { metric: "bytes to Redis", figure: "bytesIn", unit: "B" },
    { metric: "bytes from Redis", figure: "bytesOut", unit: "B" },
  ],
}));
