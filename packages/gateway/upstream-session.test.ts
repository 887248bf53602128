/** Connections to servers of every kind, over real HTTP. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, test } from "vitest";
import { readListing } from "./listing.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createConnector, GATEWAY_HEADER } from "./upstream-session.ts";
import { parseUpstreams } from "./upstreams.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function listening(serve: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const http: HttpServer = createServer(serve).listen(0, "127.0.0.1");
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

function connecting(url: string, rest: object = {}) {
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url, ...rest }] }));
  const connector = createConnector({ fetch, version: "1", deployment: "d" });
  return { open: () => connector.open(upstream!, { capabilities: {} }), list: readListing, upstream: upstream! };
}

describe("a server", () => {
  test("of before 2025-03-26 is reached by the older transport, and at once the next time", async () => {
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
    await (await open()).close();
    expect(seen[0]).toBe("GET /sse");
  });

  test("gets its headers and no others of a caller, and learns by which deployment and name it is reached", async () => {
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

  test("that drops what it sends before the session's own stream is open is not called before", async () => {
    const order: string[] = [];
    const transports = new Map<string, StreamableHTTPServerTransport>();
    const url = await listening((request, response) => {
      const known = transports.get(String(request.headers["mcp-session-id"]));
      const serve = async (): Promise<void> => {
        if (known) {
          // Slow to open it, as a busy server is.
          if (request.method === "GET") await sleep(150);
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
    const session = await open();
    await list(session, upstream);
    await session.close();
    // notifications/initialized, the stream, tools/list.
    expect(order.slice(0, 3)).toEqual(["POST", "GET", "POST"]);
  });

  test("that is none is told as an error in the time that it has", async () => {
    const url = await listening(() => undefined);
    const { open } = connecting(url, { connectTimeout: "100ms" });
    await expect(open()).rejects.toThrow();
  });
});

describe("a message", () => {
  const EVENT = `data: ${"x".repeat(84)}\n\n`;

  test.each([
    ["a body of JSON", "application/json", ["x".repeat(100)], true],
    ["a body that is larger", "application/json", ["x".repeat(60), "x".repeat(41)], false],
    ["a stream of many events", "text/event-stream", Array.from({ length: 20 }, () => EVENT), true],
    ["a stream with a larger event", "text/event-stream", [EVENT, `data: ${"x".repeat(101)}`], false],
  ])("has as many bytes as it may, and no more: %s", async (_what, type, chunks, fits) => {
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
    const read = (await fetch(url)).text();
    if (fits) expect(await read).toBe(chunks.join(""));
    else await expect(read).rejects.toThrow("larger than 100 bytes");
  });

  test.each([
    ["at the limit", 10, true],
    ["one beyond", 11, false],
  ])("is one of a response that has as many bytes as it may: %s", async (_what, events, fits) => {
    const url = await listening((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(EVENT.repeat(events));
    });
    const { fetch, close } = createUpstreamFetch({ messageBytesMax: 100_000, responseBytesMax: EVENT.length * 10 });
    closers.push(close);
    const read = (await fetch(url)).text();
    if (fits) expect(await read).toHaveLength(EVENT.length * events);
    else await expect(read).rejects.toThrow(`larger than ${EVENT.length * 10} bytes`);
  });
});
