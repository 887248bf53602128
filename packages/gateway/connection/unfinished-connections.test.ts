/** Servers that begin to connect and never finish: each ends within `connectTimeout`, and does not hold up what waits for the connection. */
import { json } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { startCall } from "../call/upstream-call.ts";
import { createConnector } from "./upstream-session.ts";
import { aRequest, leading, someDeps, upstreamOverHttp } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Serve = Parameters<typeof upstreamOverHttp>[0];

async function callOf(serve: Serve, given: object = {}) {
  const { fetch, upstream } = await upstreamOverHttp(serve, { connectTimeout: "500ms", callTimeout: "2s", ...given }, { closers });
  const call = startCall("call", aRequest({ upstream }), someDeps(createConnector({ fetch, version: "1", deployment: "d" })));
  closers.push(() => call.close());
  return await call.next([], leading());
}

test("a stream that names no endpoint for the older transport", async () => {
  const event = await callOf((request, response) => {
    if (request.method === "GET") response.writeHead(200, { "content-type": "text/event-stream" }).write(": nothing yet\n\n");
    else response.writeHead(405).end();
  });
  expect(event).toEqual({ type: "unavailable", message: expect.stringContaining("within its `connectTimeout`") });
});

test.each([
  [202, "text/plain"],
  [200, "application/json"],
  [200, "text/event-stream"],
])("a reply to notifications/initialized that never ends: HTTP %i, %s", async (status, type) => {
  const event = await callOf(
    (request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      void json(request).then((message) => {
        const { id, method } = message as { id?: number; method: string };
        if (method !== "initialize") return response.writeHead(status, { "content-type": type }).write(" ");
        const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } };
        const headers = { "content-type": "application/json", "mcp-session-id": "one" };
        return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    },
    { revisions: "sessions" },
  );
  expect(event).toEqual({ type: "unavailable", message: expect.stringContaining("within its `connectTimeout`") });
});
