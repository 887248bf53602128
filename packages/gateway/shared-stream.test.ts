/** A bridge of the older SSE transport that sends everything to all of its clients, as supergateway does. */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { startCall } from "./upstream-call.ts";
import { createConnector } from "./upstream-session.ts";
import { aRequest, FORM, leading, someDeps, upstreamOverHttp } from "./upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name: string; readonly arguments: { readonly text?: string } };
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Its tool `echo` answers once so many calls have arrived, and `ask` asks a question. `asksFirst`: it asks one before it opens a session. */
async function bridge(echoes: number, { asksFirst = false } = {}) {
  const streams = new Set<ServerResponse>();
  const waiting: Message[] = [];
  const answers: Message[] = [];
  let asking: Message["id"];
  const say = (message: object) => {
    for (const stream of streams) stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  };
  const hear = (message: Message): void => {
    const { id, method, params } = message;
    const serverInfo = { name: "bridge", version: "1" };
    const question = { id: randomUUID(), method: "elicitation/create", params: { message: "ok?", requestedSchema: FORM } };
    if (method === "initialize" && asksFirst) say(question);
    if (method === "initialize")
      say({ id, result: { protocolVersion: "2024-11-05", capabilities: { tools: {}, logging: {} }, serverInfo } });
    else if (method === undefined) {
      answers.push(message);
      say({ id: asking, result: { content: [{ type: "text", text: JSON.stringify(message.result) }] } });
    } else if (params?.name === "ask") {
      asking = id;
      say({ method: "notifications/message", params: { level: "info", data: "a secret" } });
      say(question);
    } else if (params?.name === "echo" && waiting.push(message) === echoes) {
      for (const call of waiting) say({ id: call.id, result: { content: [{ type: "text", text: call.params?.arguments.text }] } });
    }
  };
  const { fetch, upstream } = await upstreamOverHttp(
    (request, response) => {
      if (request.method === "GET") {
        streams.add(response.writeHead(200, { "content-type": "text/event-stream" }));
        response.on("close", () => streams.delete(response));
        return void response.write(`event: endpoint\ndata: /messages?sessionId=${randomUUID()}\n\n`);
      }
      if (request.url === "/sse") return void response.writeHead(404).end();
      void json(request).then((message) => {
        response.writeHead(202).end();
        hear(message as Message);
      });
    },
    { callTimeout: "2s", connectTimeout: "20s" },
    { closers, path: "/sse" },
  );
  const connector = createConnector({ fetch, version: "1", deployment: "d" });
  return {
    connector,
    upstream,
    answers,
    waiting,
    call(tool: string, args: { readonly text?: string } = {}) {
      const call = startCall("call", aRequest({ upstream, tool, args }), someDeps(connector));
      closers.push(() => call.close());
      return call;
    },
  };
}

test("each of several calls at once gets its own result", async () => {
  const { call } = await bridge(10);
  const texts = Array.from({ length: 10 }, (_, nth) => `call ${nth}`);
  const events = await Promise.all(texts.map((text) => call("echo", { text }).next([], leading())));
  expect(events).toEqual(texts.map((text) => ({ type: "result", result: { content: [{ type: "text", text }] } })));
});

test("a question is put to nobody and answered by nobody, because it could be that of another call", async () => {
  const { call, connector, upstream, answers, waiting } = await bridge(2);
  // The session that reads lists cannot ask, and would refuse the question.
  const listing = await connector.open(upstream, { capabilities: { elicitation: {} } });
  closers.push(() => listing.close());
  const echo = call("echo", { text: "mine" });
  await until(() => waiting.length === 1);
  const reported: unknown[] = [];
  const ask = call("ask").next([], { ...leading(), report: (item) => void reported.push(item) });
  expect(await ask).toMatchObject({ type: "timeout" });
  expect([echo.isWaiting(), answers, reported]).toEqual([false, [], []]);
});

test("a question that arrives while a session is opened is not put to the caller of its call", async () => {
  const { call } = await bridge(1, { asksFirst: true });
  expect(await call("echo", { text: "mine" }).next([], leading())).toMatchObject({ type: "result" });
});

test("the question of the only call there is asked and answered", async () => {
  const { call } = await bridge(1);
  const ask = call("ask");
  const asked = await ask.next([], leading());
  if (asked.type !== "asked") throw new Error(asked.type);
  const given = asked.questions.map((question) => ({ question, answer: { action: "decline" } as const }));
  const content = [{ type: "text", text: '{"action":"decline"}' }];
  expect(await ask.next(given, leading())).toEqual({ type: "result", result: { content } });
});
