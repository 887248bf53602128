/** The bridge between lines and a scripted server: what is sent, what is repeated, and what the client receives. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { type Bridge, type BridgeLimits, createBridge } from "./bridge.ts";
import { BODY_BYTES_MAX } from "./events.ts";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Got {
  readonly verb: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Message | Message[] | undefined;
}

type Serve = (got: Got, response: ServerResponse) => void;

const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const call = (id: number, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "t", _meta: META, ...params },
});
const json = (response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
const idOf = ({ body }: Got) => (body as Message).id ?? 0;
function stream(response: ServerResponse): (message: object | undefined, id?: string) => void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return (message, id) =>
    void response.write(`${id === undefined ? "" : `id: ${id}\n`}retry: 10\ndata: ${message ? JSON.stringify(message) : ""}\n\n`);
}

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface Running {
  readonly bridge: Bridge;
  readonly got: Got[];
  readonly received: Message[];
  readonly logged: string[];
  send(...messages: object[]): void;
  message(is: (message: Message) => boolean): Promise<Message>;
  answerTo(id: number | string): Promise<Message>;
  /** Closes every connection, and refuses new ones until the server is back. */
  stop(): Promise<void>;
  back(): Promise<void>;
}

async function run(
  serve: Serve,
  limits: Partial<BridgeLimits> = {},
  { write = () => Promise.resolve(), token = "" }: { readonly write?: () => Promise<void>; readonly token?: string } = {},
): Promise<Running> {
  const got: Got[] = [];
  const received: Message[] = [];
  const logged: string[] = [];
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const each: Got = {
      verb: request.method ?? "",
      headers: request.headers,
      body: text === "" ? undefined : (JSON.parse(text) as Message),
    };
    got.push(each);
    serve(each, response);
  }
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const bridge = createBridge({
    remote: {
      url: () => Promise.resolve(`http://127.0.0.1:${port}/mcp`),
      lost: () => undefined,
      token: (refused) => Promise.resolve(token === "" ? undefined : refused === undefined ? token : `${token}-again`),
    },
    write: async (message) => {
      received.push(message as Message);
      await write();
    },
    log: (text) => logged.push(text),
    limits: { requestPatienceMs: 2_000, streamPatienceMs: 2_000, ...limits },
  });
  const stop = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((closed) => server.close(closed));
  };
  open.push(stop, () => bridge.close());
  const message = (is: (each: Message) => boolean) => until(() => received.flat().find(is), { everyMs: 5 });
  return {
    bridge,
    got,
    received,
    logged,
    send: (...messages) => messages.forEach((each) => bridge.take(JSON.stringify(each))),
    message,
    answerTo: (id) => message((each) => each.id === id && each.method === undefined),
    stop,
    async back() {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
  };
}

const INITIALIZE = { jsonrpc: "2.0", id: "init", method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } };
const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };

/** A server with sessions. `serve` handles requests that do not open a session. */
function withSessions(serve: Serve): { readonly serve: Serve; readonly sessions: string[]; forget(): void } {
  const sessions: string[] = [];
  let known = "";
  return {
    sessions,
    forget: () => (known = ""),
    serve(got, response) {
      if (got.verb === "DELETE") return void response.writeHead(200).end();
      if (got.verb === "GET" && got.headers["last-event-id"] === undefined) return void response.writeHead(405).end();
      const method = got.body && !Array.isArray(got.body) ? got.body.method : undefined;
      if (method === "initialize") {
        sessions.push((known = `session-${sessions.length + 1}`));
        return json(response, { jsonrpc: "2.0", id: idOf(got), result: { protocolVersion: "2025-11-25" } }, 200, {
          "mcp-session-id": known,
        });
      }
      if (got.headers["mcp-session-id"] !== known || known === "")
        return void json(response, { jsonrpc: "2.0", error: { code: -32600, message: "gone" } }, 404);
      if (method === "notifications/initialized") return void response.writeHead(202).end();
      serve(got, response);
    },
  };
}

describe("a request of 2026-07-28", () => {
  test("is sent with the headers that repeat its body, and its response is returned", async () => {
    const { send, answerTo, got } = await run((each, response) => json(response, { jsonrpc: "2.0", id: idOf(each), result: { ok: true } }));
    send(call(1, { name: "käse" }));
    expect(await answerTo(1)).toMatchObject({ result: { ok: true } });
    expect(got[0]?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `=?base64?${Buffer.from("käse").toString("base64")}?=`,
    });
  });

  test("whose arguments are repeated in headers is sent again with them, once the tool's schema is known", async () => {
    const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
    const { send, answerTo, got } = await run((each, response) => {
      const { method } = each.body as Message;
      if (method === "tools/list")
        return json(response, { jsonrpc: "2.0", id: idOf(each), result: { tools: [{ name: "t", inputSchema }] } });
      if (each.headers["mcp-param-region"] === "eu") return json(response, { jsonrpc: "2.0", id: idOf(each), result: {} });
      return json(response, { jsonrpc: "2.0", id: idOf(each), error: { code: -32020, message: "header" } }, 400);
    });
    send(call(1, { arguments: { region: "eu" } }));
    expect(await answerTo(1)).toMatchObject({ result: {} });
    send(call(2, { arguments: { region: "eu" } }));
    await answerTo(2);
    expect(got.map(({ body }) => (body as Message).method)).toEqual(["tools/call", "tools/list", "tools/call", "tools/call"]);
  });

  test("is cancelled by closing it, and receives no response", async () => {
    let closed = false;
    const { send, received, got, answerTo } = await run((each, response) => {
      if ((each.body as Message).id === 2) return json(response, { jsonrpc: "2.0", id: 2, result: {} });
      response.on("close", () => (closed = true));
    });
    send(call(1));
    await until(() => got.length === 1);
    send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await until(() => closed);
    send(call(2));
    await answerTo(2);
    expect(received.map(({ id }) => id)).toEqual([2]);
  });

  test("that may have been carried out is not repeated, and the error reports it", async () => {
    const { send, answerTo, got } = await run((_got, response) => void response.destroy());
    send(call(1));
    expect((await answerTo(1)).error).toMatchObject({ code: -32000, message: expect.stringContaining("It may have been carried out") });
    expect(got).toHaveLength(1);
  });

  /** Requests that may be repeated, each with its id. */
  const ANSWER = { jsonrpc: "2.0", id: 3, method: "tasks/update", params: { taskId: "x", inputResponses: {}, _meta: META } };
  const KEYED = call(4, { _meta: { ...META, "parley/idempotencyKey": "k" } });
  const REPEATED = [
    call(1, { requestState: "sealed" }),
    { jsonrpc: "2.0", id: 2, method: "tasks/get", params: { taskId: "x", _meta: META } },
    ANSWER,
    KEYED,
  ];

  test("that carries a requestState or an idempotency key, answers or only reads, is repeated", async () => {
    let asked = 0;
    const { send, answerTo } = await run((each, response) => {
      asked += 1;
      if (asked <= 2) response.destroy();
      else json(response, { jsonrpc: "2.0", id: idOf(each), result: {} });
    });
    for (const request of REPEATED) {
      asked = 0;
      send(request);
      expect(await answerTo(request.id)).toMatchObject({ result: {} });
    }
  });

  test.each([502, 503, 504])("of these is repeated, too, if a proxy answers HTTP %i, and fails if that continues", async (status) => {
    let refusals = 2;
    const proxied: Serve = (each, response) => {
      refusals -= 1;
      if (refusals >= 0) response.writeHead(status, { "content-type": "text/html" }).end("<html>Bad gateway</html>");
      else json(response, { jsonrpc: "2.0", id: idOf(each), result: {} });
    };
    const { send, answerTo, got } = await run(proxied, { requestPatienceMs: 1_000 });
    for (const request of REPEATED) {
      refusals = 2;
      send(request);
      expect(await answerTo(request.id)).toMatchObject({ result: {} });
    }
    expect(got).toHaveLength(3 * REPEATED.length);
    refusals = Infinity;
    send({ ...ANSWER, id: 9 });
    const { error } = await answerTo(9);
    expect(error?.message).toMatch(
      new RegExp(`HTTP ${status} without a JSON-RPC message: a proxy cannot reach the server. Try again later$`),
    );
  });

  test.each([200, 429, 500, 502])("that is answered with JSON that is not JSON-RPC, and HTTP %i, has failed", async (status) => {
    const { send, answerTo } = await run((_got, response) => json(response, { message: "no healthy upstream" }, status), {
      requestPatienceMs: 100,
    });
    send(ANSWER);
    expect((await answerTo(3)).error).toMatchObject({ message: expect.stringContaining(`HTTP ${status} without a JSON-RPC message`) });
  });

  test.each([502, 504])(
    "that may have been carried out when a proxy answers HTTP %i is not repeated, and the error says so",
    async (status) => {
      const { send, answerTo, got } = await run((_got, response) => void response.writeHead(status).end());
      send(call(1));
      expect((await answerTo(1)).error).toMatchObject({ code: -32000, message: expect.stringContaining("It may have been carried out") });
      expect(got).toHaveLength(1);
    },
  );

  test("that the server refuses with HTTP 503 is repeated, unless it may still take effect", async () => {
    let code = "OVERLOADED";
    let refusals = 2;
    const { send, answerTo, got } = await run((each, response) => {
      refusals -= 1;
      const body = { jsonrpc: "2.0", id: idOf(each) };
      if (refusals < 0) json(response, { ...body, result: {} });
      else json(response, { ...body, error: { code: -32603, message: code, data: { code } } }, 503);
    });
    send(call(1));
    expect(await answerTo(1)).toMatchObject({ result: {} });
    code = "UNAVAILABLE";
    for (const { request, sent } of [
      { request: call(2), sent: 1 },
      { request: { ...KEYED, id: 3 }, sent: 3 },
    ]) {
      [refusals, got.length] = [2, 0];
      send(request);
      expect(await answerTo(request.id)).toMatchObject(sent === 1 ? { error: { data: { code } } } : { result: {} });
      expect(got).toHaveLength(sent);
    }
  });

  test("waits for a server that is not running yet, and fails if that takes too long", async () => {
    const { send, answerTo, stop, back } = await run((each, response) => json(response, { jsonrpc: "2.0", id: idOf(each), result: {} }), {
      requestPatienceMs: 1_000,
    });
    await stop();
    send(call(1));
    await back();
    expect(await answerTo(1)).toMatchObject({ result: {} });
    await stop();
    send(call(2));
    expect((await answerTo(2)).error?.message).toMatch(/does not respond \(ECONNREFUSED\)/);
  });

  test("for a stream is opened again when it breaks, and acknowledged to the client once", async () => {
    let opened = 0;
    const { send, message, received, answerTo } = await run((each, response) => {
      opened += 1;
      const say = stream(response);
      say({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: {} });
      say({ jsonrpc: "2.0", method: "notifications/tasks", params: { opened } });
      if (opened === 1) response.destroy();
      // A front end that closes ends its streams with their result.
      else if (opened === 2) response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: idOf(each), result: {} })}\n\n`);
      else if (opened === 4)
        response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: idOf(each), error: { code: -32602, message: "no" } })}\n\n`);
      else setTimeout(() => response.destroy(), 20);
    });
    send({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications: {}, _meta: META } });
    await message(({ params }) => params?.["opened"] === 3);
    expect(await answerTo(1)).toMatchObject({ error: { message: "no" } });
    expect(received.filter(({ method }) => method === "notifications/subscriptions/acknowledged")).toHaveLength(1);
  });
});

describe("a session", () => {
  test("has a request repeated at growing intervals while its stream ends at once, until it fails", async () => {
    const { send, answerTo, got } = await run(
      (_each, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(),
      {
        requestPatienceMs: 3_000,
      },
    );
    send({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    expect(await answerTo(1)).toHaveProperty("error");
    expect(got.length).toBeGreaterThan(2);
    expect(got.length).toBeLessThan(10);
  });

  test("is opened before its other messages are sent, also if the client writes all at once", async () => {
    const server = withSessions((each, response) => json(response, { jsonrpc: "2.0", id: idOf(each), result: {} }));
    const { send, answerTo, got } = await run(server.serve);
    send(INITIALIZE, INITIALIZED, { jsonrpc: "2.0", id: 2, method: "tools/list" });
    await answerTo(2);
    const order = got.filter(({ verb }) => verb === "POST").map(({ body }) => (body as Message).method);
    expect(order).toEqual(["initialize", "notifications/initialized", "tools/list"]);
    expect(got.at(-1)?.headers).toMatchObject({ "mcp-session-id": "session-1", "mcp-protocol-version": "2025-11-25" });
  });

  test("resumes a call where its stream broke, and asks no question twice", async () => {
    const question = { jsonrpc: "2.0", id: "ask-1", method: "elicitation/create", params: { message: "?" } };
    let resumed: string | undefined;
    let answers = 0;
    const server = withSessions((each, response) => {
      if (each.verb === "GET") {
        resumed = String(each.headers["last-event-id"]);
        const say = stream(response);
        say(question, "e2");
        const finished = setInterval(() => {
          if (answers === 0) return;
          clearInterval(finished);
          say({ jsonrpc: "2.0", id: 5, result: { done: true } }, "e3");
          response.end();
        }, 5);
        return;
      }
      if ((each.body as Message).method === "tools/call") {
        stream(response)(question, "e1");
        return void setTimeout(() => response.destroy(), 20);
      }
      answers += 1;
      response.writeHead(202).end();
    });
    const { send, answerTo, message, received } = await run(server.serve);
    send(INITIALIZE, INITIALIZED, { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "t" } });
    await message(({ id }) => id === "ask-1");
    await until(() => resumed === "e1");
    send({ jsonrpc: "2.0", id: "ask-1", result: { action: "accept" } });
    expect(await answerTo(5)).toMatchObject({ result: { done: true } });
    expect(received.filter(({ id, method }) => id === "ask-1" && method !== undefined)).toHaveLength(1);
  });

  test.each([429, 502, 503, 504])("delivers an answer that is refused with HTTP %i, when that is over", async (status) => {
    let refusals = 2;
    const server = withSessions((each, response) => {
      refusals -= 1;
      if ((each.body as Message).method === undefined) response.writeHead(refusals < 0 ? 202 : status).end();
      else json(response, { jsonrpc: "2.0", id: idOf(each), result: {} });
    });
    const { send, got, logged, answerTo } = await run(server.serve);
    send(INITIALIZE, INITIALIZED, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    await answerTo(1);
    refusals = 2;
    send({ jsonrpc: "2.0", id: "ask-1", result: { action: "accept" } });
    await until(() => got.filter(({ body }) => (body as Message | undefined)?.id === "ask-1").length === 3);
    expect(logged).toEqual([]);
  });

  test("that the server has lost is replaced without the client's involvement, with its log level and subscriptions", async () => {
    const server = withSessions((each, response) => {
      json(response, { jsonrpc: "2.0", id: idOf(each), result: {} });
    });
    const { send, answerTo, got, logged } = await run(server.serve);
    send(INITIALIZE, INITIALIZED, { jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "debug" } });
    await answerTo(1);
    server.forget();
    send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    expect(await answerTo(2)).toMatchObject({ result: {} });
    expect(server.sessions).toHaveLength(2);
    const again = got
      .filter(({ headers }) => headers["mcp-session-id"] === "session-2")
      .flatMap(({ body }) => (body ? [(body as Message).method] : []));
    await until(() => again.length > 0);
    expect(again).toEqual(expect.arrayContaining(["notifications/initialized", "logging/setLevel", "tools/list"]));
    expect(logged).toEqual(["the session has ended at the server: opening another"]);
  });

  test("may be opened again on the same pipe: earlier requests are answered, and later ones belong to the new session", async () => {
    const held: ServerResponse[] = [];
    const ended: string[] = [];
    const sessions: string[] = [];
    const { got, send, answerTo } = await run((each, response) => {
      const { method } = (each.body ?? {}) as Message;
      if (each.verb === "DELETE") ended.push(String(each.headers["mcp-session-id"]));
      if (each.verb !== "POST") return void response.writeHead(405).end();
      if (method === "notifications/initialized") return void response.writeHead(202).end();
      if (method === "tools/call") return void held.push(response);
      if (method !== "initialize") return void json(response, { jsonrpc: "2.0", id: idOf(each), result: {} });
      if ((each.body as Message).params?.["protocolVersion"] === "wrong")
        return void json(response, { jsonrpc: "2.0", id: idOf(each), error: { code: -32602, message: "no such version" } });
      sessions.push(`session-${sessions.length + 1}`);
      json(response, { jsonrpc: "2.0", id: idOf(each), result: { protocolVersion: "2025-11-25" } }, 200, {
        "mcp-session-id": sessions.at(-1) ?? "",
      });
    });
    const handshake = (id: string) => ({ ...INITIALIZE, id });
    const session = (id: string) => got.find(({ body }) => (body as Message | undefined)?.id === id)?.headers["mcp-session-id"];
    send(handshake("first"), INITIALIZED, { jsonrpc: "2.0", id: "called", method: "tools/call", params: { name: "t" } });
    await until(() => held.length === 1);

    // Both at once: the second waits for the first, and later messages belong to the second.
    send(handshake("second"), INITIALIZED, { jsonrpc: "2.0", id: "after", method: "ping" });
    expect(await answerTo("second")).toMatchObject({ result: {} });
    await answerTo("after");
    expect([session("called"), session("after"), ended]).toEqual(["session-1", "session-2", []]);
    json(held[0]!, { jsonrpc: "2.0", id: "called", result: { done: true } });
    expect(await answerTo("called")).toMatchObject({ result: { done: true } });
    await until(() => ended.length > 0);
    expect(ended.splice(0)).toEqual(["session-1"]);

    // A refused handshake changes nothing. If no request is open, a new session ends the previous one at once.
    send({ ...handshake("refused"), params: { protocolVersion: "wrong" } }, { jsonrpc: "2.0", id: "still", method: "ping" });
    expect((await answerTo("refused")).error?.message).toBe("no such version");
    await answerTo("still");
    expect(session("still")).toBe("session-2");
    send(handshake("third"));
    await answerTo("third");
    await until(() => ended.length > 0);
    expect(ended).toEqual(["session-2"]);
  });

  test("carries a batch, and each of its requests is answered", async () => {
    const server = withSessions((each, response) => {
      const requests = each.body as Message[];
      json(
        response,
        requests.map(({ id }) => ({ jsonrpc: "2.0", id, result: {} })),
      );
    });
    const { bridge, send, received } = await run(server.serve);
    send(INITIALIZE, INITIALIZED);
    bridge.take('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]');
    await bridge.idle();
    expect(received.at(-1)).toEqual([
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
    ]);
  });
});

describe("an error for the client", () => {
  test("names its request, also if the server could not read the id", async () => {
    const { send, answerTo } = await run((_each, response) =>
      json(response, { jsonrpc: "2.0", error: { code: -32600, message: "the body is larger than 1 bytes" } }, 413),
    );
    send(call(3));
    expect(await answerTo(3)).toMatchObject({ error: { message: "the body is larger than 1 bytes" } });
  });

  test("says that the server's body is too large, and the next message is handled", async () => {
    const { send, answerTo } = await run((got, response) => {
      if (idOf(got) === 1) {
        response.on("error", () => undefined).writeHead(200, { "content-type": "application/json" });
        return void response.end(Buffer.alloc(BODY_BYTES_MAX + 1, " "));
      }
      json(response, { jsonrpc: "2.0", id: idOf(got), result: {} });
    });
    send(call(1));
    expect((await answerTo(1)).error?.message).toContain(`sent a body of more than ${BODY_BYTES_MAX} bytes`);
    send(call(2));
    expect(await answerTo(2)).toMatchObject({ result: {} });
  });

  test("says how to log in if the server requires it, after another token was tried", async () => {
    const { send, answerTo, got } = await run((_each, response) => void response.writeHead(401).end(), {}, { token: "old" });
    send(call(1));
    expect((await answerTo(1)).error?.message).toMatch(/parley login --url http/);
    expect(got.map(({ headers }) => headers.authorization)).toEqual(["Bearer old", "Bearer old-again"]);
  });

  test("does not say that a request may have been carried out when there was no server or no token to send it with", async () => {
    const received: Message[] = [];
    for (const remote of [
      { url: () => Promise.reject(new Error("no server starts")), token: () => Promise.resolve(undefined) },
      { url: () => Promise.resolve("http://127.0.0.1:1/mcp"), token: () => Promise.reject(new Error("no token can be read")) },
    ]) {
      const bridge = createBridge({
        remote: { ...remote, lost: () => undefined },
        write: async (message) => void received.push(message as Message),
        log: () => undefined,
      });
      bridge.take(JSON.stringify(call(1)));
      await bridge.idle();
      await bridge.close();
    }
    expect(received.map(({ error }) => error?.message)).toStrictEqual(["no server starts", "no token can be read"]);
  });

  test("says where an endpoint usually is if there is none at the address", async () => {
    const { send, answerTo } = await run((_each, response) => json(response, { message: "Route POST:/ not found" }, 404));
    send(call(1));
    expect((await answerTo(1)).error?.message).toMatch(/^there is no MCP endpoint at http:.*: it usually ends in \/mcp$/);
  });

  test("is a JSON-RPC error for an invalid message, and the next message is handled", async () => {
    const { bridge, received, send, answerTo } = await run((each, response) =>
      json(response, { jsonrpc: "2.0", id: idOf(each), result: {} }),
    );
    for (const line of ["garbage", "1", "[]", '{"jsonrpc":"2.0","id":4}', '{"jsonrpc":"1.0","method":"x"}']) bridge.take(line);
    bridge.refuse("the line is longer than 5 bytes");
    expect(received.map(({ error }) => error?.code)).toEqual([-32700, -32600, -32600, -32600, -32600, -32700]);
    send(call(1));
    expect(await answerTo(1)).toMatchObject({ result: {} });
  });

  test("says that an id is in use, and the first request is still answered", async () => {
    const held: ServerResponse[] = [];
    const { send, message, answerTo, got } = await run((_each, response) => void held.push(response));
    send(call(1));
    await until(() => got.length === 1);
    send(call(1));
    await message(({ error }) => error?.message.startsWith("the id is in use") === true);
    json(held[0]!, { jsonrpc: "2.0", id: 1, result: {} });
    await until(async () => (await answerTo(1)) !== undefined);
    expect(got).toHaveLength(1);
  });
});

describe("limits", () => {
  test("requests may be open up to the limit, and one more is refused", async () => {
    const held: { readonly id: number | string; readonly response: ServerResponse }[] = [];
    const { send, answerTo, got, bridge } = await run((each, response) => void held.push({ id: idOf(each), response }), { requestsMax: 3 });
    send(call(1), call(2), call(3), call(4));
    expect((await answerTo(4)).error?.message).toMatch(/^3 requests are not answered yet/);
    await until(() => got.length === 3);
    for (const { id, response } of held) json(response, { jsonrpc: "2.0", id, result: {} });
    await bridge.idle();
    send(call(5));
    await until(() => held.length === 4);
  });

  test("characters may wait to be sent up to the limit, and a message beyond it is refused", async () => {
    const length = JSON.stringify(call(1)).length;
    const { send, answerTo, got } = await run(() => undefined, { waitingCharsMax: 2 * length });
    send(call(1), call(2), call(3));
    expect((await answerTo(3)).error?.message).toMatch(/characters wait to be sent/);
    await until(() => got.length === 2);
  });

  test("a request that is cancelled before it is sent waits no longer, and its characters do not count", async () => {
    const { length } = JSON.stringify(call(10));
    const { send, got, received } = await run(() => undefined, { waitingCharsMax: 66 * length });
    // As many as are sent at once.
    for (let id = 10; id < 74; id += 1) send(call(id));
    await until(() => got.length === 64);
    for (let id = 74; id < 80; id += 1) {
      send(call(id), { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      await new Promise((resolve) => setImmediate(resolve));
    }
    send(call(80), call(81), call(82));
    await until(() => received.length > 0);
    expect(received).toMatchObject([{ id: 82, error: { message: expect.stringContaining("characters wait to be sent") } }]);
  });

  test("messages without a response may wait while no server responds, up to the limit, and further ones are dropped", async () => {
    const { got, logged, send, stop, back } = await run(withSessions((_each, response) => void response.writeHead(202).end()).serve, {
      waitingCharsMax: 20_000,
    });
    send(INITIALIZE, INITIALIZED);
    await until(() => got.some(({ body }) => (body as Message | undefined)?.method === "notifications/initialized"));
    await stop();
    const progress = (at: number) => ({ jsonrpc: "2.0", method: "notifications/progress", params: { at, message: "x".repeat(1_000) } });
    for (let at = 0; at < 100; at += 1) send(progress(at));
    expect(logged).toStrictEqual([
      "more than 20000 characters wait to be sent: a notification is dropped, and so are others until there is room",
    ]);
    await back();
    const arrived = () => got.flatMap(({ body }) => (body as Message | undefined)?.params?.["at"] ?? []);
    await until(() => arrived().length === 12);
    send(progress(100));
    await until(() => arrived().length > 12);
    expect(arrived()).toStrictEqual([...Array.from({ length: 12 }, (_, at) => at), 100]);
  });

  test("the bridge reads from the server no faster than the client reads", async () => {
    let free: (() => void) | undefined;
    let sent = 0;
    const { send, received } = await run(
      (_each, response) => {
        const say = stream(response);
        const fill = () => {
          while (sent < 2_000 && !response.writableNeedDrain) {
            sent += 1;
            say({ jsonrpc: "2.0", method: "notifications/message", params: { data: "x".repeat(50_000) } });
          }
        };
        response.on("drain", fill);
        fill();
      },
      {},
      { write: () => new Promise((resolve) => (free = resolve)) },
    );
    send(call(1));
    await until(() => received.length === 1 && sent > 0);
    let before = -1;
    // Nothing has moved for a while: what was sent fits into the buffers of the system.
    await until(
      () => {
        const still = before === sent;
        before = sent;
        return still;
      },
      { everyMs: 200 },
    );
    expect(sent).toBeLessThan(1_000);
    free?.();
    await until(() => received.length === 2);
  });
});
