/** Responses to a call as bytes, from a server that writes them itself. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { startCall, type UpstreamCall } from "./upstream-call.ts";
import type { Given, UpstreamEvent } from "../wire/upstream-event.ts";
import { createUpstreamFetch } from "../connection/upstream-fetch.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { aRequest, FORM, leading, someDeps } from "../upstream.fixture.ts";
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

/** Calls a server of 2025-11-25 that answers the call, and what is answered to it, as `respond` does, and a stream that is resumed as `resume` does. */
async function calling(
  respond: (socket: Socket, id: number) => void,
  resume?: (socket: Socket, lastEventId: string) => void,
): Promise<UpstreamCall> {
  const sockets = new Set<Socket>();
  const serve = (socket: Socket, head: string, body: string): void => {
    const [, lastEventId] = /^last-event-id: *(.*)$/im.exec(head) ?? [];
    if (resume && lastEventId !== undefined) return resume(socket, lastEventId);
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
  return call;
}

async function called(respond: (socket: Socket, id: number) => void): Promise<UpstreamEvent> {
  return await (await calling(respond)).next([], leading());
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

describe("two questions with one id", () => {
  const question = (message: string) => ({ id: "q", method: "elicitation/create", params: { message, requestedSchema: FORM } });
  const answer = { action: "accept", content: { ok: true } } as const;

  /** The call ends with the number of answers that came by then. */
  async function asking(...messages: readonly string[]): Promise<UpstreamCall> {
    let stream: Socket | undefined;
    let answers = 0;
    let callId: number | undefined;
    return await calling((socket, id) => {
      if (!stream) {
        [stream, callId] = [socket, id];
        return void socket.write(http("200 OK", SSE, messages.map((each) => event(question(each))).join("")));
      }
      answers += 1;
      socket.write(http("202 Accepted", { "content-length": 0 }));
      if (answers === messages.length) stream.end(event({ id: callId, result: { content: [{ type: "text", text: String(answers) }] } }));
    });
  }

  test("are one if they are equal, as on a stream that was resumed: the person is asked once, and each is answered", async () => {
    const call = await asking("Delete a?", "Delete a?");
    const asked = await call.next([], leading());
    if (asked.type !== "asked") throw new Error(asked.type);
    expect(asked.questions).toHaveLength(1);
    const given = asked.questions.map((each) => ({ question: each, answer }));
    expect(await call.next(given, leading())).toMatchObject({ type: "result", result: { content: [{ text: "2" }] } });
  });

  test("that differ end the call: the answer to one could be taken for that to the other", async () => {
    const call = await asking("Delete a?", "Delete b?");
    expect(await call.next([], leading())).toEqual({ type: "invalid", message: expect.stringContaining("two questions with one id") });
  });
});

test("a stream whose events have ids is resumed wherever it is cut: its question is asked once, and answered once", async () => {
  const question = { id: "q", method: "elicitation/create", params: { message: "Sure?", requestedSchema: FORM } };
  const events = [
    ": hello\nid: 1\ndata:\n\n",
    `id: 2\nevent: message\n${event(question)}`,
    `id: 3\n${event({ method: "notifications/message", params: { level: "info", data: "x" } })}`,
  ];
  const bytes = Buffer.concat([http("200 OK", SSE), Buffer.from(events.join(""))]);
  const resumableFrom = http("200 OK", SSE).length + events[0]!.length;

  async function cutAt(at: number) {
    let answers = 0;
    let asks = 0;
    let callId: number | undefined;
    let stream: Socket | undefined;
    const result = () => `id: 4\n${event({ id: callId, result: RESULT })}`;
    const call = await calling(
      (socket, id) => {
        if (callId === undefined) {
          callId = id;
          // What was sent by then arrives: with a reset, it might not.
          return void socket.end(bytes.subarray(0, at));
        }
        answers += 1;
        socket.write(http("202 Accepted", { "content-length": 0 }));
        // An answer that comes again, because the question did, comes at once.
        setTimeout(() => stream?.end(result()), 20);
      },
      (socket, lastEventId) => {
        socket.write(Buffer.concat([http("200 OK", SSE), Buffer.from(events.slice(Number(lastEventId)).join(""))]));
        if (answers === 0) stream = socket;
        else socket.end(result());
      },
    );
    for (const given: Given[] = []; ;) {
      const next = await call.next(given, leading());
      if (next.type !== "asked") return { asks, answers, type: next.type };
      asks += next.questions.length;
      // When the cut has been noticed.
      await sleep(50);
      given.push(...next.questions.map((each) => ({ question: each, answer: { action: "decline" } as const })));
    }
  }

  const positions = Array.from({ length: Math.ceil((bytes.length - resumableFrom) / 7) }, (_, step) => resumableFrom + step * 7);
  const seen = await Promise.all([...positions, bytes.length].map(async (at) => [at, await cutAt(at)] as const));
  expect(seen.filter(([, { asks, answers, type }]) => asks !== 1 || answers !== 1 || type !== "result")).toEqual([]);
  expect((await cutAt(resumableFrom - 1)).type).toBe("lost");
});
