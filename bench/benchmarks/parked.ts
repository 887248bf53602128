/** Ten thousand tasks that wait for a person, parked by clients: their memory in Redis and in the processes, and how fast they continue. */
import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Benchmark, Figures } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { usedMemory } from "../cost.ts";
import { liveHeapBytes } from "../heap.ts";
import { ANSWER, ARGUMENTS, parked, pollUntil } from "../lifecycle.ts";
import { inParallel } from "../measure.ts";
import { openSession, parkedTask } from "../session.ts";
import type { DurablePeer } from "../stage.ts";
import { atMost } from "../target.ts";

const COUNT = 10_000;
const PEERS_COUNT = 2_000;
const DURABLE_COUNT = 200;
const DURABLE_CLIENTS = 10;
const CLIENTS = 50;
const COMPACT = ["hash-max-listpack-value", "1024"] as const;
const AS_SHIPPED = ["hash-max-listpack-value", "64"] as const;

export const parkedTasks: Benchmark = {
  name: "parked",
  group: `Parked tasks (${COUNT.toLocaleString("en")} with 300 B of arguments; peers ${PEERS_COUNT.toLocaleString("en")} and ${DURABLE_COUNT})`,
  rounds: 1,
  async open({ some, redis, frontEnd, worker, peer, durablePeer }) {
    const client = createClient(`${frontEnd.url}/mcp`, CLIENTS);
    return {
      async peer() {
        const count = some(PEERS_COUNT);
        const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => openSession({ url: `${peer.url}/mcp` })));
        const before = { live: await liveHeapBytes(peer.inspectorPort), resident: peer.memoryBytes() };
        const free = [...sessions];
        await inParallel(CLIENTS, count, async () => {
          const session = free.pop();
          if (!session) throw new Error("more at once than there are sessions");
          await parkedTask(session, "ask", ARGUMENTS);
          free.push(session);
        });
        const live = (await liveHeapBytes(peer.inspectorPort)) - before.live;
        const resident = peer.memoryBytes() - before.resident;
        for (const session of sessions) session.close();
        return { live: live / count, resident: resident / count };
      },
      ...(durablePeer && { durablePeer: () => parkedAt(durablePeer, some(DURABLE_COUNT)) }),
      async parley() {
        const count = some(COUNT);
        const memory = async () => ({
          redis: await usedMemory(redis),
          live: await liveHeapBytes(worker.inspectorPort),
          resident: worker.memoryBytes(),
        });
        const taskIds: string[] = [];
        const park = () => inParallel(CLIENTS, count, async () => void taskIds.push((await parked(client)).taskId));
        const finish = () =>
          inParallel(CLIENTS, taskIds.length, async () => {
            const taskId = taskIds.pop() ?? "";
            await client.answer(taskId, ANSWER);
            await pollUntil(client, taskId, "completed");
          });
        const before = await memory();
        const parking = await park();
        const jobs = await jobsLeft(redis);
        const after = await memory();
        const going = await finish();

        await redis.config("SET", ...COMPACT);
        const finished = await usedMemory(redis);
        await park();
        const compact = (await usedMemory(redis)) - finished;
        await redis.config("SET", ...AS_SHIPPED);
        await finish();
        return {
          redis: (after.redis - before.redis) / count,
          compact: compact / count,
          live: (after.live - before.live) / count,
          resident: (after.resident - before.resident) / count,
          jobs,
          parkedPerSecond: (count / parking.wallMs) * 1_000,
          finishedPerSecond: (count / going.wallMs) * 1_000,
        };
      },
      close: async () => client.close(),
    };
  },
  metrics: [
    { metric: "Redis memory per task", figure: "redis", unit: "B", target: atMost(1_300, "B") },
    { metric: `Redis memory per task with \`${COMPACT.join(" ")}\``, figure: "compact", unit: "B", target: atMost(900, "B") },
    // A collection does not leave the same heap twice: what is under a hundred bytes is none.
    {
      metric: "live heap of the worker per task, after a collection",
      figure: "live",
      unit: "B",
      target: atMost(100, "B"),
    },
    { metric: "resident memory of the worker per task, garbage and all", figure: "resident", unit: "B" },
    { metric: "jobs in BullMQ while they wait", figure: "jobs", unit: "", target: atMost(0, "") },
    { metric: "parked per second, 50 clients", figure: "parkedPerSecond", unit: "/s" },
    { metric: "answered and completed per second, 50 clients", figure: "finishedPerSecond", unit: "/s" },
  ],
};

/** Its front end works in the same process, and both have been up for a while. */
async function parkedAt({ url, redis, memoryBytes }: DurablePeer, count: number): Promise<Figures> {
  const client = createClient(`${url}/mcp`, DURABLE_CLIENTS);
  const before = { redis: await usedMemory(redis), resident: memoryBytes() };
  await inParallel(DURABLE_CLIENTS, count, async () => void (await parked(client)));
  client.close();
  return { redis: ((await usedMemory(redis)) - before.redis) / count, resident: (memoryBytes() - before.resident) / count };
}

/** Of the run queue, in any state, once the worker has put the last one away. */
async function jobsLeft(connection: Redis): Promise<number> {
  const [key = ""] = await connection.keys("*:run:meta");
  const queue = new Queue("run", { connection, prefix: key.slice(0, -":run:meta".length) });
  const count = async () => Object.values(await queue.getJobCounts()).reduce((sum, jobs) => sum + jobs, 0);
  try {
    for (let look = 0; look < 20 && (await count()) > 0; look += 1) await new Promise((resolve) => setTimeout(resolve, 100));
    return await count();
  } finally {
    await queue.close();
  }
}
