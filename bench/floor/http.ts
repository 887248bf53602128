/** The floor of tasks/get: Fastify and one HGETALL, nothing of ours in between. Takes PORT, REDIS_URL and the KEY to read. */
import Fastify from "fastify";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "", { enableAutoPipelining: true });
const key = process.env["KEY"] ?? "";
const app = Fastify({ logger: false });
app.post("/mcp", async () => ({ jsonrpc: "2.0", id: 1, result: await redis.hgetall(key) }));
app.get("/readyz", async () => "ok");
await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) });
process.once("SIGTERM", () => process.exit(0));
