/**
 * The floor: what the components do without Parley. Takes PORT and REDIS_URL.
 *
 *   POST /mcp     Fastify and one HGETALL of the key that PUT /key named
 *   POST /create  Fastify, one HSET and one BullMQ job, in one burst
 *   POST /jobs    BullMQ alone, in this process
 *   POST /listen  a stream of Fastify's that sends one message and stays open
 */
import { Queue } from "bullmq";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { type Jobs, runJobs } from "./jobs.ts";

const redisUrl = process.env["REDIS_URL"] ?? "";
const redis = new Redis(redisUrl, { enableAutoPipelining: true, maxRetriesPerRequest: null });
const queue = new Queue("created", { connection: redis, prefix: "bench-floor" });
let key = "";
let created = 0;

const app = Fastify({ logger: false });
app.get("/readyz", async () => "ok");
app.put<{ Body: { key: string } }>("/key", async ({ body }) => {
  ({ key } = body);
  return {};
});
app.post("/mcp", async () => ({ jsonrpc: "2.0", id: 1, result: await redis.hgetall(key) }));
app.post("/create", async ({ body }) => {
  created += 1;
  const call = JSON.stringify(body);
  await Promise.all([
    redis.hset(`bench-floor:${created}`, { state: "working", call }),
    queue.add("created", {}, { jobId: `c-${created}` }),
  ]);
  return { jsonrpc: "2.0", id: 1, result: { taskId: created } };
});
app.post("/forget", async () => {
  await queue.obliterate({ force: true });
  for (; created > 0; created -= 1) await redis.del(`bench-floor:${created}`);
  return {};
});
app.post<{ Body: Jobs }>("/jobs", ({ body }) => runJobs(redisUrl, body));
app.post("/listen", (_request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, { "content-type": "text/event-stream" });
  const told = { jsonrpc: "2.0", method: "notifications/tasks", params: { status: "input_required" } };
  reply.raw.write(`data: ${JSON.stringify(told)}\n\n`);
});
await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) });
process.once("SIGTERM", () => process.exit(0));
