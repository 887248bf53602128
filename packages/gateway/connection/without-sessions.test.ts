/**
 * A server of Streamable HTTP without session ids, as one transport of an SDK that serves every client: what does not belong to a request, it sends
 * to the client that was first to open a stream for it.
 */
import type { ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
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
  readonly params?: { readonly name?: string };
  readonly result?: object;
}

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

/** Its tool `waits` never ends, `asks` asks on the stream of the call, and `asks-aside` on the stream that belongs to no request. */
async function server() {
  let aside: ServerResponse | undefined;
  const waiting: string[] = [];
  const question = { id: "q", method: "elicitation/create", params: { message: "ok?", requestedSchema: FORM } };
  let answered: ((message: Message) => void) | undefined;
  function hear({ id, method, params, ...rest }: Message, response: ServerResponse): unknown {
    const { name = "" } = params ?? {};
    if (method === undefined) answered?.(rest);
    if (method === "initialize") {
      const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } };
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
    if (method !== "tools/call") return response.writeHead(202).end();
    waiting.push(name);
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    if (name === "asks") response.write(event(question));
    if (name === "asks-aside") aside?.write(event(question));
    answered = ({ result }) => response.end(event({ id, result: { content: [], structuredContent: result } }));
    return undefined;
  }
  const { fetch, upstream } = await upstreamOverHttp(
    (request, response) => {
      if (request.method === "POST") return void json(request).then((message) => hear(message as Message, response));
      if (request.method !== "GET" || aside) return void response.writeHead(aside ? 409 : 405).end();
      aside = response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      response.on("close", () => (aside = undefined));
    },
    { revisions: "sessions", callTimeout: "1s" },
    { closers },
  );
  const connector = createConnector({ fetch, version: "1", deployment: "d" });
  return {
    waiting,
    call(tool: string) {
      const call = startCall(tool, aRequest({ upstream, tool }), someDeps(connector));
      closers.push(() => call.close());
      return call;
    },
  };
}

test("a question that belongs to no request is not put to the caller of another call", async () => {
  const { call, waiting } = await server();
  const first = call("waits");
  await until(() => waiting.length === 1);
  const second = call("asks-aside");
  expect(await second.next([], leading())).toMatchObject({ type: "timeout" });
  expect(first.isWaiting()).toBe(false);
  expect(await first.next([], leading())).toMatchObject({ type: "timeout" });
});

test("a question that comes with the response to its call is asked and answered", async () => {
  const { call } = await server();
  const asks = call("asks");
  const asked = await asks.next([], leading());
  if (asked.type !== "asked") throw new Error(asked.type);
  const given = asked.questions.map((question) => ({ question, answer: { action: "decline" } as const }));
  expect(await asks.next(given, leading())).toMatchObject({ type: "result", result: { structuredContent: { action: "decline" } } });
});
