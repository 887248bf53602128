/**
 * A foreign server with sessions that publishes events (SEP-3415), by `@modelcontextprotocol/sdk` 1 and requests that it does not know.
 *
 *   node events.ts [port]     prints its address; POST /emit?text=… lets something happen
 *
 * What has happened is a line in the file EVENTS, so that it is still there when the server is started again.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const file = process.env["EVENTS"] ?? "";
const NOTE = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const TYPES = [
  {
    name: "note.written",
    description: "Somebody wrote a note.",
    delivery: ["poll", "webhook"],
    inputSchema: { type: "object", properties: { contains: { type: "string" } } },
    payloadSchema: NOTE,
  },
  { name: "note.pushed", delivery: ["push"], inputSchema: { type: "object" }, payloadSchema: NOTE },
  { name: "clock.ticked", delivery: ["poll"], inputSchema: { type: "object" }, payloadSchema: { type: "object" } },
];
const ListEvents = z.looseObject({ method: z.literal("events/list") });
const PollEvents = z.looseObject({
  method: z.literal("events/poll"),
  params: z.looseObject({
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    cursor: z.string().nullable(),
    maxEvents: z.number().optional(),
  }),
});

function poll({ name, arguments: args, cursor, maxEvents = 50 }: z.output<typeof PollEvents>["params"]) {
  // It has no memory: whoever polls hears the tick of that moment.
  if (name === "clock.ticked") {
    const timestamp = new Date().toISOString();
    return { events: [{ eventId: `tick-${timestamp}`, name, timestamp, data: {} }], cursor: null, nextPollMs: 1 };
  }
  if (name !== "note.written") throw new McpError(-32011, "no such event");
  const { contains = "" } = args;
  if (typeof contains !== "string") throw new McpError(-32602, "contains must be text");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  const from = cursor === null ? lines.length : Number(cursor);
  if (!Number.isSafeInteger(from)) throw new McpError(-32602, "bad cursor");
  const end = Math.min(from + maxEvents, lines.length);
  const events = lines.slice(from, end).flatMap((line, index) => {
    const { text, timestamp } = JSON.parse(line) as { text: string; timestamp: string };
    return text.includes(contains) ? [{ eventId: `note-${from + index}`, name, timestamp, data: { text } }] : [];
  });
  return { events, cursor: String(end), truncated: false, hasMore: end < lines.length, nextPollMs: 1_000 };
}

function build(): Server {
  const server = new Server({ name: "events", version: "1" }, { capabilities: { tools: {}, events: {} } as object });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
  server.setRequestHandler(ListEvents as never, () => ({ events: TYPES }) as never);
  server.setRequestHandler(PollEvents as never, (request: z.output<typeof PollEvents>) => poll(request.params) as never);
  return server;
}

const http = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/emit") {
    for (const text of searchParams.getAll("text"))
      appendFileSync(file, `${JSON.stringify({ text, timestamp: new Date().toISOString() })}\n`);
    response.writeHead(204).end();
    return;
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  void build()
    .connect(transport as never)
    .then(() => transport.handleRequest(request, response));
});
http.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
