/** Responses to a call as bytes, from a server that writes them itself. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { startCall } from "./upstream-call.ts";
import type { UpstreamEvent } from "../wire/upstream-event.ts";
import { createUpstreamFetch } from "../connection/upstream-fetch.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { aRequest, leading, someDeps } from "../upstream.fixture.ts";
import { parseUpstreams } from "../config/upstreams.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Headers = Readonly<Record<string, string | number>>;
const RESULT = { content: [{ type: "text", text: "done" }] };
const SSE = { "content-type": "text/event-stream", connection: "close" };

function http(status: string, headers: Headers = {}, body: string | Buffer = "", version = "1.1"): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/${version} ${status}\r\n${lines.join("")}\r\n`), Buffer.from(body as string)]);
}

function jsonReply(result: object, headers: Headers = {}): Buffer {
  const body = JSON.stringify({ jsonrpc: "2.0", ...result });
  return http("200 OK", { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers }, body);
}

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

/** Calls a server of 2025-11-25 that answers the call as `respond` does. */
async function called(respond: (socket: Socket, id: number) => void): Promise<UpstreamEvent> {
  const sockets = new Set<Socket>();
  const serve = (socket: Socket, head: string, body: string): void => {
    if (!head.startsWith("POST")) return void socket.write(http("405 No", { "content-length": 0 }));
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    const capabilities = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } };
    if (method === "initialize") socket.write(jsonReply({ id, result: capabilities }));
    else if (id === undefined) socket.write(http("202 Accepted", { "content-length": 0 }));
    else respond(socket, id);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      for (;;) {
        const at = text.indexOf("\r\n\r\n");
        const end = at + 4 + Number(/content-length: *(\d+)/i.exec(text.slice(0, at))?.[1] ?? 0);
        if (at === -1 || text.length < end) return;
        const [head, body] = [text.slice(0, at), text.slice(at + 4, end)];
        text = text.slice(end);
        serve(socket, head, body);
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  const { port } = server.address() as { port: number };
  const file = { name: "up", url: `http://127.0.0.1:${port}/mcp`, revisions: "sessions", connectTimeout: "20s" };
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [file] }));
  const call = startCall("call", aRequest({ upstream: upstream! }), someDeps(createConnector({ fetch, version: "1", deployment: "d" })));
  closers.push(() => call.close());
  return await call.next([], leading());
}

const DONE = { type: "result", result: RESULT };

test.each<[string, (id: number) => Buffer]>([
  [
    "HTTP/1.0, and ends with the connection",
    (id) => http("200 OK", { "content-type": "application/json" }, JSON.stringify({ jsonrpc: "2.0", id, result: RESULT }), "1.0"),
  ],
  ["a stream of HTTP/1.0", (id) => http("200 OK", SSE, event({ id, result: RESULT }), "1.0")],
  ["a stream that begins with a byte order mark", (id) => http("200 OK", SSE, `\uFEFF${event({ id, result: RESULT })}`)],
  [
    "preceded by early hints",
    (id) => Buffer.concat([http("103 Early Hints", { link: "x" }), jsonReply({ id, result: RESULT }, { connection: "close" })]),
  ],
  [
    "a batch of one",
    (id) => {
      const body = JSON.stringify([{ jsonrpc: "2.0", id, result: RESULT }]);
      return http("200 OK", { "content-type": "application/json", "content-length": body.length, connection: "close" }, body);
    },
  ],
])("a result that is %s is read", async (_what, bytes) => {
  expect(await called((socket, id) => void socket.end(bytes(id)))).toEqual(DONE);
});

test("a result whose id is the number of the call as text is read", async () => {
  expect(await called((socket, id) => void socket.end(jsonReply({ id: String(id), result: RESULT })))).toEqual(DONE);
});

test.each([
  ["JSON", (id: number) => jsonReply({ id, result: RESULT }, { connection: "close" })],
  ["a stream", (id: number) => http("200 OK", SSE, event({ id, result: RESULT }))],
])("a result that arrives byte by byte as %s is read", async (_what, bytes) => {
  const write = async (socket: Socket, id: number): Promise<void> => {
    socket.setNoDelay(true);
    for (const byte of bytes(id)) await new Promise((written) => socket.write(Buffer.from([byte]), () => setImmediate(written)));
    socket.end();
  };
  expect(await called((socket, id) => void write(socket, id))).toEqual(DONE);
});

test.each<[string, (id: number) => Buffer, RegExp]>([
  ["a web page", () => http("200 OK", { "content-type": "text/html", "content-length": 13 }, "<html></html>"), /not one of MCP/],
  [
    "without a type",
    (id) => http("200 OK", { connection: "close" }, JSON.stringify({ jsonrpc: "2.0", id, result: RESULT })),
    /not one of MCP/,
  ],
  ["empty", () => http("204 No Content"), /not one of MCP/],
  ["not JSON", () => http("200 OK", { "content-type": "application/json", "content-length": 2 }, "no"), /not one of MCP/],
  [
    "compressed although nobody accepts that",
    (id) => {
      const body = gzipSync(JSON.stringify({ jsonrpc: "2.0", id, result: RESULT }));
      return http("200 OK", { "content-type": "application/json", "content-encoding": "gzip", "content-length": body.length }, body);
    },
    /not one of MCP/,
  ],
  ["an error without an id", () => jsonReply({ error: { code: -32_700, message: "no" } }), /does not answer the call/],
  ["a result of another id", (id) => jsonReply({ id: id + 1, result: RESULT }), /does not answer the call/],
  ["a notification", () => jsonReply({ method: "notifications/tools/list_changed" }), /does not answer the call/],
  ["a redirect to itself without end", () => http("307 Redirect", { location: "/mcp", "content-length": 0 }), /redirects/],
  ["a redirect without an address", () => http("308 Redirect", { "content-length": 0 }), /redirects/],
  ["of another protocol", () => Buffer.from("SSH-2.0-OpenSSH\r\n"), /not one of MCP/],
  ["shorter than it says", () => http("200 OK", { "content-type": "application/json", "content-length": 1_000 }, "{"), /connection/],
  ["without the empty line at its end", (id) => http("200 OK", SSE, event({ id, result: RESULT }).trimEnd()), /before its result/],
  ["of megabytes of headers", (id) => jsonReply({ id, result: RESULT }, { "x-large": "x".repeat(1_000_000) }), /HeadersOverflowError/],
])("a response that is %s ends the call as lost", async (_what, bytes, message) => {
  expect(await called((socket, id) => void socket.end(bytes(id)))).toEqual({ type: "lost", message: expect.stringMatching(message) });
});

test.each<[string, object]>([
  ["null members", { result: { ...RESULT, structuredContent: null, isError: null, _meta: null } }],
  ["a list beside its text", { result: { ...RESULT, structuredContent: [1] } }],
  ["a null error and a member of its own", { result: RESULT, error: null, ts: 1 }],
])("a result with %s is read, as JSON and from a stream", async (_what, sent) => {
  expect(await called((socket, id) => void socket.end(jsonReply({ id, ...sent })))).toEqual(DONE);
  expect(await called((socket, id) => void socket.end(http("200 OK", SSE, event({ id, ...sent }))))).toEqual(DONE);
});

test("a result with a number that would be rounded is refused, and names it", async () => {
  const body = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"id":1234567890123456789}}}`;
  const invalid = { type: "invalid", message: expect.stringContaining("1234567890123456789") };
  const asJson = (id: number) => http("200 OK", { "content-type": "application/json", connection: "close" }, body(id));
  expect(await called((socket, id) => void socket.end(asJson(id)))).toEqual(invalid);
  expect(await called((socket, id) => void socket.end(http("200 OK", SSE, `data: ${body(id)}\n\n`)))).toEqual(invalid);
});

test("a response without a result ends the call at once", async () => {
  const ended = { type: "invalid", message: "answered without a result" };
  expect(await called((socket, id) => void socket.end(jsonReply({ id, result: null })))).toEqual(ended);
  expect(await called((socket, id) => void socket.write(http("200 OK", SSE, event({ id, result: null }))))).toEqual(ended);
});

test("a result with content that its revision does not have is invalid", async () => {
  const result = { content: [{ type: "hologram", data: "x" }] };
  expect(await called((socket, id) => void socket.write(jsonReply({ id, result })))).toMatchObject({ type: "invalid" });
});

test.each([
  ["JSON", (id: number) => jsonReply({ id, result: RESULT })],
  ["a stream", (id: number) => http("200 OK", SSE, event({ id, result: RESULT }))],
])("a connection that is reset within %s ends the call as lost, at any place", { timeout: 120_000 }, async (_what, bytes) => {
  const { length } = bytes(1);
  for (let at = 0; at < length - 2; at += 9) {
    const reset = (socket: Socket, id: number) =>
      socket.write(bytes(id).subarray(0, at), () => void sleep(1).then(() => socket.resetAndDestroy()));
    expect([at, (await called((socket, id) => void reset(socket, id))).type]).toEqual([at, "lost"]);
  }
});
