/** A bridge of the older SSE transport that sends everything to all of its clients, as supergateway does. */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { prepareSessions } from "./prepared-sessions.ts";
import { startCall } from "../call/upstream-call.ts";
import { createConnector } from "./upstream-session.ts";
import { aRequest, FORM, leading, someDeps, upstreamOverHttp } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name: string; readonly arguments: { readonly text?: string }; readonly capabilities?: object };
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Bridge {
  /** Whom it sends a message to. Its own client is the one whose session the message belongs to. */
  readonly sendsTo?: "all" | "own" | "newest";
  /** It asks a question before it opens a session. */
  readonly asksFirst?: boolean;
  readonly callTimeout?: string;
  readonly connectTimeout?: string;
  readonly ignoresPings?: boolean;
  /** Sessions are opened ahead of calls. */
  readonly prepares?: boolean;
  /** It has no room for the second client. */
  readonly refusesSecond?: boolean;
}

/** Its tool `echo` answers once so many calls have arrived, and `ask` asks a question. */
async function bridge(
  echoes: number,
  { sendsTo = "all", asksFirst = false, ignoresPings = false, refusesSecond = false, prepares = false, ...times }: Bridge = {},
) {
  const { callTimeout = "2s", connectTimeout = "20s" } = times;
  const streams = new Map<string, ServerResponse>();
  const opened: object[] = [];
  let connections = 0;
  const waiting: Message[] = [];
  const answers: Message[] = [];
  let asking: Message["id"];
  const hear = (message: Message, session: string): void => {
    const { id, method, params } = message;
    const say = (said: object) => {
      const newest = [...streams.keys()].at(-1);
      for (const [name, stream] of streams)
        if (sendsTo === "all" || name === (sendsTo === "own" ? session : newest))
          stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...said })}\n\n`);
    };
    const serverInfo = { name: "bridge", version: "1" };
    const question = { id: randomUUID(), method: "elicitation/create", params: { message: "ok?", requestedSchema: FORM } };
    if (method === "initialize" && asksFirst) say(question);
    if (method === "ping" && !ignoresPings) say({ id, result: {} });
    if (method === "initialize") opened.push(params?.capabilities ?? {});
    if (method === "initialize")
      say({ id, result: { protocolVersion: "2024-11-05", capabilities: { tools: {}, logging: {} }, serverInfo } });
    else if (method === undefined) {
      answers.push(message);
      say({ id: asking, result: { content: [{ type: "text", text: JSON.stringify(message.result) }] } });
    } else if (params?.name === "ask") {
      asking = id;
      say({ method: "notifications/message", params: { level: "info", data: "a secret" } });
      say(question);
    } else if (params?.name === "echo" && waiting.push(message) >= echoes) {
      for (const call of waiting) say({ id: call.id, result: { content: [{ type: "text", text: call.params?.arguments.text }] } });
    }
  };
  const { fetch, upstream } = await upstreamOverHttp(
    (request, response) => {
      if (request.method === "GET") {
        connections += 1;
        if (refusesSecond && connections === 2) return void response.writeHead(503).end();
        const session = randomUUID();
        streams.set(session, response.writeHead(200, { "content-type": "text/event-stream" }));
        response.on("close", () => streams.delete(session));
        return void response.write(`event: endpoint\ndata: /messages?sessionId=${session}\n\n`);
      }
      if (request.url === "/sse") return void response.writeHead(404).end();
      void json(request).then((message) => {
        response.writeHead(202).end();
        hear(message as Message, new URL(request.url ?? "", "http://localhost").searchParams.get("sessionId") ?? "");
      });
    },
    { callTimeout, connectTimeout },
    { closers, path: "/sse" },
  );
  const direct = createConnector({ fetch, version: "1", deployment: "d" });
  const ahead = prepareSessions(direct);
  closers.push(() => ahead.close());
  const connector = prepares ? ahead : direct;
  return {
    connector,
    upstream,
    answers,
    waiting,
    opened,
    call(tool: string, args: { readonly text?: string } = {}) {
      // No session is opened ahead for callers with roots.
      const capabilities = { elicitation: { form: true, url: true }, sampling: { tools: false }, ...(!prepares && { roots: true }) };
      const call = startCall("call", aRequest({ upstream, tool, args, capabilities }), someDeps(connector));
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

test("a session that was opened ahead serves a call, although its caller could be asked", async () => {
  const { call, opened } = await bridge(1, { prepares: true });
  expect(await call("echo", { text: "one" }).next([], leading())).toMatchObject({ type: "result" });
  // Two that were compared, that of the call, and one ahead.
  await until(() => opened.length === 4);
  expect(await call("echo", { text: "one" }).next([], leading())).toMatchObject({ type: "result" });
});

const CAN_ASK = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

test.each(["all", "newest"] as const)(
  "no call can ask if a bridge sends to %s: not the first one either, and no session declares that it can be asked",
  async (sendsTo) => {
    const { call, opened, answers } = await bridge(1, { sendsTo, callTimeout: "1s" });
    for (let nth = 1; nth <= 2; nth += 1)
      expect(await call("ask").next([], leading())).toMatchObject({ type: "timeout", message: expect.stringContaining("to all of them") });
    expect([opened, answers]).toEqual([[{}, {}, {}, {}], []]);
  },
);

test("nor if that cannot be found out, because the server answers no pings", async () => {
  const { call, opened } = await bridge(1, { sendsTo: "own", ignoresPings: true, connectTimeout: "200ms", callTimeout: "300ms" });
  for (let nth = 1; nth <= 2; nth += 1)
    expect(await call("ask").next([], leading())).toMatchObject({ type: "timeout", message: expect.stringContaining("to all of them") });
  // It is not tried again for each call.
  expect(opened).toEqual([{}, {}, {}, {}]);
});

test.each([
  ["if each session has its own stream, which is found out once", {}, [{}, {}, CAN_ASK, CAN_ASK]],
  ["if its server has no room for a second session, which could be confused with it", { refusesSecond: true }, [{}, CAN_ASK, CAN_ASK]],
])("a question is asked and answered %s", async (_if, given_, declared) => {
  const { call, opened } = await bridge(1, { sendsTo: "own", ...given_ });
  for (let nth = 1; nth <= 2; nth += 1) {
    const ask = call("ask");
    const asked = await ask.next([], leading());
    if (asked.type !== "asked") throw new Error(asked.type);
    const given = asked.questions.map((question) => ({ question, answer: { action: "decline" } as const }));
    const content = [{ type: "text", text: '{"action":"decline"}' }];
    expect(await ask.next(given, leading())).toEqual({ type: "result", result: { content } });
  }
  expect(opened).toEqual(declared);
});
