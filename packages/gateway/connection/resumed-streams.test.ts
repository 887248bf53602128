/** Connections that end while a person thinks, as at a proxy that closes idle ones, to a server of the official SDK. */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { FetchLike } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { startCall } from "../call/upstream-call.ts";
import { createConnector } from "./upstream-session.ts";
import { aRequest, FORM, leading, someDeps, upstreamOverHttp } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Serving {
  /** Whether events have ids, so that a stream can be resumed. */
  readonly isResumable: boolean;
  /** Whether the question is sent on the stream of the call, or on the session's own. */
  readonly isOnCall: boolean;
}

/** A call whose question is open, and the server's side of its connections. */
async function asking({ isResumable, isOnCall }: Serving) {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const resumed: ServerResponse[] = [];
  let calls = 0;
  const { http, fetch, upstream } = await upstreamOverHttp(
    (request, response) => {
      void (async () => {
        const known = transports.get(String(request.headers["mcp-session-id"]));
        if (request.headers["last-event-id"] !== undefined) resumed.push(response);
        if (known) return await known.handleRequest(request, response);
        const transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => void transports.set(id, transport),
          ...(isResumable && { eventStore: new InMemoryEventStore() }),
        });
        const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
        server.setRequestHandler(CallToolRequestSchema, async (_call, { sendRequest }) => {
          calls += 1;
          const question = { method: "elicitation/create", params: { message: "ok?", requestedSchema: FORM } } as const;
          const answer = isOnCall ? await sendRequest(question, ElicitResultSchema) : await server.request(question, ElicitResultSchema);
          return { content: [{ type: "text", text: answer.action }] };
        });
        await server.connect(transport as never);
        await transport.handleRequest(request, response);
      })();
    },
    { revisions: "sessions" },
    { closers },
  );
  let isCallRead = false;
  const reading: FetchLike = async (at, init) => {
    const response = await fetch(at, init);
    const isCall = typeof init?.body === "string" && init.body.includes("tools/call");
    if (!isCall || !response.body) return response;
    const transform = (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>) => {
      isCallRead = true;
      controller.enqueue(chunk);
    };
    return new Response(response.body.pipeThrough(new TransformStream({ transform })), response);
  };
  const connector = createConnector({ fetch: reading, version: "1", deployment: "d" });
  const call = startCall("call", aRequest({ upstream }), someDeps(connector));
  closers.push(() => call.close());
  const asked = await call.next([], leading());
  if (asked.type !== "asked") throw new Error(asked.type);
  // The first event of the call's stream has an id, if events have.
  if (isResumable) await until(() => isCallRead);
  return {
    call,
    cut: () => http.closeAllConnections(),
    /** The number of streams that were resumed and have begun. */
    resumed: () => resumed.filter(({ headersSent }) => headersSent).length,
    calls: () => calls,
    answer: () =>
      call.next(
        asked.questions.map((question) => ({ question, answer: { action: "decline" } as const })),
        leading(),
      ),
  };
}

describe("a call whose connections end again and again while its question is open", () => {
  test.each([
    ["on the stream of the call", true],
    ["on the session's own stream", false],
  ])("continues if its events have ids: the question came %s", async (_where, isOnCall) => {
    const { cut, resumed, calls, answer } = await asking({ isResumable: true, isOnCall });
    for (let cuts = 1; cuts <= 3; cuts += 1) {
      const before = resumed();
      cut();
      await until(() => resumed() > before);
    }
    expect(await answer()).toEqual({ type: "result", result: { content: [{ type: "text", text: "decline" }] } });
    expect(calls()).toBe(1);
  });

  test("is lost the first time if its events have none, and its question is withdrawn", async () => {
    const { call, cut, answer } = await asking({ isResumable: false, isOnCall: true });
    cut();
    await until(() => call.isOver());
    expect(await answer()).toMatchObject({ type: "lost" });
    expect(call.abandoned().size).toBe(1);
  });
});
