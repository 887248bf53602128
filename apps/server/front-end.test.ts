import { Agent, request } from "node:http";
import { describe, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { message } from "../../bench/client.ts";
import { post, rpc } from "./client.fixture.ts";
import { deploy, type Deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import { held, offered } from "./tools.fixture.ts";

async function one(request: Partial<Deploy> = {}): Promise<Deployment & Front> {
  const deployment = await deploy({ catalogue: offered, fronts: 1, ...request });
  return { ...deployment, ...deployment.fronts[0]! };
}

describe("what is served", () => {
  test("is discovered with its capabilities", async () => {
    const here = await one();
    const { result } = await rpc(here, "server/discover", {});
    expect(result).toMatchObject({
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    });
    expect(result!["capabilities"]).not.toHaveProperty("tasks");
    expect(result!["_meta"]!["io.modelcontextprotocol/serverInfo"]).toMatchObject({ name: "parley" });
  });

  test("is listed in the order in which it was defined", async () => {
    const here = await one();
    const tools = (await rpc(here, "tools/list", {})).result!["tools"] as unknown as { name: string }[];
    expect(tools.map(({ name }) => name)).toEqual([...offered.tools.keys()]);
    expect((await rpc(here, "prompts/list", {})).result).toMatchObject({ prompts: [{ name: "note" }, { name: "letter" }] });
    expect((await rpc(here, "resources/list", {})).result).toMatchObject({ resources: [{ uri: "test://text" }] });
    expect((await rpc(here, "resources/templates/list", {})).result).toMatchObject({
      resourceTemplates: [{ uriTemplate: "test://item/{id}" }],
    });
  });

  test("refuses an unknown cursor with -32602", async () => {
    expect(await rpc(await one(), "tools/list", { cursor: "nonsense" })).toMatchObject({ status: 200, error: { code: -32602 } });
  });

  test("is read by uri and by template; an unknown uri is refused with -32602", async () => {
    const here = await one();
    expect((await rpc(here, "resources/read", { uri: "test://text" })).result).toMatchObject({ contents: [{ text: "plain text" }] });
    expect((await rpc(here, "resources/read", { uri: "test://item/5" })).result).toMatchObject({ contents: [{ text: "item 5" }] });
    const missing = await rpc(here, "resources/read", { uri: "test://nothing" });
    expect(missing).toMatchObject({ status: 200, error: { code: -32602, data: { uri: "test://nothing" } } });
  });

  test("completes arguments of prompts, with nothing for arguments without suggestions", async () => {
    const here = await one();
    const complete = (ref: object, name: string, value: string) => rpc(here, "completion/complete", { ref, argument: { name, value } });
    const prompt = { type: "ref/prompt", name: "letter" };
    expect((await complete(prompt, "to", "A")).result).toMatchObject({ completion: { values: ["Alice", "Adam"] } });
    expect((await complete(prompt, "other", "A")).result).toMatchObject({ completion: { values: [] } });
    expect((await complete({ type: "ref/resource", uri: "test://item/{id}" }, "id", "")).result).toMatchObject({
      completion: { values: [] },
    });
    expect((await complete({ type: "ref/prompt", name: "nope" }, "to", "A")).error).toMatchObject({ code: -32602 });
  });
});

describe("a caller", () => {
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: {} });
  const headers = { "content-type": "application/json", "mcp-protocol-version": "2026-07-28" };
  const send = ({ app }: Front, more: Record<string, string>) =>
    app.server.inject({ method: "POST", url: "/mcp", headers: { ...headers, ...more }, body });

  test("that uses a host name other than localhost is refused with 403", async () => {
    const here = await one();
    for (const host of ["evil.example.com", "evil.example.com:3000", "localhost.evil.example.com", "127.0.0.1.evil.example.com"]) {
      expect((await send(here, { host })).statusCode, host).toBe(403);
    }
    for (const host of ["localhost", "LOCALHOST:3000", "127.0.0.1:80", "[::1]", "[::1]:3000"])
      expect((await send(here, { host })).statusCode, host).toBe(202);
  });

  test("from another site's web page is refused with 403", async () => {
    const here = await one();
    for (const origin of ["https://evil.example.com", "null", "http://localhost.evil.example.com", "ftp://localhost"]) {
      const refused = await send(here, { origin });
      expect(refused.statusCode, origin).toBe(403);
      expect(refused.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32600 } });
    }
    const trusted = await send(here, { origin: "http://localhost:5173" });
    expect(trusted.statusCode).toBe(202);
    expect(trusted.headers["access-control-allow-origin"]).toBe("http://localhost:5173");
  });

  test("is refused before its body is read, with any method", async () => {
    const here = await one();
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"] as const) {
      const refused = await here.app.server.inject({
        method,
        url: "/mcp",
        headers: { host: "evil.example.com", "content-type": "text/plain" },
      });
      expect(refused.statusCode, method).toBe(403);
    }
  });

  test("is trusted according to the settings", async () => {
    const here = await one({ trusted: { allowedHosts: ["parley.example.com:443"], allowedOrigins: ["*"] } });
    expect((await send(here, { host: "parley.example.com:443", origin: "https://anywhere.example" })).statusCode).toBe(202);
    expect((await send(here, { host: "parley.example.com:80" })).statusCode).toBe(403);
    expect((await send(here, { host: "localhost" })).statusCode).toBe(403);
  });

  test("is trusted at every name below a domain, which is how a Gateway or an Ingress names many hosts", async () => {
    const here = await one({ trusted: { allowedHosts: ["*.Example.com"], allowedOrigins: ["*.example.com"] } });
    for (const host of ["a.example.com", "A.b.EXAMPLE.com:8443"]) expect((await send(here, { host })).statusCode, host).toBe(202);
    for (const host of ["example.com", ".example.com", "evil-example.com", "a.example.com.evil.org", "a.example.com:80:80"])
      expect((await send(here, { host })).statusCode, host).toBe(403);
    expect((await send(here, { host: "a.example.com", origin: "https://a.example.com" })).statusCode).toBe(403);
  });

  test("in a browser learns what it may send", async () => {
    const here = await one();
    const preflight = await here.app.server.inject({
      method: "OPTIONS",
      url: "/mcp",
      headers: {
        origin: "http://localhost:5173",
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-method,mcp-name",
      },
    });
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": "http://localhost:5173",
      "access-control-allow-headers": "mcp-method,mcp-name",
    });
  });
});

describe("a reply", () => {
  test("is not rendered, sniffed or cached by browsers", async () => {
    const here = await one();
    for (const url of ["/mcp", "/healthz", "/nothing"]) {
      const { headers } = await here.app.server.inject({ method: "GET", url });
      expect(headers, url).toMatchObject({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
    }
  });
});

describe("the log", () => {
  test("has one line per request, without arguments, answers or forms", async () => {
    const here = await one();
    const secret = "a very private text";
    await rpc(here, "tools/call", { name: "echo", arguments: { text: secret } });
    await rpc(
      here,
      "tools/call",
      { name: "introduce", arguments: { secret }, inputResponses: { who: { action: "accept", content: { name: secret } } } },
      { tasks: false },
    );
    await here.app.server.inject("/healthz");
    const lines = await until(() => {
      const found = here.logged.filter(({ message }) => message === "request answered");
      return found.length === 2 && found;
    });
    expect(lines[0]!.fields).toEqual({
      requestId: expect.any(String),
      method: "POST",
      rpcMethod: "tools/call",
      status: 200,
      ms: expect.any(Number),
    });
    expect(JSON.stringify(here.logged)).not.toContain(secret);
  });
});

describe("a front end", () => {
  test("is alive, and is ready as long as its store answers", async () => {
    let away = false;
    const here = await one({ reachable: async () => (away ? Promise.reject(new Error("Redis: Connection is closed.")) : undefined) });
    const status = async (url: string) => (await here.app.server.inject({ url, headers: { host: "10.0.0.7:3000" } })).statusCode;
    expect([await status("/healthz"), await status("/readyz")]).toEqual([200, 200]);
    expect((await here.app.server.inject("/healthz")).json()).toEqual({ status: "ok", version: "0" });
    away = true;
    expect([await status("/healthz"), await status("/readyz")]).toEqual([200, 503]);
  });

  test("that is shut down reports it while it still serves, then lets calls in flight end", async () => {
    const here = await one({ times: { shutdownDelayMs: 100, shutdownTimeoutMs: 5_000 } });
    const waiting = rpc(here, "tools/call", { name: "hold", arguments: {} }, { tasks: false });
    await until(() => here.logged.some(({ message }) => message === "task created"));
    const closed = here.app.close();
    expect((await fetch(new URL("/readyz", here.url))).status).toBe(503);
    expect((await rpc(here, "tools/list", {})).status).toBe(200);
    await until(async () => (await fetch(here.url).catch(() => undefined)) === undefined);
    held.release();
    expect((await waiting).result).toMatchObject({ content: [{ text: "released" }] });
    await closed;
  });

  test("that is shut down hands waiting calls over to another one, and loses none", async () => {
    const { fronts, logged } = await deploy({ catalogue: offered, times: { shutdownTimeoutMs: 10 } });
    const [here, there] = [fronts[0]!, fronts[1]!];
    const waiting = rpc(here, "tools/call", { name: "hold", arguments: {} }, { tasks: false });
    await until(() => logged.some(({ message }) => message === "task created"));
    await here.app.close();
    const handed = await waiting;
    expect(handed.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    expect(handed.result).not.toHaveProperty("inputRequests");
    const again = rpc(there, "tools/call", { name: "hold", arguments: {}, requestState: handed.result!["requestState"] }, { tasks: false });
    held.release();
    expect((await again).result).toMatchObject({ content: [{ text: "released" }] });
    expect(logged.filter(({ message }) => message === "task created")).toHaveLength(1);
  });

  describe("whose clients keep their connections", () => {
    /** Sends requests on one connection for as long as it is open. */
    function keeping(url: string) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const send = (method: string, params: Readonly<Record<string, unknown>>, name = "") =>
        new Promise<{ readonly connection: string | undefined; readonly result: Readonly<Record<string, unknown>> }>((resolve, reject) => {
          const { headers, body } = message(method, params, name);
          const text = body.replace('"extensions":{"io.modelcontextprotocol/tasks":{}}', '"extensions":{}');
          const outgoing = request(url, { agent, method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(text) } });
          outgoing.on("error", reject);
          outgoing.on("response", (incoming) => {
            const chunks: Buffer[] = [];
            incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
            incoming.on("end", () => {
              const reply = Buffer.concat(chunks).toString();
              const json = reply.startsWith("{")
                ? reply
                : (reply.split("\n").findLast((line) => line.startsWith("data: {")) ?? "").slice(6);
              resolve({ connection: incoming.headers.connection, ...(JSON.parse(json) as { result: Readonly<Record<string, unknown>> }) });
            });
          });
          outgoing.end(text);
        });
      return { send, close: () => agent.destroy() };
    }

    test("asks them to close their connections as soon as it drains", async () => {
      const here = await one({ times: { shutdownDelayMs: 200 } });
      const client = keeping(here.url);
      expect((await client.send("tools/list", {})).connection).toBe("keep-alive");
      const closed = here.app.close();
      expect((await client.send("tools/list", {})).connection).toBe("close");
      await closed;
      client.close();
    });

    test("answers calls that are handed over and come back on the same connection", async () => {
      const here = await one({ times: { shutdownTimeoutMs: 10 } });
      const client = keeping(here.url);
      const call = { name: "hold", arguments: {} };
      const waiting = client.send("tools/call", call, "hold");
      await until(() => here.logged.some((line) => line.message === "task created"));
      const closed = here.app.close();
      const { requestState } = (await waiting).result;
      const again = await client.send("tools/call", { ...call, requestState }, "hold");
      expect(again).toMatchObject({ connection: "close", result: { resultType: "input_required", requestState: expect.any(String) } });
      held.release();
      await closed;
      client.close();
    });
  });

  test("closes at once when nothing is in flight, even if clients keep connections open", async () => {
    const here = await one({ times: { shutdownTimeoutMs: 60_000 } });
    await (await post(here, "tools/list", {})).text();
    await here.app.close();
    await here.app.close();
    await expect(fetch(here.url)).rejects.toThrow();
  });
});
