/** `tasks/get` of a task at rest, beside Fastify with one HGETALL of the same hash, and the peer's `tasks/get` out of its memory. */
import type { Benchmark } from "../benchmark.ts";
import { createClient, message } from "../client.ts";
import { flood } from "../flood.ts";
import { ARGUMENTS, parked } from "../lifecycle.ts";
import { openSession, parkedTask } from "../session.ts";
import { atLeastOfFloor, atMost } from "../target.ts";

const SECONDS = 4;

export const tasksGet: Benchmark = {
  name: "tasks-get",
  group: "Reading a task (`tasks/get`, 10 connections)",
  async open({ quick, redis, frontEnd, floor, peer }) {
    const client = createClient(`${frontEnd.url}/mcp`, 1);
    const { taskId } = await parked(client);
    client.close();
    const [key = ""] = await redis.keys(`*:task:${taskId}`);
    await fetch(`${floor.url}/key`, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ key }) });
    const session = await openSession({ url: `${peer.url}/mcp` });
    const peersTask = await parkedTask(session, "ask", ARGUMENTS);
    const get = message("tasks/get", { taskId }, taskId);
    const peersGet = {
      headers: { ...session.headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: peersTask } }),
    };
    const seconds = quick ? 1 : SECONDS;
    return {
      floor: () => flood({ redis, process: floor, url: `${floor.url}/mcp`, message: get, seconds }),
      peer: () => flood({ process: peer, url: `${peer.url}/mcp`, message: peersGet, seconds }),
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
      elsewhere: "190–220/s",
    },
    { metric: "per second", figure: "perSecond", unit: "/s" },
    { metric: "CPU of the front end", figure: "cpuMs", unit: "ms" },
    { metric: "CPU of Redis", figure: "redisCpuMs", unit: "ms" },
    { metric: "Redis commands", figure: "commands", unit: "", target: atMost(1.1, "") },
    { metric: "Redis reads from sockets", figure: "reads", unit: "", target: atMost(1.1, ""), elsewhere: "15" },
    { metric: "bytes to Redis", figure: "bytesIn", unit: "B" },
    { metric: "bytes from Redis", figure: "bytesOut", unit: "B" },
  ],
};
