/**
 * The time from the moment at which the client sends its answer until the handler's next line runs in the worker, by the clock that all
 * processes of a machine share. The floor is BullMQ's add → start.
 */
import type { Benchmark, Figures } from "../benchmark.ts";
import { type Client, createClient } from "../client.ts";
import type { JobsDone } from "../floor/jobs.ts";
import { answersTo, ARGUMENTS, parked, pollUntil } from "../lifecycle.ts";
import { inParallel, median, quantile } from "../measure.ts";
import { finishTask, openSession, parkedTask } from "../session.ts";
import { atMost } from "../target.ts";

export const resumes: readonly Benchmark[] = [1, 50].map((clients) => ({
  name: `resume-${clients}`,
  group: `Answer → the handler continues, ${clients} client${clients === 1 ? "" : "s"}`,
  async open({ some, frontEnd, floor, peer, durablePeer }) {
    const count = some(clients === 1 ? 200 : 1_000);
    const client = createClient(`${frontEnd.url}/mcp`, clients);
    const sessions = await Promise.all(Array.from({ length: clients }, () => openSession({ url: `${peer.url}/mcp` })));
    const durable = durablePeer && createClient(`${durablePeer.url}/mcp`, clients);
    return {
      async floor() {
        const response = await fetch(`${floor.url}/jobs`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ clients, chains: count, jobs: 1 }),
        });
        return quantiles(((await response.json()) as JobsDone).starts);
      },
      async peer() {
        const free = [...sessions];
        const took: number[] = [];
        await inParallel(clients, clients === 1 ? some(60) : count, async () => {
          const session = free.pop();
          if (!session) throw new Error("more at once than there are sessions");
          const taskId = await parkedTask(session, "ask", ARGUMENTS);
          let sentAt = 0n;
          const result = await finishTask<Result>(session, taskId, () => (sentAt = process.hrtime.bigint()));
          took.push(milliseconds(sentAt, result));
          free.push(session);
        });
        return quantiles(took);
      },
      ...(durable && clients === 1 && { durablePeer: () => answered(durable, "ask", some(20)) }),
      parley: () => answered(client, "ask_when", count),
      async close() {
        client.close();
        durable?.close();
        for (const session of sessions) session.close();
      },
    };

    async function answered(asked: Client, tool: string, lifecycles: number): Promise<Figures> {
      const took: number[] = [];
      await inParallel(clients, lifecycles, async () => {
        const { taskId, inputRequests } = await parked(asked, tool);
        const sentAt = process.hrtime.bigint();
        await asked.answer(taskId, answersTo(inputRequests));
        const { result } = await pollUntil(asked, taskId, "completed");
        took.push(milliseconds(sentAt, result));
      });
      return quantiles(took);
    }
  },
  metrics: [
    {
      metric: "p50",
      figure: "p50",
      unit: "ms",
      target: atMost(clients === 1 ? 2 : 25, "ms"),
    },
    { metric: "p99", figure: "p99", unit: "ms" },
  ],
}));

interface Result {
  readonly content?: readonly { readonly text?: string }[];
}

function milliseconds(sentAt: bigint, result: Result | undefined): number {
  const wentOnAt = BigInt(result?.content?.[0]?.text ?? "0");
  if (wentOnAt < sentAt) throw new Error("the handler did not say when it went on");
  return Number(wentOnAt - sentAt) / 1e6;
}

function quantiles(took: readonly number[]) {
  return { p50: median(took), p99: quantile(took, 0.99) };
}
