/** Sessions that are opened ahead of their calls, at a classic upstream over real HTTP. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSessionServer } from "../../test/support/session-server.ts";
import { until } from "../../test/support/until.ts";
import { PREPARED_EACH_MAX, type PreparedOptions, type PreparedSessions, prepareSessions } from "./prepared.ts";
import { startCall } from "./upstream-call.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createConnector, type UpstreamSession } from "./upstream-session.ts";
import { parseUpstreams, type Upstream } from "./upstreams.ts";
import { aRequest, FORM, leading, someDeps } from "./upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Sessions that are open, and in which one each call was made. */
let sessions: Map<string, StreamableHTTPServerTransport>;
let calls: string[];
let url: string;

beforeEach(async () => {
  calls = [];
  const upstream = createSessionServer((transport) => {
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      calls.push(transport.sessionId ?? "none");
      const asked = { mode: "form", message: params.name, requestedSchema: FORM } as const;
      const text =
        params.name === "ask"
          ? JSON.stringify(await server.request({ method: "elicitation/create", params: asked }, ElicitResultSchema))
          : "";
      return { content: [{ type: "text", text }] };
    });
    return server;
  });
  ({ sessions } = upstream);
  const http = createServer((request, response) => void upstream.serve(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    http.closeAllConnections();
    http.close();
  });
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});

function preparing(options: PreparedOptions = {}): { readonly prepared: PreparedSessions; readonly upstream: Upstream } {
  const { fetch, close } = createUpstreamFetch();
  const prepared = prepareSessions(createConnector({ fetch, version: "1", deployment: "d" }), options);
  closers.push(close, prepared.close);
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url, revisions: "sessions" }] }));
  return { prepared, upstream: upstream! };
}

function calling({ prepared, upstream }: ReturnType<typeof preparing>, tool = "plain") {
  return startCall("1", aRequest({ upstream, tool }), someDeps(prepared));
}

describe("a session", () => {
  test("is there for the next call, and each call has its own", async () => {
    const up = preparing();
    for (let call = 1; call <= 3; call += 1) {
      expect(await calling(up).next([], leading())).toMatchObject({ type: "result" });
      await until(() => [...sessions.keys()].filter((id) => !calls.includes(id)).length === call);
    }
    expect(new Set(calls).size).toBe(3);
  });

  test("that was prepared passes on what its call is asked, and the answer", async () => {
    const up = preparing();
    await calling(up).next([], leading());
    await until(() => sessions.size === 1);
    const call = calling(up, "ask");
    const event = await call.next([], leading());
    if (event.type !== "asked") throw new Error(`${event.type} came in place of a question`);
    const answer = { action: "accept", content: { ok: true } } as const;
    const result = await call.next([{ question: event.questions[0]!, answer }], leading());
    expect(JSON.stringify(result)).toContain("accept");
  });

  test("of other capabilities is not used", async () => {
    const { prepared, upstream } = preparing();
    await (await prepared.open(upstream, { capabilities: {} })).close();
    await until(() => sessions.size === 1);
    expect((await prepared.open(upstream, { capabilities: { roots: {} } })).isPrepared).toBeUndefined();
    expect((await prepared.open(upstream, { capabilities: {} })).isPrepared).toBe(true);
  });

  test("that nobody takes is closed after a while", async () => {
    const up = preparing({ keptMs: 50 });
    await calling(up).next([], leading());
    await until(() => sessions.size === 1);
    await until(() => sessions.size === 0);
  });

  test("that is prepared is one of as many as may be, and one more is opened when it is wanted", async () => {
    const { prepared, upstream } = preparing({ preparedMax: 1 });
    for (const capabilities of [{}, { roots: {} }]) await (await prepared.open(upstream, { capabilities })).close();
    await until(() => sessions.size === 1);
    expect((await prepared.open(upstream, { capabilities: { roots: {} } })).isPrepared).toBeUndefined();
    expect((await prepared.open(upstream, { capabilities: {} })).isPrepared).toBe(true);
  });

  test("is prepared for each call that came of late, up to as many as an upstream may have ahead", async () => {
    const { prepared, upstream } = preparing();
    const held: UpstreamSession[] = [];
    for (let call = 1; call <= PREPARED_EACH_MAX + 1; call += 1) {
      held.push(await prepared.open(upstream, { capabilities: {} }));
      await until(() => sessions.size === held.length + Math.min(call, PREPARED_EACH_MAX));
    }
    await Promise.all(held.map((session) => session.close()));
    await until(() => sessions.size === PREPARED_EACH_MAX);
  });

  test("is prepared when it is quiet, and not before", async () => {
    const putOff: (() => void)[] = [];
    const { prepared, upstream } = preparing({ whenQuiet: (work) => void putOff.push(work) });
    await (await prepared.open(upstream, { capabilities: {} })).close();
    expect((await prepared.open(upstream, { capabilities: {} })).isPrepared).toBeUndefined();
    for (const work of putOff) work();
    await until(async () => (await prepared.open(upstream, { capabilities: {} })).isPrepared === true);
  });

  test("that the upstream has forgotten is replaced, and the call is made once", async () => {
    const up = preparing();
    await calling(up).next([], leading());
    await until(() => sessions.size === 1);
    sessions.clear();
    expect(await calling(up).next([], leading())).toMatchObject({ type: "result" });
    expect(calls).toHaveLength(2);
  });
});
