/** HTTP itself, on real sockets: input that is not a request, timeouts, methods and headers. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { cpuMs } from "../../test/support/cpu-ms.ts";
import { post, rpc, stream } from "./client.fixture.ts";
import { deploy, type Deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { held, offered } from "./tools.fixture.ts";

async function one(request: Partial<Deploy> = {}): Promise<Deployment & Front> {
  const deployment = await deploy({ catalogue: offered, fronts: 1, ...request });
  return { ...deployment, ...deployment.fronts[0]! };
}

interface Raw {
  readonly socket: Socket;
  readonly text: string;
  readonly closed: boolean;
  /** The error of the connection, if there was one. */
  readonly error: NodeJS.ErrnoException | undefined;
}

/** Sends raw bytes and collects the response. */
async function raw(here: Front, bytes: string): Promise<Raw> {
  const socket = connect(Number(new URL(here.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const seen = { socket, text: "", closed: false, error: undefined as NodeJS.ErrnoException | undefined };
  socket.on("data", (chunk) => (seen.text += chunk.toString()));
  socket.on("error", (error) => (seen.error = error));
  socket.on("close", () => (seen.closed = true));
  await once(socket, "connect");
  if (bytes !== "") socket.write(bytes);
  return seen;
}

/** Status, lower-case headers, and body of the only reply in a string. */
function parsed({ text }: Raw): { status: number; headers: Record<string, string>; body: { error: { code: number; message: string } } } {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [status = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.replace(/^[^:]*: /, "")]));
  return { status: Number(status.split(" ")[1]), headers, body: JSON.parse(body) as never };
}

const connectionsOf = async ({ app }: Front): Promise<number> =>
  await new Promise((resolve, reject) => app.server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

/** A stream of one message. */
const DATA = expect.stringMatching(/^(id: .*\n)?event: message\ndata: \{.*"tools":.*\}\n\n$/);
const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
const call = (name: string) => ({ name, arguments: {} });

/** Its answer has two thousand characters. */
function listTools() {
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
  return {
    headers: "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } }),
  };
}

describe("a method", () => {
  test("that MCP does not use is refused with 405 and changes nothing", async () => {
    const here = await one();
    const { sessionId, ...client } = await openSession(here);
    const headers = { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25", accept: "text/event-stream" };
    for (const method of ["HEAD", "PUT", "PATCH", "TRACE", "PROPFIND", "QUERY", "SEARCH"]) {
      const sent = httpRequest(here.url, { method, headers });
      sent.end();
      const [reply] = (await once(sent, "response")) as [IncomingMessage];
      reply.resume();
      expect([reply.statusCode, reply.headers.allow], method).toEqual([405, "GET, POST, DELETE, OPTIONS"]);
    }
    expect((await client.request(here, "ping")).status).toBe(200);
    expect(here.logged.map(({ message }) => message)).not.toContain("session ended");
    expect((await fetch(new URL("/healthz", here.url), { method: "HEAD" })).status).toBe(200);
  });

  test("DELETE ends a session, even with a Content-Type but no body", async () => {
    const here = await one();
    for (const [type, body] of [
      ["application/json", undefined],
      ["application/json", "{"],
      [undefined, undefined],
    ]) {
      const { sessionId, ...client } = await openSession(here);
      const headers = { "mcp-session-id": sessionId, ...(type !== undefined && { "content-type": type }) };
      const ended = await fetch(here.url, { method: "DELETE", headers, ...(body !== undefined && { body }) });
      expect(ended.status).toBe(204);
      expect((await client.request(here, "ping")).status).toBe(404);
    }
  });

  test("DELETE ends a session with any Accept header, because the response has no content", async () => {
    const here = await one();
    for (const accept of ["a/b", "text/html", ""]) {
      const { sessionId, ...client } = await openSession(here);
      const { statusCode, body } = await here.app.server.inject({
        method: "DELETE",
        url: "/mcp",
        headers: { host: "localhost", accept, "mcp-session-id": sessionId },
      });
      expect([statusCode, body]).toEqual([204, ""]);
      expect((await client.request(here, "ping")).status).toBe(404);
    }
  });

  test("is served only at the path of the endpoint itself", async () => {
    const here = await one();
    for (const url of ["/mcp/", "/mcp/x", "/mcpx", "//mcp", "/MCP"]) {
      const headers = { "content-type": "application/json" };
      expect((await here.app.server.inject({ method: "POST", url, headers, payload: ping })).statusCode, url).toBe(404);
    }
  });
});

describe("Accept", () => {
  const types = { "content-type": "application/json", "mcp-protocol-version": "2026-07-28" };

  test("that covers neither JSON nor streams is refused with 406 before anything is done", async () => {
    const here = await one();
    const session = await openSession(here);
    for (const accept of ["a/b", "text/html", "application/xml, text/plain;q=0.5", "application/jsonp", "text/event-streams", "*"]) {
      const refused = await post(here, "tools/call", call("greet"), { headers: { accept } });
      expect([refused.status, await refused.json()], accept).toMatchObject([406, { error: { code: -32600 } }]);
      expect((await session.post(here, { jsonrpc: "2.0", id: 1, method: "tasks/result", params: {} }, { accept })).status).toBe(406);
      expect((await fetch(here.url, { headers: { accept, "mcp-session-id": session.sessionId } })).status).toBe(406);
    }
    expect(here.logged.map(({ message }) => message)).not.toContain("task created");
  });

  test("that covers streams alone gets a stream in every revision, also of one message", async () => {
    const here = await one();
    const session = await openSession(here);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    for (const accept of ["text/event-stream", "a/b, text/event-stream;q=0.5", "text/*"]) {
      const stateless = await post(here, "tools/list", {}, { headers: { accept } });
      expect([accept, stateless.headers.get("content-type"), await stateless.text()]).toEqual([accept, "text/event-stream", DATA]);
      const inSession = await session.post(here, list, { accept });
      expect([accept, inSession.headers.get("content-type"), await inSession.text()]).toEqual([accept, "text/event-stream", DATA]);
    }
  });

  test("that covers either of them is served", async () => {
    const here = await one();
    for (const accept of ["*/*", "application/json", "APPLICATION/JSON;q=0.9", "application/*", "text/*", "a/b, text/event-stream"]) {
      expect((await rpc(here, "tools/list", {}, { headers: { accept } })).status, accept).toBe(200);
    }
    // Without an Accept header, everything is accepted.
    const { statusCode } = await here.app.server.inject({ method: "POST", url: "/mcp", headers: types, payload: ping });
    expect(statusCode).toBe(400);
  });
});

describe("a request", () => {
  test("that names two hosts is refused with 400 on every route", async () => {
    const here = await one();
    for (const path of ["/mcp", "/healthz"]) {
      const seen = await raw(here, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nhost: evil.example.com\r\n\r\n`);
      await until(() => seen.text.includes("\r\n\r\n"));
      expect(parsed(seen)).toMatchObject({ status: 400, body: { error: { code: -32600, message: expect.stringContaining("Host") } } });
    }
  });

  test("for an absolute address is served if its host is served", async () => {
    const here = await one();
    const status = async (address: string) => {
      const seen = await raw(here, `GET ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await until(() => seen.text.includes("\r\n\r\n"));
      return parsed(seen).status;
    };
    for (const address of ["http://evil.example.com/healthz", "http://localhost@evil.example.com/mcp", "HTTPS://evil.example.com/mcp"]) {
      expect(await status(address), address).toBe(403);
    }
    expect(await status("http://localhost:3000/healthz")).toBe(200);
    expect(await status("http://LOCALHOST/healthz")).toBe(200);
  });

  test("for readiness is answered for any Host, without the reason of a failure", async () => {
    const secret = "Redis: connect ECONNREFUSED 10.1.2.3:6379";
    let away = true;
    const here = await one({ reachable: async () => (away ? Promise.reject(new Error(secret)) : undefined) });
    const ready = async () => await here.app.server.inject({ url: "/readyz", headers: { host: "evil.example.com" } });
    const refused = await ready();
    expect([refused.statusCode, refused.json()]).toEqual([503, { status: "unavailable" }]);
    await ready();
    away = false;
    expect((await ready()).statusCode).toBe(200);
    const lines = here.logged.filter(({ message }) => message.startsWith("front end"));
    expect(lines.map(({ message }) => message)).toEqual(["front end not ready", "front end ready again"]);
    expect(lines[0]?.fields["err"]).toMatchObject({ message: secret });
  });

  test.each([
    ["broken encoding", 400, "/asks/%zz/key"],
    ["a segment longer than any id", 404, `/asks/${"x".repeat(3_000)}/key`],
  ])("for an address with %s is refused with %i and is not echoed", async (_what, status, path) => {
    const here = await one();
    const response = await fetch(`${here.url}${path}`);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const text = await response.text();
    expect(text).not.toMatch(/xxx|%zz|FST_/);
    expect(text.length).toBeLessThan(100);
  });

  test.each(["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id", "accept", "authorization"])(
    "whose header %s is full of blanks delays no other request",
    async (name) => {
      const here = await one();
      const send = async () => {
        const headers = { "content-type": "application/json", "mcp-protocol-version": "2026-07-28", [name]: `a${" ".repeat(14_000)}b` };
        const { status } = await fetch(here.url, { method: "POST", headers, body: ping });
        expect(status >= 400 && status < 500).toBe(true);
      };
      expect(await cpuMs(() => Promise.all([send(), send(), send(), send()]))).toBeLessThan(1_500);
    },
  );

  test("that fails through no fault of its sender gets only the id of the log line", async () => {
    const script = "ERR Error running script (call to f_8e2c0b): @user_script:14: attempt to index nil";
    const here = await one({ authenticate: () => Promise.reject(new Error(script)) });
    const message = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } };
    const types = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const replies = [
      await rpc(here, "tools/list", {}),
      (await (await fetch(here.url, { method: "POST", headers: types, body: JSON.stringify(message) })).json()) as object,
      (await (await fetch(here.url, { headers: { ...types, "mcp-session-id": "x" } })).json()) as object,
      (await (await fetch(here.url, { method: "DELETE", headers: { ...types, "mcp-session-id": "x" } })).json()) as object,
    ];
    for (const reply of replies) {
      expect(reply).toMatchObject({ error: { code: -32603, message: "Internal error", data: { defectId: expect.any(String) as string } } });
      expect(JSON.stringify(reply)).not.toContain("script");
    }
    const logged = here.logged.filter((line) => line.message === "request failed").map(({ fields }) => fields["err"]);
    expect(logged).toHaveLength(replies.length);
    for (const error of logged) expect(error).toMatchObject({ message: script });
  });
});

test("a body that is refused for its size is read for a moment, so that its sender sees the reply and not a reset", async () => {
  const here = await one();
  const body = "x".repeat(8_000_000);
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (let round = 0; round < 10; round += 1) {
    const seen = await raw(here, `${head}${body}`);
    await until(() => seen.closed);
    expect(seen.error).toBeUndefined();
    expect(parsed(seen)).toMatchObject({ status: 413, headers: { connection: "close" }, body: { error: { code: -32600 } } });
  }
  // A client that keeps sending is cut off.
  const endless = await raw(here, head);
  await until(() => endless.text.includes("413"));
  await until(async () => (await connectionsOf(here)) === 0);
});

describe("input that is not a request", () => {
  const unreadable = [
    ["garbage", "who goes there?\r\n\r\n", 400],
    ["another version", "GET /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n", 400],
    ["lengths that differ", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400],
    ["headers beyond 16 KiB", `GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  ] as const;

  test.each(unreadable)("%s is answered, and the connection ends", async (_what, bytes, status) => {
    const here = await one();
    const seen = await raw(here, bytes);
    // Bytes that are still being sent must not turn the reply into a reset.
    for (let count = 0; count < 20 && seen.socket.writable; count += 1) seen.socket.write("y".repeat(10_000));
    await until(() => seen.closed);
    expect(parsed(seen)).toMatchObject({
      status,
      headers: { connection: "close", "content-type": "application/json; charset=utf-8", "x-content-type-options": "nosniff" },
      body: { jsonrpc: "2.0", error: { code: -32600 } },
    });
    expect(Number(parsed(seen).headers["content-length"])).toBe(Buffer.byteLength(seen.text.split("\r\n\r\n")[1] ?? ""));
    expect(seen.error).toBeUndefined();
  });

  test("does not affect the next request of a client that reuses connections", async () => {
    const here = await one();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const send = async (headers: Record<string, string>) => {
      const sent = httpRequest(new URL("/healthz", here.url), { agent, headers });
      sent.end();
      const [reply] = (await once(sent, "response")) as [IncomingMessage];
      reply.resume();
      await once(reply, "end");
      return reply.statusCode;
    };
    for (let round = 0; round < 20; round += 1) {
      expect(await send({ "x-long": "x".repeat(20_000) })).toBe(431);
      expect(await send({})).toBe(200);
    }
  });

  test("is refused after the answer to the previous request, and the last reply closes the connection", async () => {
    const here = await one();
    const refused = "POST /mcp HTTP/1.1\r\nHost: \r\nContent-Type: application/json\r\n\r\n";
    for (const bytes of [`${refused}${ping}`, `${refused}${refused}${ping}`]) {
      const seen = await raw(here, bytes);
      await until(() => seen.closed);
      const replies = seen.text.split(/(?=HTTP\/1\.1 \d)/).map((text) => parsed({ ...seen, text }));
      expect(replies.at(0)).toMatchObject({ status: 403, headers: { connection: "keep-alive" } });
      expect(replies.at(-1)).toMatchObject({ status: 400, headers: { connection: "close" }, body: { error: { code: -32600 } } });
    }
  });

  test("is never answered in the middle of the previous reply", async () => {
    const here = await one({ times: { streamAfterMs: 50 } });
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        ...call("hold"),
        _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} },
      },
    });
    const head = `Host: localhost\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: hold\r\n`;
    const request = `POST /mcp HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const streaming = await raw(here, request);
    await until(() => streaming.text.includes("text/event-stream"));
    const silent = await raw(here, request);
    await until(() => here.logged.filter(({ message }) => message === "task created").length === 2);
    for (const seen of [streaming, silent]) {
      seen.socket.write("who goes there?\r\n\r\n");
      await until(() => seen.closed);
      expect(seen.text).not.toContain("400");
    }
    held.release();
  });
});

describe("a connection", () => {
  const times = { headersTimeoutMs: 400, requestTimeoutMs: 800, idleTimeoutMs: 400, stallTimeoutMs: 400 };

  test("without a request is closed, and so is one whose request does not arrive", async () => {
    const here = await one({ times });
    const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const silent: Raw[] = [];
    // At most as many at once as the accept queue holds: the kernel silently drops others.
    while (silent.length < 2_000) silent.push(...(await Promise.all(Array.from({ length: 250 }, () => raw(here, "")))));
    const dripping = await Promise.all(Array.from({ length: 100 }, () => raw(here, `${head}Content-Length: 1000\r\n\r\n{`)));
    const headless = await Promise.all(Array.from({ length: 100 }, () => raw(here, head)));
    const drip = setInterval(() => {
      for (const { socket } of dripping) if (socket.writable) socket.write(" ");
      for (const { socket } of headless) if (socket.writable) socket.write("X: y\r\n");
    }, 50);
    onTestFinished(() => clearInterval(drip));
    const all = [...silent, ...dripping, ...headless];
    await until(() => all.every(({ closed }) => closed));
    for (const seen of [...dripping, ...headless]) {
      expect(parsed(seen)).toMatchObject({ status: 408, headers: { connection: "close" }, body: { error: { code: -32600 } } });
    }
    expect(await until(async () => (await connectionsOf(here)) === 0)).toBe(true);
    expect((await rpc(here, "tools/list", {})).status).toBe(200);
  });

  test("on which a browser's request does not arrive in time is closed with a page for the person", async () => {
    const here = await one({ times });
    const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*;q=0.8\r\n";
    const form = await raw(here, `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
    await until(() => form.closed);
    const [lines = "", page = ""] = form.text.split("\r\n\r\n");
    expect(lines.toLowerCase().split("\r\n")).toEqual(
      expect.arrayContaining([
        "http/1.1 408 request timeout",
        "connection: close",
        "content-type: text/html; charset=utf-8",
        `content-length: ${Buffer.byteLength(page)}`,
        expect.stringMatching(/^content-security-policy: default-src 'none'; style-src 'sha256-/),
      ]),
    );
    expect(page).toContain("<h1>Too slow</h1>");
  });

  test("is closed before the request timeout if the headers do not arrive in their own time", async () => {
    const here = await one({ times: { ...times, requestTimeoutMs: 60_000 } });
    const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    const late = await Promise.all(["", head, "G"].map((bytes) => raw(here, bytes)));
    const body = await raw(here, `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
    await until(() => late.every(({ closed }) => closed));
    expect(body.closed).toBe(false);
  });

  test("is closed even if the client keeps its end open", async () => {
    const here = await one();
    const socket = connect({ port: Number(new URL(here.url).port), host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined).resume();
    socket.write("who goes there?\r\n\r\n");
    await once(socket, "end");
    expect(await connectionsOf(here)).toBe(1);
    await until(async () => (await connectionsOf(here)) === 0);
  });

  test("that is idle is closed, and not before its time", async () => {
    const here = await one({ times });
    const seen = await raw(here, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await until(() => seen.text.includes("200 OK"));
    const answeredAtMs = performance.now();
    await until(() => seen.closed);
    // Node's timers count from the start of their tick.
    expect(performance.now() - answeredAtMs).toBeGreaterThan(times.idleTimeoutMs - 50);
    expect(seen.error).toBeUndefined();
  });

  test("with a stream, a held call or a session's own stream outlives all of these", async () => {
    const here = await one({ times: { ...times, streamAfterMs: 60_000, keepAliveMs: 60_000 } });
    const session = await openSession(here);
    const own = await session.listen(here);
    const listening = await stream(here, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    await listening.next();
    const calling = rpc(here, "tools/call", call("hold"), { tasks: false, headers: { accept: "application/json" } });
    await until(() => here.logged.some(({ message }) => message === "task created"));

    // Nothing is written on any of them in the meantime, while connections that are opened later run into each limit.
    const bounded = await Promise.all(
      ["", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"].map(
        (bytes) => raw(here, bytes),
      ),
    );
    await until(() => bounded.every(({ closed }) => closed));

    held.release();
    expect((await calling).result).toMatchObject({ content: [{ text: "released" }] });
    await rpc(here, "tools/call", call("announce"));
    expect(await listening.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    expect(await own.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    own.close();
    listening.close();
  });

  test("whose client reads nothing is dropped, with everything that it was to be sent", async () => {
    const day = 24 * 60 * 60_000;
    const here = await one({ times: { ...times, headersTimeoutMs: day, requestTimeoutMs: day, idleTimeoutMs: day } });
    const get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const { body, headers } = listTools();
    const list = `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
    const seen = await raw(here, "");
    seen.socket.pause();
    // About twenty megabytes of replies: more than the buffers of two sockets hold.
    for (let count = 0; count < 150; count += 1) seen.socket.write(get + list.repeat(60));
    await until(async () => (await connectionsOf(here)) === 0);
    expect((await rpc(here, "tools/list", {})).status).toBe(200);
  });

  test("whose stream has ended is dropped too, if the client does not read the end", async () => {
    const letter = defineTool({ name: "letter", run: () => "x".repeat(20_000_000) });
    const day = 24 * 60 * 60_000;
    const here = await one({
      catalogue: catalogue([letter]),
      settings: { storedValueMax: 30_000_000 },
      times: { stallTimeoutMs: 400, keepAliveMs: 50, idleTimeoutMs: day, callTimeoutMs: day },
    });
    const { sessionId } = await openSession(here);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "letter", arguments: {} } });
    const headers = `Accept: text/event-stream, application/json\r\nContent-Type: application/json\r\nMcp-Session-Id: ${sessionId}\r\n`;
    const seen = await raw(here, "");
    seen.socket.pause();
    seen.socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);
    await until(() => here.logged.some(({ fields }) => fields["rpcMethod"] === "tools/call"));
    expect(here.logged.find(({ fields }) => fields["rpcMethod"] === "tools/call")?.fields).toMatchObject({ gone: true });
  });

  test("that reads nothing gives way to others when there is too much to read", async () => {
    const letter = defineTool({ name: "letter", run: () => "x".repeat(20_000_000) });
    const here = await one({
      catalogue: catalogue([letter]),
      settings: { storedValueMax: 30_000_000 },
      limits: { unreadBytesMax: 30_000_000 },
    });
    const { sessionId } = await openSession(here);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "letter", arguments: {} } });
    const headers = `Accept: text/event-stream, application/json\r\nContent-Type: application/json\r\nMcp-Session-Id: ${sessionId}\r\n`;
    const unread = async () => {
      const seen = await raw(here, "");
      seen.socket.pause();
      seen.socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);
      return seen;
    };
    const first = await unread();
    await until(() => first.socket.bytesRead > 0);
    const second = await unread();
    await until(() => here.logged.some(({ message }) => message.includes("PARLEY_UNREAD_BYTES_MAX")));
    for (const { socket } of [first, second]) socket.resume();
    await until(() => first.closed && second.text.length > 20_000_000);
    expect(first.text.length).toBeLessThan(20_000_000);
    expect(here.logged.find(({ message }) => message.startsWith("connections dropped"))?.fields).toEqual({ dropped: 1, most: 30_000_000 });
  });

  test("beyond the limit is dropped, and logged", async () => {
    const here = await one({ limits: { connectionsMax: 3 } });
    const open = await Promise.all(Array.from({ length: 3 }, () => raw(here, "")));
    await until(async () => (await connectionsOf(here)) === 3);
    const [first, second] = [await raw(here, ""), await raw(here, "")];
    await until(() => first.closed && second.closed);
    expect(open.map(({ closed }) => closed)).toEqual([false, false, false]);
    const dropped = here.logged.filter(({ message }) => message.startsWith("connections dropped"));
    expect(dropped.map(({ fields }) => fields)).toEqual([{ dropped: 1, most: 3 }]);
    open[0]?.socket.destroy();
    await until(async () => (await connectionsOf(here)) === 2);
    expect((await fetch(new URL("/healthz", here.url))).status).toBe(200);
  });
});

describe("a page on another origin", () => {
  const origin = "http://localhost:5173";
  const preflight = async (here: Front, method: string, wanted: string, from = origin) =>
    await fetch(here.url, {
      method: "OPTIONS",
      headers: { origin: from, "access-control-request-method": method, "access-control-request-headers": wanted },
    });

  test("may send what MCP clients send, with every method of MCP", async () => {
    const here = await one();
    const wanted = "authorization,content-type,last-event-id,mcp-method,mcp-name,mcp-param-region,mcp-protocol-version,mcp-session-id";
    for (const method of ["GET", "POST", "DELETE"]) {
      const { status, headers } = await preflight(here, method, wanted);
      expect(status).toBe(204);
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("access-control-allow-methods")?.split(", ")).toContain(method);
      expect(headers.get("access-control-allow-headers")).toBe(wanted);
      expect(headers.get("access-control-max-age")).toBe("600");
    }
    expect((await preflight(here, "PUT", wanted)).headers.get("access-control-allow-methods")).toBe("GET, POST, DELETE");
  });

  test("may read its session id in answers, streams and refusals", async () => {
    const here = await one();
    const { sessionId } = await openSession(here);
    const from = (headers: Record<string, string>, init: RequestInit = {}) => fetch(here.url, { ...init, headers: { origin, ...headers } });
    const leave = new AbortController();
    const replies = [
      await from({ "content-type": "application/json", "mcp-session-id": sessionId }, { method: "POST", body: ping }),
      await from({ accept: "text/event-stream", "mcp-session-id": sessionId }, { signal: leave.signal }),
      await from({ accept: "a/b" }),
      await from({}, { method: "PUT" }),
      await from({ "content-type": "text/plain" }, { method: "POST", body: "x" }),
      await from({ "content-type": "application/json" }, { method: "POST", body: "{" }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 406, 405, 415, 400]);
    for (const { headers } of replies) {
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("access-control-expose-headers")?.split(", ")).toEqual(
        expect.arrayContaining(["Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate", "Retry-After"]),
      );
      expect(headers.get("vary")?.toLowerCase()).toContain("origin");
      expect(headers.get("access-control-allow-credentials")).toBeNull();
    }
    leave.abort();
  });

  test("that is not trusted may do nothing", async () => {
    const here = await one();
    for (const from of ["https://evil.example.com", "null", "http://localhost.evil.example.com"]) {
      const { status, headers } = await preflight(here, "POST", "content-type", from);
      expect([status, headers.get("access-control-allow-origin")], from).toEqual([403, null]);
    }
  });

  test("reads nothing outside MCP", async () => {
    const here = await one();
    for (const path of ["/healthz", "/readyz", "/nothing"]) {
      const { headers } = await fetch(new URL(path, here.url), { headers: { origin } });
      expect(headers.get("access-control-allow-origin"), path).toBeNull();
      expect(headers.get("cross-origin-resource-policy"), path).toBe("same-origin");
    }
  });
});

test("at an address without a page, people read so on a page in their language that leads on, and programs get JSON", async () => {
  const here = await one();
  const look = (url: string, headers: Record<string, string>, method: "GET" | "POST" = "GET") =>
    here.app.server.inject({ method, url, headers: { host: "localhost", ...headers } });
  const browser = { accept: "text/html,*/*;q=0.8", "accept-language": "de" };
  for (const [url, start] of [
    ["/nowhere", "./"],
    ["/a/b/c/d?q=1", "../../../"],
  ] as const) {
    const page = await look(url, browser);
    expect([page.statusCode, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'; style-src 'sha256-");
    expect(page.body).toContain("<h1>Nicht gefunden</h1>");
    expect(page.body).toContain(`<a href="${start}">Zur Startseite</a>`);
  }
  for (const each of [look("/nowhere", {}), look("/nowhere", { accept: "application/json" }), look("/nowhere", browser, "POST")])
    expect((await each).json()).toMatchObject({ statusCode: 404, error: "Not Found" });
});
