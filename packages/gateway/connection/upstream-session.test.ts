/** Connections to servers of every kind, over real HTTP. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, isLegacyRequest, McpServer } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { CommandTransport } from "./command-transport.ts";
import { readListing } from "../lists/listing.ts";
import { GATEWAY_HEADER } from "../config/settings.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import {
  createConnector,
  INSTRUCTIONS_CHARS_MAX,
  INTRODUCTION_CHARS_MAX,
  type OpenSession,
  type SessionOwner,
} from "./upstream-session.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";
import { describeFailure } from "../wire/describe-failure.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function listening(serve: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const http: HttpServer = createServer((request, response) => void serve(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

function mcp(): Server {
  const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: "tool", inputSchema: { type: "object" as const } }] }));
  return server;
}

function connecting(url: string, rest: object = {}, options: { readonly messagesMax?: number } = {}) {
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url, ...rest }] }));
  const connector = createConnector({ fetch, version: "1", deployment: "d", ...options });
  return {
    connector,
    open: (request: Partial<OpenSession> = {}) => connector.open(upstream!, { capabilities: {}, ...request }),
    list: readListing,
    upstream: upstream!,
  };
}

describe("a server", () => {
  test("of a revision before 2025-03-26 is reached by the older transport, the next time at once", async () => {
    const seen: string[] = [];
    const transports = new Map<string, SSEServerTransport>();
    const url = await listening((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
      seen.push(`${request.method} ${pathname}`);
      if (request.method === "GET" && pathname === "/sse") {
        const transport = new SSEServerTransport("/messages", response);
        transports.set(transport.sessionId, transport);
        void mcp().connect(transport as never);
      } else if (pathname === "/messages") void transports.get(searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
      else response.writeHead(405).end();
    });
    const { open, list, upstream } = connecting(`${url}/sse`);
    const first = await open();
    expect(await list(first, upstream)).toMatchObject({ tools: [{ name: "tool" }] });
    await first.close();
    expect(seen[0]).toBe("POST /sse");
    seen.length = 0;
    const owner: SessionOwner = {};
    const second = await open({ owner });
    expect(seen[0]).toBe("GET /sse");
    // It accepts every call with HTTP 202, and may get the next one.
    await expect(second.client.callTool({ name: "tool" })).rejects.toThrow("not found");
    expect(owner.isSpent).toBeUndefined();
    await second.close();
  });

  test("of such a revision whose stream ends has forgotten the call: the session is closed, and no other stream takes its place", async () => {
    const streams: ServerResponse[] = [];
    const transports = new Map<string, SSEServerTransport>();
    const url = await listening((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
      if (request.method === "GET" && pathname === "/sse") {
        streams.push(response);
        const transport = new SSEServerTransport("/messages", response);
        transports.set(transport.sessionId, transport);
        const server = mcp();
        server.setRequestHandler(CallToolRequestSchema, async () => {
          response.destroy();
          return await new Promise(() => undefined);
        });
        void server.connect(transport as never);
      } else if (pathname === "/messages") void transports.get(searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
      else response.writeHead(405).end();
    });
    const { client } = await connecting(`${url}/sse`, { revisions: "sessions" }).open();
    const opened = streams.length;
    await expect(client.callTool({ name: "tool" })).rejects.toThrow("Connection closed");
    expect(streams).toHaveLength(opened);
  });

  test.each([
    ["instructions are not kept: a held call would keep them too", { instructions: "x".repeat(1_000_000) }, true],
    ["capabilities are within the limit", { capabilities: { tools: {}, experimental: { x: { y: "x".repeat(65_000) } } } }, true],
    ["capabilities are too large", { capabilities: { tools: {}, experimental: { x: { y: "x".repeat(INTRODUCTION_CHARS_MAX) } } } }, false],
  ])("whose %s", async (_what, said, isTaken) => {
    const url = await listening((request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      void json(request).then((message) => {
        const { id, method } = message as { id?: number; method: string };
        if (method !== "initialize") return response.writeHead(202).end();
        const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" }, ...said };
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" });
        return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    });
    const opened = connecting(url, { revisions: "sessions" }).open();
    if (!isTaken) return await expect(opened).rejects.toMatchObject({ code: "INVALID_RESULT" });
    const { client, close, instructions } = await opened;
    expect([client.getInstructions(), instructions]).toEqual([undefined, undefined]);
    await close();
    if (!("instructions" in said)) return;
    const listing = await connecting(url, { revisions: "sessions" }).open({ options: { listChanged: {} } });
    expect(listing.instructions).toBe(`${"x".repeat(INSTRUCTIONS_CHARS_MAX)}…`);
    await listing.close();
  });

  test("receives its configured headers and none of the caller's, and the deployment and name by which it is reached", async () => {
    const seen: IncomingMessage["headers"][] = [];
    const url = await listening((request, response) => {
      seen.push(request.headers);
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      void mcp()
        .connect(transport as never)
        .then(() => transport.handleRequest(request, response));
    });
    const { open } = connecting(url, { headers: { authorization: "Bearer mine" }, revisions: "sessions" });
    await (await open()).close();
    for (const headers of seen) expect(headers).toMatchObject({ authorization: "Bearer mine", [GATEWAY_HEADER]: "d/up" });
    expect(seen.length).toBeGreaterThan(0);
  });

  test("that ends the session's own stream at once, and wants the next one without a pause, is asked for it four times a second at most", async () => {
    const openedMs: number[] = [];
    const url = await listening((request, response) => {
      if (request.method === "GET") {
        openedMs.push(performance.now());
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 0\nid: 1\ndata: \n\n");
      }
      if (request.method !== "POST") return void response.end();
      void json(request).then((message) => {
        const { id, method } = message as { id?: number; method: string };
        if (method !== "initialize") return void response.writeHead(202).end();
        const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "test", version: "1" } };
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    });
    const session = await connecting(url, { revisions: "sessions" }).open();
    await until(() => openedMs.length >= 4);
    expect(openedMs[3]! - openedMs[0]!).toBeGreaterThan(700);
    await session.close();
  });

  test("that drops messages before the session's own stream is open is not called before that", async () => {
    const order: string[] = [];
    const transports = new Map<string, StreamableHTTPServerTransport>();
    const { promise: wanted, resolve: isWanted } = Promise.withResolvers<void>();
    const { promise: opens, resolve: letOpen } = Promise.withResolvers<void>();
    const url = await listening((request, response) => {
      if (request.url === "/elsewhere") return void response.end();
      const known = transports.get(String(request.headers["mcp-session-id"]));
      const serve = async (): Promise<void> => {
        if (known) {
          if (request.method === "GET") {
            isWanted();
            await opens;
          }
          order.push(String(request.method));
          return await known.handleRequest(request, response);
        }
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => "s",
          onsessioninitialized: (id) => void transports.set(id, transport),
        });
        await mcp().connect(transport as never);
        await transport.handleRequest(request, response);
      };
      void serve();
    });
    const { open, list, upstream } = connecting(url, { revisions: "sessions" });
    let isOpen = false;
    const opening = open().finally(() => void (isOpen = true));
    await wanted;
    // A round trip to the same server: enough time for a client that does not wait.
    await (await fetch(`${url}/elsewhere`)).text();
    expect(isOpen).toBe(false);
    letOpen();
    const session = await opening;
    await list(session, upstream);
    await session.close();
    // notifications/initialized, the stream, tools/list.
    expect(order.slice(0, 3)).toEqual(["POST", "GET", "POST"]);
  });

  /** With sessions. Answers a request for a session's own stream once `mayOpen` resolves. */
  async function streaming(mayOpen: () => Promise<void>, { initializeMs = 0 } = {}): Promise<string> {
    const transports = new Map<string, StreamableHTTPServerTransport>();
    return await listening((request, response) => {
      const serve = async (): Promise<void> => {
        const known = transports.get(String(request.headers["mcp-session-id"]));
        if (known && request.method === "GET") await mayOpen();
        if (known) return await known.handleRequest(request, response);
        await sleep(initializeMs);
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => void transports.set(id, transport),
        });
        await mcp().connect(transport as never);
        await transport.handleRequest(request, response);
      };
      void serve();
    });
  }

  test("that opens the stream of a session late, although it did not before, is not called: it would drop its questions", async () => {
    let streams = 0;
    const url = await streaming(async () => {
      streams += 1;
      if (streams === 2) await new Promise(() => undefined);
    });
    const { open } = connecting(url, { revisions: "sessions", connectTimeout: "4s" });
    await (await open()).close();
    await expect(open()).rejects.toThrow("was not open in time");
    await (await open()).close();
    expect(streams).toBe(3);
  });

  test("that sends no headers before the first message is waited for once", async () => {
    const url = await streaming(() => new Promise(() => undefined));
    const { open } = connecting(url, { revisions: "sessions", connectTimeout: "10s" });
    await (await open()).close();
    const startedMs = performance.now();
    await (await open()).close();
    // The first waited for half of the time limit.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test("that is slow in everything is not taken for one that sends no headers", async () => {
    let streams = 0;
    const url = await streaming(
      async () => {
        streams += 1;
        if (streams !== 2) await new Promise(() => undefined);
      },
      { initializeMs: 500 },
    );
    const { open } = connecting(url, { revisions: "sessions", connectTimeout: "5s" });
    await (await open()).close();
    await (await open()).close();
    await expect(open()).rejects.toThrow("was not open in time");
  });

  describe("that knows 2026-07-28", () => {
    /** With sessions for the earlier revisions, or with the SDK's own way of serving them, without sessions. */
    const both = (hasSessions: boolean) => {
      const handler = createMcpHandler(() => new McpServer({ name: "both", version: "1" }), hasSessions ? { legacy: "reject" } : {});
      const transports = new Map<string, StreamableHTTPServerTransport>();
      return listening((incoming, outgoing) => {
        void (async () => {
          const { method = "GET", headers } = incoming;
          const body = method === "POST" ? await text(incoming) : undefined;
          const request = () =>
            new Request("http://localhost/", { method, headers: headers as Record<string, string>, ...(body && { body }) });
          if (hasSessions && (await isLegacyRequest(request()))) {
            const known = transports.get(String(headers["mcp-session-id"]));
            const transport =
              known ??
              new StreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID,
                onsessioninitialized: (id) => void transports.set(id, transport),
              });
            if (!known) await mcp().connect(transport as never);
            return await transport.handleRequest(incoming, outgoing, body && JSON.parse(body));
          }
          const response = await handler.fetch(request());
          outgoing.writeHead(response.status, Object.fromEntries(response.headers));
          outgoing.end(await response.text());
        })();
      });
    };

    test.each([
      ["and has sessions", true, "auto", false],
      ["and has none", false, "auto", true],
      ["and has sessions, where the file says", true, "newest", true],
      ["and has sessions, where the file says", true, "sessions", false],
    ])(
      "%s is addressed in a revision in which all of its tools can ask, now and the next time: %s %s",
      async (_what, hasSessions, revisions, isStateless) => {
        const { open } = connecting(await both(hasSessions), { revisions });
        for (let time = 1; time <= 2; time += 1) {
          const session = await open();
          expect(session.isStateless).toBe(isStateless);
          await session.close();
        }
      },
    );
  });

  test("that sends too much in a call is dropped, at the limit and one beyond, and the next call starts from zero", async () => {
    for (const [beside, floods] of [
      [0, 0],
      [1, 1],
    ] as const) {
      let flooded = 0;
      const url = await listening((request, response) => {
        const transport = new StreamableHTTPServerTransport();
        const server = mcp();
        server.setRequestHandler(ListToolsRequestSchema, async (_request, { sendNotification }) => {
          // One less, because the answer counts too.
          const message = { method: "notifications/tools/list_changed" } as const;
          for (let count = 0; count < 5 - 1 + beside; count += 1) await sendNotification(message);
          return { tools: [] };
        });
        void server.connect(transport as never).then(() => transport.handleRequest(request, response));
      });
      const { open, upstream } = connecting(url, { revisions: "sessions" }, { messagesMax: 5 });
      const session = await open({ owner: { onFlood: () => void (flooded += 1) } });
      const listed = session.client.listTools(undefined, { timeout: upstream.connectTimeoutMs });
      if (floods === 0) {
        await listed;
        session.begin();
        await session.client.listTools(undefined, { timeout: upstream.connectTimeoutMs });
      } else await until(() => flooded > 0);
      expect(flooded).toBe(floods);
      listed.catch(() => undefined);
      await session.close();
    }
  });

  test("receives the present headers of the file in a session that is open, except in place of the caller's token", async () => {
    const seen: unknown[] = [];
    const url = await listening((request, response) => {
      seen.push(request.headers.authorization);
      const transport = new StreamableHTTPServerTransport();
      void mcp()
        .connect(transport as never)
        .then(() => transport.handleRequest(request, response));
    });
    const file = (name: string, address: string, token: string) =>
      parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name, url: address, headers: { Authorization: token } }] }));
    const { connector, open, list, upstream } = connecting(url, { revisions: "sessions", headers: { authorization: "old" } });
    const [plain, asCaller] = [await open(), await open({ accessToken: () => "caller" })];
    const sent = async (session: typeof plain, upstreams: readonly Upstream[]) => {
      connector.update(upstreams);
      seen.length = 0;
      await list(session, upstream);
      return [...new Set(seen)];
    };
    expect(await sent(plain, [])).toEqual(["old"]);
    expect(await sent(plain, file("up", url, "new"))).toEqual(["new"]);
    expect(await sent(asCaller, file("up", url, "new"))).toEqual(["Bearer caller"]);
    // Another upstream, and another server of the same name.
    expect(await sent(plain, file("other", url, "new"))).toEqual(["old"]);
    expect(await sent(plain, file("up", "https://other.example.com/mcp", "new"))).toEqual(["old"]);
    await Promise.all([plain.close(), asCaller.close()]);
  });

  test("gets requests of different numbers in different sessions, because some find a session by the number of its request", async () => {
    const ids: unknown[] = [];
    const url = await listening(async (request, response) => {
      const body = request.method === "POST" ? ((await json(request)) as { id?: unknown }) : undefined;
      if (body?.id !== undefined) ids.push(body.id);
      const transport = new StreamableHTTPServerTransport();
      await mcp().connect(transport as never);
      await transport.handleRequest(request, response, body);
    });
    const { open, list, upstream } = connecting(url, { revisions: "sessions" });
    for (const session of [await open(), await open()]) {
      await list(session, upstream);
      await session.close();
    }
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
    expect(ids.every((id) => Number.isInteger(id) && Number(id) < 2 ** 31)).toBe(true);
  });

  test("that redirects to another path of its own is followed, and one that redirects elsewhere is not", async () => {
    const elsewhere = await listening((_request, response) => void response.writeHead(500).end());
    const url = await listening((request, response) => {
      if (request.url === "/away") return void response.writeHead(307, { location: `${elsewhere}/mcp` }).end();
      if (request.url !== "/mcp/") return void response.writeHead(307, { location: "/mcp/" }).end();
      const transport = new StreamableHTTPServerTransport();
      void mcp()
        .connect(transport as never)
        .then(() => transport.handleRequest(request, response));
    });
    const { open, list, upstream } = connecting(`${url}/mcp`, { revisions: "sessions" });
    const session = await open();
    expect(await list(session, upstream)).toMatchObject({ tools: [{ name: "tool" }] });
    await session.close();
    await expect(connecting(`${url}/away`, { revisions: "sessions" }).open()).rejects.toThrow("not followed");
  });

  test.each([
    ["once is opened again", 1, undefined],
    ["twice is not", 2, "fetch failed"],
  ])("whose connection breaks %s", async (_what, breaks, error) => {
    let requests = 0;
    const url = await listening(async (request, response) => {
      requests += 1;
      if (requests <= breaks) return void request.socket.destroy();
      const transport = new StreamableHTTPServerTransport({});
      await mcp().connect(transport as never);
      await transport.handleRequest(request, response);
    });
    const opened = connecting(url, { revisions: "sessions" }).open();
    if (error === undefined) await (await opened).close();
    else await expect(opened).rejects.toThrow(error);
  });

  test("whose connection breaks as its session is ended receives the end again", async () => {
    const methods: string[] = [];
    let sessions = 0;
    const transports = new Map<string, StreamableHTTPServerTransport>();
    const url = await listening((request, response) => {
      methods.push(String(request.method));
      if (methods.filter((method) => method === "DELETE").length === 1) return void request.socket.destroy();
      const serve = async (): Promise<void> => {
        const known = transports.get(String(request.headers["mcp-session-id"]));
        if (known) return await known.handleRequest(request, response);
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized(id) {
            sessions += 1;
            transports.set(id, transport);
          },
          onsessionclosed: () => void (sessions -= 1),
        });
        await mcp().connect(transport as never);
        await transport.handleRequest(request, response);
      };
      void serve();
    });
    const session = await connecting(url, { revisions: "sessions" }).open();
    expect(sessions).toBe(1);
    await session.close();
    expect(sessions).toBe(0);
  });

  test.each([["\n"], ["\r\n"], ["\r"]])("may end the lines of its events with %j, in one part or in many", async (lineEnd) => {
    const url = await listening(async (request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const { id, method } = JSON.parse(await text(request)) as { id?: number; method: string };
      if (id === undefined) return void response.writeHead(202).end();
      const protocol = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } };
      const result = method === "initialize" ? protocol : { content: [{ type: "text", text: "Grüße" }] };
      const bytes = Buffer.from(`event: message${lineEnd}data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}${lineEnd}${lineEnd}`);
      const size = method === "initialize" ? bytes.length : 1;
      // The stream stays open.
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let at = 0; at < bytes.length; at += size) {
        response.write(bytes.subarray(at, at + size));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const session = await connecting(url, { revisions: "sessions" }).open();
    expect(await session.client.callTool({ name: "any" })).toEqual({ content: [{ type: "text", text: "Grüße" }] });
    await session.close();
  });

  test("that receives nothing for a while has its connection closed, long before servers close theirs", async () => {
    let closed = 0;
    const url = await listening(({ socket }, response) => {
      // The server itself never closes the connection.
      socket.setTimeout(0);
      socket.once("close", () => (closed += 1));
      response.setHeader("keep-alive", "timeout=600");
      response.end("here");
    });
    const { fetch, close } = createUpstreamFetch();
    closers.push(close);
    await (await fetch(url)).text();
    await until(() => closed === 1);
  });

  test("whose stream is silent can be left at once", async () => {
    const url = await listening((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
    });
    const { fetch, close } = createUpstreamFetch();
    closers.push(close);
    const { body } = await fetch(url);
    const reader = body!.getReader();
    const read = reader.read();
    await reader.cancel();
    expect(await read).toEqual({ done: true, value: undefined });
  });

  test("that does not speak MCP is reported as an error within its timeout", async () => {
    const url = await listening(() => undefined);
    const { open } = connecting(url, { connectTimeout: "100ms" });
    await expect(open()).rejects.toThrow();
  });
});

/** A server of a few lines, which does `then` when a tool is called. Its version is the id of its process. */
const SCRIPT = (then: string) => `
  const serverInfo = { name: "script", version: String(process.pid) };
  const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (method === "initialize") console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (method === "tools/call") { ${then} }
  });`;

describe("a command", () => {
  function commanding(then: string) {
    return connecting("", { url: undefined, command: process.execPath, args: ["-e", SCRIPT(then)], connectTimeout: "60s" });
  }

  test("of an unknown revision is reported as such", async () => {
    const script = SCRIPT("").replace("2025-11-25", "2031-01-01");
    const { open } = connecting("", { url: undefined, command: process.execPath, args: ["-e", script], connectTimeout: "60s" });
    expect(describeFailure(await open().catch((error: unknown) => error))).toBe("it speaks no revision that the gateway knows");
  });

  test("that closes its output counts as ended although it keeps running, and is stopped", async () => {
    const session = await commanding("require('node:fs').closeSync(1); setInterval(() => undefined, 1_000);").open();
    const pid = Number(session.client.getServerVersion()?.version);
    await expect(session.client.callTool({ name: "any" })).rejects.toThrow("Connection closed");
    await until(() => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  });

  test.each([
    ["ends", "setTimeout(() => console.error('last words'), 200);"],
    ["keeps running", "setInterval(() => undefined, 1_000);"],
  ])("that closes its input counts as ended: one that then %s", async (then, script) => {
    let printed = "";
    const transport = new CommandTransport({
      command: process.execPath,
      args: ["-e", `require('node:fs').closeSync(0); console.error('deaf'); ${script}`],
      env: {},
      messageBytesMax: 1_000,
      onStderr: (text) => void (printed += text),
    });
    await transport.start();
    const pid = Number(transport.pid);
    await until(() => printed.startsWith("deaf\n"));
    for (const _message of ["first", "second"])
      await expect(transport.send({ jsonrpc: "2.0", method: "ping" })).rejects.toThrow("Connection closed");
    expect(printed).toBe(then === "ends" ? "deaf\nlast words\n" : "deaf\n");
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test.each([
    ["ends with its input", ""],
    ["ignores the end of its input, and SIGTERM", "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1_000);"],
  ])("takes what it has started along when its session ends: a server in a shell that %s", async (_what, then) => {
    const script = `${SCRIPT("")} ${then}`;
    const { open } = connecting("", {
      url: undefined,
      command: "sh",
      args: ["-c", `'${process.execPath}' -e '${script.replaceAll("'", '"')}'; exit`],
      connectTimeout: "60s",
    });
    const session = await open();
    const pid = Number(session.client.getServerVersion()?.version);
    await session.close();
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("that ends right after its result is read to the end", async () => {
    const result = "console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [], _meta: { x: 'y'.repeat(1_000_000) } } }));";
    const session = await commanding(`${result} process.stdout.end(() => process.exit());`).open();
    expect(await session.client.callTool({ name: "any" })).toMatchObject({ content: [] });
  });

  test("that prints lines without end that are no messages is stopped", async () => {
    const pour =
      "const line = 'no message '.repeat(100); const pour = () => { while (process.stdout.write((line + '\\n').repeat(10))); process.stdout.once('drain', pour); };";
    const session = await commanding(`${pour} pour();`).open();
    await expect(session.client.callTool({ name: "any" })).rejects.toThrow("Connection closed");
  });

  test("that ends by itself takes what it has started along", async () => {
    const started = "const { pid } = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1_000)']);";
    const result =
      "console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [], _meta: { pid } } })); process.stdout.end(() => process.exit());";
    const session = await commanding(`${started} ${result}`).open();
    const { _meta } = await session.client.callTool({ name: "any" });
    await until(() => {
      try {
        return !process.kill(Number(_meta?.["pid"]), 0);
      } catch {
        return true;
      }
    });
  });

  test("leaves no open pipes here, even if a process that it started keeps them", async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((each) => each === "PipeWrap").length;
    const before = pipes();
    const child =
      "require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => undefined, 600_000)'], { stdio: 'inherit' });";
    const session = await commanding(`${child} console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } }));`).open();
    await session.client.callTool({ name: "any" });
    expect(pipes()).toBeGreaterThan(before);
    await session.close();
    await until(() => pipes() <= before);
  });
});

describe("a message", () => {
  /** In the error or in its cause. */
  const saying = (text: string) => (error: unknown) =>
    error instanceof Error && `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`.includes(text);
  const EVENT = `data: ${"x".repeat(84)}\n\n`;

  test.each([
    ["a body of JSON", "application/json", ["x".repeat(100)], true],
    ["a body that is larger", "application/json", ["x".repeat(60), "x".repeat(41)], false],
    ["a stream of many events", "text/event-stream", Array.from({ length: 20 }, () => EVENT), true],
    ["a stream with a larger event", "text/event-stream", [EVENT, `data: ${"x".repeat(101)}`], false],
  ])("may have the maximum size and no more: %s", async (_what, type, chunks, fits) => {
    const url = await listening((_request, response) => {
      response.writeHead(200, { "content-type": type });
      const write = (index: number): void => {
        if (index === chunks.length) return void response.end();
        response.write(chunks[index], () => setImmediate(write, index + 1));
      };
      write(0);
    });
    const { fetch, close } = createUpstreamFetch({ messageBytesMax: 100 });
    closers.push(close);
    const read = fetch(url).then((response) => response.text());
    if (fits) expect(await read).toBe(chunks.join(""));
    else await expect(read).rejects.toSatisfy(saying("larger than 100 bytes"));
  });

  test.each([
    ["at the limit", 10, true],
    ["one beyond", 11, false],
  ])("is part of a response of the maximum size: %s", async (_what, events, fits) => {
    const url = await listening((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(EVENT.repeat(events));
    });
    const { fetch, close } = createUpstreamFetch({ messageBytesMax: 100_000, responseBytesMax: EVENT.length * 10 });
    closers.push(close);
    const read = fetch(url).then((response) => response.text());
    if (fits) expect(await read).toHaveLength(EVENT.length * events);
    else await expect(read).rejects.toSatisfy(saying(`larger than ${EVENT.length * 10} bytes`));
  });
});
