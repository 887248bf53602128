/** Upstreams that answer a call with HTTP 202, and send its result on the session's own stream. MCP does not allow that, but the MCP client does. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { startCall, type UpstreamCall } from "./upstream-call.ts";
import { prepareSessions } from "../connection/prepared-sessions.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { aRequest, FORM, leading, someDeps, upstreamOverHttp } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const RESULT = { content: [{ type: "text", text: "done" }] };

interface Upstream {
  /** Answers a request for the session's own stream. */
  readonly stream: (response: ServerResponse, nth: number) => void;
  /** Receives a call once it was accepted. */
  readonly called?: (id: number) => void;
  /** Receives an answer to a question. */
  readonly answered?: (result: unknown) => void;
  readonly rest?: object;
}

async function calling({ stream, called, answered, rest = {} }: Upstream) {
  let streams = 0;
  let sessions = 0;
  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method === "GET") return stream(response, (streams += 1));
    if (incoming.method !== "POST") return void response.end();
    const { id, method, result } = (await json(incoming)) as { id?: number; method?: string; result?: unknown };
    if (method === "server/discover") {
      const discovered = { resultType: "complete", ttlMs: 0, cacheScope: "private", supportedVersions: ["2026-07-28"] };
      const whole = { ...discovered, capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } };
      return void response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result: whole }));
    }
    if (method !== "initialize") {
      response.writeHead(202).end();
      if (method === "tools/call") called?.(id ?? 0);
      if (result !== undefined) answered?.(result);
      return;
    }
    sessions += 1;
    const opened = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "test", version: "1" } };
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": String(sessions) });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: opened }));
  }
  const { fetch, upstream } = await upstreamOverHttp(
    (incoming, response) => void respond(incoming, response),
    { revisions: "sessions", ...rest },
    { closers },
  );
  const connector = prepareSessions(createConnector({ fetch, version: "1", deployment: "d" }));
  closers.push(() => connector.close());
  const call = (): UpstreamCall => {
    const started = startCall("call", aRequest({ upstream }), someDeps(connector));
    closers.push(() => started.close());
    return started;
  };
  return { call, sessions: () => sessions };
}

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const open = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();

test("a result that comes on the session's own stream is the result of the call", async () => {
  let own: ServerResponse | undefined;
  const { call } = await calling({
    stream: (response) => {
      own = response;
      open(response);
    },
    called: (id) => own?.write(event({ id, result: RESULT })),
  });
  expect(await call().next([], leading())).toEqual({ type: "result", result: RESULT });
});

test("a question comes on that stream too, before the result", async () => {
  let own: ServerResponse | undefined;
  let called = 0;
  const { call } = await calling({
    stream: (response) => {
      own = response;
      open(response);
    },
    called(id) {
      called = id;
      own?.write(event({ id: "q", method: "elicitation/create", params: { message: "ok?", requestedSchema: FORM } }));
    },
    answered: (result) => own?.write(event({ id: called, result: { ...RESULT, structuredContent: result } })),
  });
  const started = call();
  const asked = await started.next([], leading());
  if (asked.type !== "asked") throw new Error(asked.type);
  const given = asked.questions.map((question) => ({ question, answer: { action: "decline" } as const }));
  expect(await started.next(given, leading())).toEqual({
    type: "result",
    result: { ...RESULT, structuredContent: { action: "decline" } },
  });
});

test.each(["sessions", "newest"])("a call without such a stream is lost at once: %s", async (revisions) => {
  const { call } = await calling({ stream: (response) => void response.writeHead(405).end(), rest: { revisions } });
  expect(await call().next([], leading())).toEqual({ type: "lost", message: expect.stringMatching(/HTTP 202/) });
});

test("a call is lost when that stream has ended and cannot be opened again", async () => {
  let own: ServerResponse | undefined;
  const { call } = await calling({
    stream: (response, nth) => {
      own = response;
      if (nth === 1) open(response);
      else response.writeHead(404).end();
    },
    called: () => own?.end(),
  });
  expect(await call().next([], leading())).toEqual({ type: "lost", message: expect.stringMatching(/HTTP 202/) });
});

test("a stream that ends before the result is opened again, and the result may come on the next one", async () => {
  let own: ServerResponse | undefined;
  let called = 0;
  const { call } = await calling({
    stream: (response, nth) => {
      own = response;
      open(response);
      if (nth > 1) response.write(event({ id: called, result: RESULT }));
    },
    called(id) {
      called = id;
      own?.end();
    },
  });
  expect(await call().next([], leading())).toEqual({ type: "result", result: RESULT });
});

test("its session is not reused: the client opens no other stream after one that had a result", async () => {
  let own: ServerResponse | undefined;
  const { call, sessions } = await calling({
    stream: (response) => {
      own = response;
      open(response);
    },
    called: (id) => own?.end(event({ id, result: RESULT })),
    rest: { reuseSessions: true },
  });
  for (const nth of [1, 2]) {
    expect(await call().next([], leading())).toEqual({ type: "result", result: RESULT });
    expect(sessions()).toBe(nth);
  }
});
