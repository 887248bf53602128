/** `tasks/get` of a task at rest. Compared with Fastify and one HGETALL of the same hash, and with peers that read from memory and from Redis. */
import type { Benchmark } from "../benchmark.ts";
import { createClient, type Message, message, type TaskState } from "../client.ts";
import { flood } from "../flood.ts";
import { ARGUMENTS, parked } from "../lifecycle.ts";
import { openSession, parkedTask } from "../session.ts";
import type { Served } from "../ground.ts";
import { atLeastOfFloor, atMost } from "../target.ts";

const SECONDS = 4;

export const tasksGet: Benchmark = {
  name: "tasks-get",
  group: "Reading a task (`tasks/get`, 10 connections)",
  async open({ quick, redis, frontEnd, floor, peer, durablePeer }) {
    const { taskId } = await parkedAt(frontEnd);
    const [key = ""] = await redis.keys(`*:task:${taskId}`);
    await fetch(`${floor.url}/key`, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ key }) });
    const session = await openSession({ url: `${peer.url}/mcp` });
    const peersTask = await parkedTask(session, "ask", ARGUMENTS);
    const get = getOf(taskId);
    const durableGet = durablePeer && getOf((await parkedAt(durablePeer)).taskId);
    const peersGet = {
      headers: { ...session.headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: peersTask } }),
    };
    const seconds = quick ? 1 : SECONDS;
    return {
      floor: () => flood({ redis, process: floor, url: `${floor.url}/mcp`, message: get, seconds }),
      peer: () => flood({ process: peer, url: `${peer.url}/mcp`, message: peersGet, seconds }),
      ...(durablePeer &&
        durableGet && {
          durablePeer: () =>
            flood({ redis: durablePeer.redis, process: durablePeer, url: `${durablePeer.url}/mcp`, message: durableGet, seconds }),
        }),
      parley: () => flood({ redis, process: frontEnd, url: `${frontEnd.url}/mcp`, message: get, seconds }),
      close: async () => session.close(),
    };
  },
  metrics: [
    {
      metric: "per second of CPU",
      figure: "perCpuSecond",
      unit: "/s",
      target: atLeastOfFloor(0.7),
    },
    { metric: "per second", figure: "perSecond", unit: "/s" },
    { metric: "CPU of the front end", figure: "cpuMs", unit: "ms" },
    { metric: "CPU of Redis", figure: "redisCpuMs", unit: "ms" },
    { metric: "Redis commands", figure: "commands", unit: "", target: atMost(1.1, "") },
    { metric: "Redis reads from sockets", figure: "reads", unit: "", target: atMost(1.1, "") },
    { metric: "bytes to Redis", figure: "bytesIn", unit: "B" },
    { metric: "bytes from Redis", figure: "bytesOut", unit: "B" },
  ],
};

async function parkedAt({ url }: Served): Promise<TaskState> {
  const client = createClient(`${url}/mcp`, 1);
  try {
    return await parked(client);
  } finally {
    client.close();
  }
}

function getOf(taskId: string): Message {
  return message("tasks/get", { taskId }, taskId);
}
