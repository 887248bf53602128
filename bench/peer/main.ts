/**
 * The peer: the TypeScript SDK v1 as its examples use it, with its tasks in memory and the same tool. Takes PORT.
 *
 * Each session has its own server and transport; they share the store. Its tasks poll every 20 ms here; the default is a second.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const POLL_MS = 20;
const TTL_MS = 600_000;
const taskStore = new InMemoryTaskStore();
const taskMessageQueue = new InMemoryTaskMessageQueue();
const sessions = new Map<string, StreamableHTTPServerTransport>();

const INPUT = { note: z.string() };
const QUESTION = {
  mode: "form" as const,
  message: "How many?",
  requestedSchema: {
    type: "object" as const,
    properties: { size: { type: "integer" as const, minimum: 1, maximum: 20 } },
    required: ["size"],
  },
};
const wentOn = () => ({ content: [{ type: "text" as const, text: String(process.hrtime.bigint()) }] });

function createMcpServer(): McpServer {
  const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
  const server = new McpServer({ name: "peer", version: "1" }, { capabilities, taskStore, taskMessageQueue });
  server.experimental.tasks.registerToolTask(
    "ask",
    { inputSchema: INPUT, execution: { taskSupport: "required" } },
    {
      async createTask(_args, extra) {
        const task = await extra.taskStore.createTask({ ttl: TTL_MS, pollInterval: POLL_MS });
        const { taskId } = task;
        await extra.taskStore.updateTaskStatus(taskId, "input_required");
        // It is put on the stream of the `tasks/result` that comes for it.
        const ended = server.server
          .request({ method: "elicitation/create", params: QUESTION }, ElicitResultSchema, { relatedTask: { taskId }, timeout: TTL_MS })
          .then(() => taskStore.storeTaskResult(taskId, "completed", wentOn(), extra.sessionId));
        ended.catch((error: unknown) => console.error("a task of the peer failed", error));
        return { task };
      },
      getTask: async (_args, { taskId, taskStore: store }) => await store.getTask(taskId),
      getTaskResult: async (_args, { taskId, taskStore: store }) => ({ content: [], ...(await store.getTaskResult(taskId)) }),
    },
  );
  server.registerTool("ask_held", { inputSchema: INPUT }, async (_args, extra) => {
    await extra.sendRequest({ method: "elicitation/create", params: QUESTION }, ElicitResultSchema);
    return wentOn();
  });
  return server;
}

async function sessionOf(request: IncomingMessage): Promise<StreamableHTTPServerTransport> {
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  if (known) return known;
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  // The SDK's own types do not agree with exactOptionalPropertyTypes.
  await createMcpServer().connect(transport as never);
  return transport;
}

async function body(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

// Its clients are idle while the others are measured: a connection that it closed meanwhile would fail their next request.
const http = createServer((request, response) => {
  if (request.url === "/readyz") return void response.end("ok");
  const handled = (async () => {
    const transport = await sessionOf(request);
    await transport.handleRequest(request, response, await body(request));
  })();
  handled.catch((error: unknown) => {
    console.error("a request of the peer failed", error);
    response.destroy();
  });
});
http.keepAliveTimeout = TTL_MS;
http.listen(Number(process.env["PORT"]), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));
