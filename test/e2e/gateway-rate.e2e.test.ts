/** How often upstreams may ask one caller, or one session without identity (PARLEY_ELICITATIONS_RATE): counted across two workers, and reported to the upstream. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, message, type TaskState } from "../../bench/client.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { createSessionServer } from "../support/session-server.ts";
import { until } from "../support/until.ts";
import { writeUpstreams } from "../support/upstream.ts";

/** One every half a minute, so that a slow machine makes no room meanwhile. */
const RATE = 2;

let redis: TestRedis;
let upstream: Server;
let front: FrontEnd;
let workers: readonly Launched[] = [];
let folder: string;

function asking(): McpServer {
  const server = new McpServer({ name: "crm", version: "1" }, { capabilities: { tools: {} } });
  server.registerTool("ask", {}, async () => {
    const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } } } as const;
    const said = await server.server.elicitInput({ mode: "form", message: "Well?", requestedSchema }).then(
      ({ action }) => action,
      ({ code, data }: { code: number; data?: unknown }) => JSON.stringify({ code, data }),
    );
    return { content: [{ type: "text", text: said }] };
  });
  return server;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-gateway-rate-"));
  const sessions = createSessionServer(asking);
  upstream = createServer((request, response) => void sessions.serve(request, response)).listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  redis = openTestRedis();
  const env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_UPSTREAMS: await writeUpstreams(folder, [{ name: "crm", url }]),
    PARLEY_ELICITATIONS_RATE: String(RATE),
  };
  const [started, ...backs] = await Promise.all([startFrontEnd(env), startWorkerProcess(env), startWorkerProcess(env)]);
  front = started;
  workers = backs;
  await until(async () => {
    const { headers, body } = message("tools/list", {}, "");
    const { "mcp-name": _, ...rest } = headers;
    return (await (await fetch(`${front.url}/mcp`, { method: "POST", headers: rest, body })).text()).includes("crm_ask");
  });
});

afterAll(async () => {
  upstream?.closeAllConnections();
  upstream?.close();
  await Promise.all([front, ...workers].map((each) => each?.kill()));
  await redis?.close();
  await rm(folder, { recursive: true, force: true });
});

test("a caller is asked up to the limit; one question more gets an error that says when to retry", async () => {
  const client = createClient(`${front.url}/mcp`, 4);
  const tasks = await Promise.all(
    Array.from({ length: RATE + 2 }, async (): Promise<TaskState> => {
      const { taskId } = await client.call("crm_ask", {});
      let task = await client.get(taskId);
      await until(async () => (task = await client.get(taskId)).status !== "working");
      return task;
    }),
  );
  const refused = tasks.filter(({ status }) => status === "completed");
  expect(tasks.filter(({ status }) => status === "input_required")).toHaveLength(RATE);
  expect(refused).toHaveLength(2);
  for (const { result } of refused) {
    const { code, data } = JSON.parse(result?.content?.[0]?.text ?? "") as { code: number; data: { retryAfterMs: number } };
    expect(code).toBe(-32000);
    expect(data.retryAfterMs).toBeGreaterThan(0);
    expect(data.retryAfterMs).toBeLessThanOrEqual(60_000 / RATE);
  }
  const keys = (await redis.keys()).filter((key) => key.includes(":rate:"));
  expect(keys).toHaveLength(1);
  expect(await redis.redis.pttl(keys[0]!)).toBeGreaterThan(0);
  client.close();
});

test("without identity, a session that used up its rate leaves the others theirs", async () => {
  const open = async () => {
    const client = new Client({ name: "person", version: "1" }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));
    await client.connect(new StreamableHTTPClientTransport(new URL(`${front.url}/mcp`)) as never);
    return client;
  };
  const [one, other] = [await open(), await open()];
  const said = async (client: Client) => {
    const { content } = (await client.callTool({ name: "crm_ask", arguments: {} })) as { content: { text: string }[] };
    return content[0]?.text;
  };
  for (let asked = 0; asked < RATE; asked += 1) expect(await said(one)).toBe("decline");
  expect(JSON.parse((await said(one)) ?? "")).toMatchObject({ code: -32000, data: { reason: "limit" } });
  expect(await said(other)).toBe("decline");
  await Promise.all([one.close(), other.close()]);
});
