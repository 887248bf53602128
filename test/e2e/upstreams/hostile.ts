/**
 * An upstream that misbehaves. It uses no library, so that it can send what a library would not. It opens a session per `initialize` and
 * answers each call on a stream.
 *
 *   node hostile.ts [port]     prints its address
 *
 * GET /readings: how often its tools were listed; GET /flood: announces 5,000 times that they have changed.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const FORM = { type: "object", properties: { ok: { type: "boolean" } } };
const TOOLS = [
  "malformed",
  "unreadable",
  "nested",
  "one-id",
  "asked-twice",
  "pings",
  "after-end",
  "other-result",
  "no-result",
  "wrong-result",
  "two-results",
  "not-json",
  "endless-event",
  "endless-stream",
  "slow-bytes",
  "unknown-method",
  "large-log",
  "task-none",
  "task-unknown",
  "plain",
];

interface Reply {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string };
}

let sessions = 0;
let readings = 0;
const streams = new Set<ServerResponse>();
/** What was replied to a question, by its id. */
const replied = new Map<string, (reply: Reply) => void>();
const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const text = (said: unknown) => ({ content: [{ type: "text", text: JSON.stringify(said) }] });

function ask(stream: ServerResponse, id: string, params: unknown, method = "elicitation/create"): Promise<Reply> {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  replied.set(id, resolve);
  stream.write(event({ id, method, params }));
  return promise;
}

async function call(name: string, id: unknown, stream: ServerResponse): Promise<void> {
  const key = `${name}-${sessions}-${Math.random()}`;
  const end = (result: unknown) => stream.end(event({ id, result }));
  const form = (message: string, requestedSchema: unknown = FORM) => ({ mode: "form", message, requestedSchema });
  switch (name) {
    case "malformed": {
      const bad = [undefined, {}, { message: 5 }, form("?", "text"), form("?", {}), { ...form("?"), mode: "telepathy" }];
      const refused = await Promise.all(
        bad.map(async (params, index) => (await ask(stream, `${key}-${index}`, params)).error?.code ?? null),
      );
      return void end(text(refused));
    }
    case "unreadable":
      // Not a JSON-RPC message, so no response comes.
      return void end(text(await ask(stream, key, 7)));
    case "nested": {
      let schema: object = { type: "string" };
      for (let depth = 0; depth < 500; depth += 1) schema = { type: "object", properties: { deeper: schema } };
      return void end(text((await ask(stream, key, form("?", schema))).error?.code));
    }
    case "one-id":
      void ask(stream, key, form("first?"));
      return void ask(stream, key, form("second?"));
    case "asked-twice": {
      const reply = ask(stream, key, form("once?"));
      stream.write(event({ id: key, method: "elicitation/create", params: form("once?") }));
      return void end(text((await reply).result));
    }
    case "pings":
      // In one piece, before it reads any reply.
      stream.write(Array.from({ length: 20_000 }, (_, nth) => event({ id: `ping-${nth}`, method: "ping" })).join(""));
      return;
    case "after-end":
      stream.write(event({ id, result: text("ended") }));
      void ask(stream, key, form("too late?"));
      return;
    case "other-result":
      stream.write(event({ id: "nobody's", result: text("not yours") }));
      return void end(text("yours"));
    case "no-result":
      return void stream.end();
    case "wrong-result":
      return void end({ content: "no list" });
    case "two-results":
      stream.write(event({ id, result: text("first") }));
      return void end(text("second"));
    case "not-json":
      stream.write("data: {not json\n\n");
      return void end(text("after all"));
    case "endless-event":
      stream.write("data: ");
      return await pour(stream, "x".repeat(65_536));
    case "endless-stream":
      return await pour(
        stream,
        event({ method: "notifications/progress", params: { progressToken: 1, progress: 1, message: "x".repeat(4_000) } }).repeat(15),
      );
    case "slow-bytes":
      for (const byte of event({ id, result: text("at last") })) {
        stream.write(byte);
        await sleep(200);
      }
      return;
    case "unknown-method":
      return void end(text((await ask(stream, key, {}, "elicitation/steal")).error?.code));
    case "large-log":
      for (let line = 0; line < 5; line += 1) {
        stream.write(event({ method: "notifications/message", params: { level: "info", data: "x".repeat(1_000_000) } }));
      }
      return void end(text("told"));
    case "task-unknown":
      return void end({ task: { taskId: "task", status: "working", createdAt: "2026-01-01T00:00:00Z", ttl: null, pollInterval: 1 } });
    default:
      return void end(text(name));
  }
}

async function pour(stream: ServerResponse, chunk: string): Promise<void> {
  stream.setMaxListeners(0);
  while (!stream.destroyed) if (!stream.write(chunk)) await Promise.race([once(stream, "drain"), once(stream, "close")]);
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === "/readings") return void response.end(String(readings));
  if (request.url === "/flood") {
    for (const stream of streams) stream.write(event({ method: "notifications/tools/list_changed" }).repeat(5_000));
    return void response.end("told");
  }
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    streams.add(response);
    response.once("close", () => streams.delete(response));
    return;
  }
  if (request.method !== "POST") return void response.writeHead(200).end();
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const message = JSON.parse(Buffer.concat(chunks).toString()) as Reply;
  const { id, method, params } = message;
  const answer = (result: object, headers = {}) =>
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  if (method === undefined) {
    if (typeof id === "string") replied.get(id)?.(message);
    return void response.writeHead(202).end();
  }
  if (method === "initialize") {
    sessions += 1;
    const capabilities = {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: {},
      completions: {},
      logging: {},
      tasks: { requests: { tools: { call: {} } }, cancel: {} },
    };
    const said = { protocolVersion: "2025-11-25", serverInfo: { name: "hostile", version: "1" }, capabilities };
    return void answer(said, { "mcp-session-id": `session-${sessions}` });
  }
  if (method === "tools/list") {
    readings += 1;
    const names = [...TOOLS, `only-${readings}`];
    const execution = { taskSupport: "required" };
    return void answer({
      tools: names.map((name) => ({ name, inputSchema: { type: "object" }, ...(name.startsWith("task-") && { execution }) })),
    });
  }
  if (method === "tools/call") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    return await call(params?.name ?? "", id, response);
  }
  if (id === undefined) return void response.writeHead(202).end();
  // Prompts, resources, completions and tasks were promised.
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } }));
}

const http = createServer((request, response) => void serve(request, response));
http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
