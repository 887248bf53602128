/** Logs and progress of upstreams that hold nothing, over real HTTP. Those of classic upstreams are in upstream-call.test.ts and taskless.test.ts. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { json, text } from "node:stream/consumers";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import type { FeedItem } from "@parley/core";
import { afterEach, expect, test } from "vitest";
import { createSessionServer } from "../../../test/support/session-server.ts";
import type { CallRequest } from "../wire/call-request.ts";
import { startCall } from "./upstream-call.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { aRequest, leading, someDeps, upstreamOverHttp } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Calls the tool, polls its task if it has one, and returns what was reported. */
async function reported(serve: Serve, more: Partial<CallRequest> = {}): Promise<readonly FeedItem[]> {
  const { fetch, upstream } = await upstreamOverHttp((request, response) => void serve(request, response), {}, { closers });
  const connector = createConnector({ fetch, version: "1", deployment: "d" });
  const items: FeedItem[] = [];
  let round: CallRequest["round"];
  for (;;) {
    const call = startCall("1", aRequest({ upstream, ...more, ...(round && { round }) }), someDeps(connector));
    const event = await call.next([], { ...leading(), report: (item) => void items.push(item) });
    if (event.type === "result") return items;
    if (event.type !== "required" || !event.task) throw new Error(`${event.type} came in place of a result: ${JSON.stringify(event)}`);
    await call.close({ continues: true });
    round = { responses: {}, task: { id: event.task.id, asked: [] } };
  }
}

const LOGS: readonly FeedItem[] = [
  { type: "log", level: "debug", data: { step: 1 } },
  { type: "log", level: "warning", data: "careful", logger: "engine" },
];

test("of 2026-07-28 are asked for, because such a server sends none otherwise", async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "logs", version: "1" }, { capabilities: { logging: {} } });
    server.registerTool("tool", {}, async ({ mcpReq }) => {
      await mcpReq.log("debug", { step: 1 });
      await mcpReq.log("warning", "careful", "engine");
      return { content: [] };
    });
    return server;
  });
  const items = await reported(async (request, response) => {
    const { method = "GET", headers } = request;
    const body = method === "POST" ? await text(request) : undefined;
    const given = new Request("http://localhost/", { method, headers: headers as Record<string, string>, ...(body && { body }) });
    const answer = await handler.fetch(given);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  expect(items).toEqual(LOGS);
});

const RESULT = { content: [] };

test("of its tasks come with the call and with each poll, if their level is one of MCP", async () => {
  const answers: Record<string, object> = {
    "server/discover": {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
      serverInfo: { name: "tasks", version: "1" },
    },
    "tools/call": { resultType: "task", taskId: "one", status: "working", pollIntervalMs: 1 },
    "tasks/get": { taskId: "one", status: "completed", result: RESULT },
  };
  const items = await reported(async (request, response) => {
    const { id, method, params } = (await json(request)) as { id: number; method: string; params: { _meta?: Record<string, unknown> } };
    const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...answers[method] };
    const log = (data: string, level = params._meta?.["io.modelcontextprotocol/logLevel"]) => ({
      method: "notifications/message",
      params: { level, data },
    });
    const logs = method === "server/discover" ? [] : [log(method), log(method, "loud")];
    const messages = [...logs, { id, result }].map((message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(messages.join(""));
  });
  expect(items).toEqual(["tools/call", "tasks/get"].map((data) => ({ type: "log", level: "debug", data })));
});

test("of a task of 2025-11-25 come with its result, as its progress does", async () => {
  const { serve } = createSessionServer(() => {
    const taskStore = new InMemoryTaskStore();
    closers.push(() => taskStore.cleanup());
    const tasks = { requests: { tools: { call: {} } } };
    const server = new Server(
      { name: "tasks", version: "1" },
      { capabilities: { tools: {}, logging: {}, tasks }, taskStore, taskMessageQueue: new InMemoryTaskMessageQueue() },
    );
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { taskStore: store, _meta }) => {
      const { taskId, ...rest } = await store!.createTask({ ttl: params.task?.ttl ?? null, pollInterval: 1 });
      const tell = (method: string, more: object) => server.notification({ method, params: more } as never, { relatedTask: { taskId } });
      await tell("notifications/message", { level: "debug", data: { step: 1 } });
      await tell("notifications/progress", { progressToken: _meta?.progressToken, progress: 0.5 });
      await tell("notifications/message", { level: "warning", data: "careful", logger: "engine" });
      await store!.storeTaskResult(taskId, "completed", RESULT);
      return { task: { taskId, ...rest } };
    });
    return server;
  });
  expect(await reported(serve, { asTask: true })).toEqual([LOGS[0], { type: "progress", progress: 0.5 }, LOGS[1]]);
});
