/** Answers on their way to a classic upstream with the official SDK over HTTP, whose connections break when an answer arrives. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { insistOnAnswers } from "./sent-answers.ts";
import { startCall } from "../call/upstream-call.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createConnector } from "./upstream-session.ts";
import { aRequest, FORM, leading, someDeps } from "../upstream.fixture.ts";
import { parseUpstreams } from "../config/upstreams.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** What happens to each answer, in turn; after the last, answers are accepted. */
let becomes: ("cut" | "cut when taken" | number)[];
let came: number;
let url: string;

beforeEach(async () => {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  becomes = [];
  came = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === "POST" ? ((await json(request)) as { method?: string }) : undefined;
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known && body && body.method === undefined) {
      came += 1;
      const fate = becomes.shift();
      if (fate === "cut") return void request.socket.destroy();
      if (typeof fate === "number") return void response.writeHead(fate).end();
      // The answer arrives, but its response is lost.
      if (fate === "cut when taken") response.writeHead = () => response.destroy() as ServerResponse;
    }
    if (known) return await known.handleRequest(request, response, body);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, async (_request, { sendRequest }) => {
      const asked = { method: "elicitation/create", params: { mode: "form", message: "sure?", requestedSchema: FORM } } as const;
      return { content: [{ type: "text", text: JSON.stringify(await sendRequest(asked, ElicitResultSchema)) }] };
    });
    await server.connect(transport as never);
    await transport.handleRequest(request, response, body);
  };
  const http = createServer((request, response) => void serve(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    http.closeAllConnections();
    http.close();
  });
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});

const ACCEPTED = { action: "accept", content: { ok: true } } as const;

/** Makes the call, answers its question, and returns its outcome. */
async function answered() {
  const { call, given } = await asking();
  return await call.next(given, leading());
}

/** Makes the call, and returns it with the answer to its question. */
async function asking(accessToken?: string) {
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  const file = { upstreams: [{ name: "up", url, revisions: "sessions", callTimeout: "20s" }] };
  const [upstream] = parseUpstreams("up.json", JSON.stringify(file));
  const call = startCall(
    "1",
    aRequest({ upstream: upstream!, ...(accessToken !== undefined && { accessToken }) }),
    someDeps(createConnector({ fetch, version: "1", deployment: "d" })),
  );
  closers.push(() => call.close());
  const asked = await call.next([], leading());
  if (asked.type !== "asked") throw new Error(`${asked.type} came in place of a question`);
  return { call, given: [{ question: asked.questions[0]!, answer: ACCEPTED }] };
}

describe("an answer", () => {
  test.each([
    ["whose connection broke", ["cut"], 2],
    ["that a balancer had nobody for, twice", [503, 502], 3],
    ["that came too slowly, and then too soon", [408, 429], 3],
    ["that was taken, which nobody heard", ["cut when taken"], 2],
  ] as const)("%s is sent again, and counts once", async (_what, fates, times) => {
    becomes = [...fates];
    expect(await answered()).toMatchObject({ type: "result", result: { content: [{ text: JSON.stringify(ACCEPTED) }] } });
    // The result may come before the word that the second one was not needed.
    expect(came).toBeLessThanOrEqual(times);
    expect(becomes).toEqual([]);
  });

  test("that is refused for the caller's token is sent with the next token, in the same call", async () => {
    becomes = [401, 401];
    const { call, given } = await asking("t1");
    expect(await call.next(given, { ...leading(), accessToken: "t1" })).toEqual({ type: "unauthorized" });
    expect(await call.next(given, { ...leading(), accessToken: "t2" })).toEqual({ type: "unauthorized" });
    expect(await call.next(given, { ...leading(), accessToken: "t3" })).toMatchObject({
      type: "result",
      result: { content: [{ text: JSON.stringify(ACCEPTED) }] },
    });
    expect(came).toBe(3);
  });

  test("that is refused for a credential of the file ends the call", async () => {
    becomes = [401];
    expect(await answered()).toEqual({ type: "lost", message: expect.stringContaining("HTTP 401") });
  });

  test("to a session that its upstream has forgotten ends the call at once, with that error", async () => {
    becomes = [404];
    expect(await answered()).toEqual({ type: "lost", message: expect.stringMatching(/^an answer could not be sent .*HTTP 404/) });
    expect(came).toBe(1);
  });

  test.each([
    [2, false],
    [3, true],
  ])("that is sent again twice and fails %i times is lost: %s", async (failures, isLost) => {
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: async () => {
        came += 1;
        return came <= failures ? Promise.reject(new TypeError("fetch failed")) : new Response(null, { status: 202 });
      },
    });
    const lost: string[] = [];
    insistOnAnswers(transport, { onCut: (why) => lost.push(why) }, [1, 1]);
    await transport.start();
    const sent = transport.send({ jsonrpc: "2.0", id: 1, result: {} });
    if (isLost) await expect(sent).rejects.toThrow("fetch failed");
    else await sent;
    expect(came).toBe(3);
    expect(lost).toHaveLength(isLost ? 1 : 0);
    await transport.close();
  });

  test("is not sent again once its call was dropped, and a request never is", async () => {
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: async () => {
        came += 1;
        throw new TypeError("fetch failed");
      },
    });
    const lost: string[] = [];
    insistOnAnswers(transport, { onCut: (why) => lost.push(why) }, [60_000]);
    await transport.start();
    await expect(transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} })).rejects.toThrow("fetch failed");
    expect(came).toBe(1);
    const sent = transport.send({ jsonrpc: "2.0", id: 1, result: {} });
    await transport.close();
    await expect(sent).rejects.toThrow();
    expect(came).toBe(2);
    expect(lost).toEqual([]);
  });
});
