/** Sessions that are opened before their calls, at a classic upstream over real HTTP. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { ANONYMOUS, type ClientCapabilities } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSessionServer } from "../../../test/support/session-server.ts";
import { until } from "../../../test/support/until.ts";
import { PREPARED_EACH_MAX, type PreparedOptions, type PreparedSessions, prepareSessions } from "./prepared-sessions.ts";
import { startCall } from "../call/upstream-call.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import type { UpstreamEvent } from "../wire/upstream-event.ts";
import { createConnector, type UpstreamSession } from "./upstream-session.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";
import { aRequest, FORM, leading, someDeps } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Sessions that are open, and in which one each call was made. */
let sessions: Map<string, StreamableHTTPServerTransport>;
let calls: string[];
/** Asks in the session of the last call, and returns the outcome. */
let askLater: () => Promise<string>;
let url: string;

beforeEach(async () => {
  calls = [];
  const upstream = createSessionServer((transport) => {
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      calls.push(transport.sessionId ?? "none");
      const asked = { mode: "form", message: params.name, requestedSchema: FORM } as const;
      const ask = async () =>
        JSON.stringify(await server.request({ method: "elicitation/create", params: asked }, ElicitResultSchema).catch(String));
      askLater = ask;
      if (params.name === "fail") throw new Error("no");
      if (params.name === "ask and leave") void ask();
      // The person may still be on the page: that they are done is told in this session.
      const visit = { mode: "url", message: "Log in", url: "https://up.example.com", elicitationId: "1" } as const;
      if (params.name === "visit") await server.request({ method: "elicitation/create", params: visit }, ElicitResultSchema);
      const text = params.name === "ask" ? await ask() : "";
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

function preparing(
  options: PreparedOptions = {},
  reuseSessions: false | "stateless" = false,
): { readonly prepared: PreparedSessions; readonly upstream: Upstream } {
  const { fetch, close } = createUpstreamFetch();
  const prepared = prepareSessions(createConnector({ fetch, version: "1", deployment: "d" }), options);
  closers.push(close, prepared.close);
  const [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url, revisions: "sessions", reuseSessions }] }));
  return { prepared, upstream: upstream! };
}

function calling(
  { prepared, upstream }: ReturnType<typeof preparing>,
  tool = "plain",
  principal = "ann",
  { session, capabilities }: { readonly session?: string | undefined; readonly capabilities?: ClientCapabilities } = {},
) {
  const request = aRequest({ upstream, tool, principal, ...(session !== undefined && { session }), ...(capabilities && { capabilities }) });
  return startCall("1", request, someDeps(prepared));
}

/** Makes the call, accepts its questions, and returns its outcome. */
async function ended(...given: Parameters<typeof calling>): Promise<UpstreamEvent> {
  const call = calling(...given);
  const event = await call.next([], leading());
  if (event.type !== "asked") return event;
  const answer = { action: "accept", content: { ok: true } } as const;
  return await call.next([{ question: event.questions[0]!, answer }], leading());
}

describe("a session", () => {
  test("is ready for the next call, and each call has its own", async () => {
    const up = preparing();
    for (let call = 1; call <= 3; call += 1) {
      expect(await calling(up).next([], leading())).toMatchObject({ type: "result" });
      await until(() => [...sessions.keys()].filter((id) => !calls.includes(id)).length === call);
    }
    expect(new Set(calls).size).toBe(3);
  });

  test("is not opened ahead for callers with roots, which it would be asked for before its call", async () => {
    const { prepared, upstream } = preparing();
    for (const capabilities of [{ roots: {} }, { roots: {} }, {}]) {
      const session = await prepared.open(upstream, { capabilities });
      expect(session.isPrepared).toBeUndefined();
      await session.close();
    }
    await until(async () => {
      const session = await prepared.open(upstream, { capabilities: {} });
      await session.close();
      return session.isPrepared;
    });
  });

  test("that was prepared passes on the questions of its call, and the answers", async () => {
    const up = preparing();
    await calling(up).next([], leading());
    await until(() => sessions.size === 1);
    expect(JSON.stringify(await ended(up, "ask"))).toContain("accept");
  });

  test("with other capabilities is not used", async () => {
    const { prepared, upstream } = preparing();
    await (await prepared.open(upstream, { capabilities: {} })).close();
    await until(() => sessions.size === 1);
    expect((await prepared.open(upstream, { capabilities: { roots: {} } })).isPrepared).toBeUndefined();
    expect((await prepared.open(upstream, { capabilities: {} })).isPrepared).toBe(true);
  });

  test("that no call takes is closed after a while", async () => {
    const up = preparing({ keptMs: 50 });
    await calling(up).next([], leading());
    await until(() => sessions.size === 1);
    await until(() => sessions.size === 0);
  });

  test("is prepared up to the limit, and one more is opened only when it is needed", async () => {
    const { prepared, upstream } = preparing({ preparedMax: 1 });
    for (const capabilities of [{}, { sampling: {} }]) await (await prepared.open(upstream, { capabilities })).close();
    await until(() => sessions.size === 1);
    expect((await prepared.open(upstream, { capabilities: { sampling: {} } })).isPrepared).toBeUndefined();
    expect((await prepared.open(upstream, { capabilities: {} })).isPrepared).toBe(true);
  });

  test("is prepared for each recent call, up to the limit of an upstream", async () => {
    const { prepared, upstream } = preparing();
    const held: UpstreamSession[] = [];
    for (let call = 1; call <= PREPARED_EACH_MAX + 1; call += 1) {
      held.push(await prepared.open(upstream, { capabilities: {} }));
      await until(() => sessions.size === held.length + Math.min(call, PREPARED_EACH_MAX));
    }
    await Promise.all(held.map((session) => session.close()));
    await until(() => sessions.size === PREPARED_EACH_MAX);
  });

  test.each([false, "stateless"] as const)(
    "that was opened for any call is not taken by one with its caller's token, and the other way round: reused %s",
    async (reused) => {
      const ahead: (() => void)[] = [];
      const { prepared, upstream } = preparing({ whenQuiet: (work) => void ahead.push(work) }, reused);
      const open = async (accessToken?: () => string) => await prepared.open(upstream, { capabilities: {}, principal: "ann", accessToken });
      for (let call = 0; call < 2; call += 1) await (await open(() => "t")).close({ isDone: true });
      expect([ahead, sessions.size]).toEqual([[], 0]);
      await (await open()).close({ isDone: true });
      for (const work of ahead) work();
      await until(() => sessions.size === 1);
      const own = await open(() => "t");
      expect(own.isPrepared).toBeUndefined();
      await own.close({ isDone: true });
      await until(async () => (await open()).isPrepared);
    },
  );

  test("is prepared when the process is quiet, and not before", async () => {
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

describe("a session that is used again", () => {
  const reusing = (options: PreparedOptions = {}) => preparing(options, "stateless");

  test("serves one call after another, with questions and without", async () => {
    const up = reusing();
    for (let round = 0; round < 20; round += 1) {
      expect(await ended(up)).toMatchObject({ type: "result" });
      const asked = await ended(up, "ask");
      expect(JSON.stringify(asked)).toContain("accept");
    }
    expect(new Set(calls).size).toBe(1);
    expect(sessions.size).toBe(1);
  });

  test("serves a limited number of calls: its upstream may leave something behind with each", async () => {
    const up = reusing({ usesMax: 3 });
    for (let round = 0; round < 7; round += 1) await ended(up);
    expect([...new Set(calls)].map((one) => calls.filter((each) => each === one).length)).toEqual([3, 3, 1]);
    await until(() => sessions.size === 1);
  });

  test("serves one call at a time", async () => {
    const up = reusing();
    const together = [calling(up, "ask"), calling(up, "ask")];
    const events = await Promise.all(together.map(async (call) => await call.next([], leading())));
    expect(events.map(({ type }) => type)).toEqual(["asked", "asked"]);
    expect(new Set(calls).size).toBe(2);
    await Promise.all(together.map(async (call) => await call.close()));
  });

  test("serves one caller", async () => {
    const up = reusing();
    for (const principal of ["ann", "ben", "ann", "ben"]) await ended(up, "plain", principal);
    const [ann, ben] = calls;
    expect(calls).toEqual([ann, ben, ann, ben]);
    expect(ann).not.toBe(ben);
  });

  interface Reused {
    readonly who: string;
    readonly principal: string;
    /** The sessions of the calls, in turn, and by letters the sessions at the upstream. */
    readonly of: readonly (string | undefined)[];
    readonly as: string;
    readonly capabilities?: ClientCapabilities;
  }

  test.each<Reused>([
    {
      who: "serves one session of callers without identity",
      principal: ANONYMOUS,
      of: ["one", "two", "one", undefined, undefined],
      as: "abacc",
    },
    { who: "serves all sessions of a caller with an identity", principal: "ann", of: ["one", "two", undefined], as: "aaa" },
    {
      who: "serves one session of a caller whose client has folders, because each may have others",
      principal: "ann",
      of: ["one", "two", "one"],
      as: "aba",
      capabilities: { roots: true },
    },
  ])("$who", async ({ principal, of, as, capabilities }) => {
    const up = reusing();
    for (const session of of) await ended(up, "plain", principal, { session, ...(capabilities && { capabilities }) });
    const names = [...new Set(calls)];
    expect(calls.map((one) => "abc"[names.indexOf(one)]).join("")).toBe(as);
  });

  test.each(["fail", "ask and leave", "visit"])("is not reused after a call that did not end cleanly (%s)", async (tool) => {
    const up = reusing();
    await ended(up, tool);
    // It would be closed after a minute in any case.
    await until(() => sessions.size === 0, { timeoutMs: 20_000 });
    await ended(up);
    expect(new Set(calls).size).toBe(2);
  });

  test("is closed when a question in it belongs to no call", async () => {
    const up = reusing();
    await ended(up);
    expect(await askLater()).toMatch(/MCP error -32/);
    await until(() => sessions.size === 0);
    expect(JSON.stringify(await ended(up, "ask"))).toContain("accept");
    expect(new Set(calls).size).toBe(2);
  });

  test("that the upstream has forgotten is replaced, and the call is made once", async () => {
    const up = reusing();
    await ended(up);
    sessions.clear();
    expect(await ended(up)).toMatchObject({ type: "result" });
    expect(calls).toHaveLength(2);
  });

  test("is closed when no call takes it", async () => {
    const up = reusing({ reusedMs: 50 });
    await ended(up);
    expect(sessions.size).toBe(1);
    await until(() => sessions.size === 0);
  });

  test("is limited per caller and in all; the oldest is closed", async () => {
    const up = reusing({ preparedMax: PREPARED_EACH_MAX + 1 });
    const open = async (principal: string) => await up.prepared.open(up.upstream, { capabilities: {}, principal });
    const many = [];
    for (let count = 0; count <= PREPARED_EACH_MAX; count += 1) many.push(await open("ann"));
    for (const session of many) await session.close({ isDone: true });
    await until(() => sessions.size === PREPARED_EACH_MAX);
    await (await open("ben")).close({ isDone: true });
    expect(sessions.size).toBe(PREPARED_EACH_MAX + 1);
    await (await open("eve")).close({ isDone: true });
    await until(() => sessions.size === PREPARED_EACH_MAX + 1);
    expect((await open("ben")).isPrepared).toBe(true);
  });

  test("that is a process is limited per upstream, over all callers; the oldest is closed", async () => {
    const up = reusing();
    const args = [join(import.meta.dirname, "../../../test/e2e/upstreams/classic.ts"), "stdio"];
    const file = { upstreams: [{ name: "pipe", command: process.execPath, args, reuseSessions: "stateless", connectTimeout: "60s" }] };
    const [upstream] = parseUpstreams("up.json", JSON.stringify(file));
    const open = async (principal: string) => await up.prepared.open(upstream!, { capabilities: {}, principal });
    const callers = Array.from({ length: PREPARED_EACH_MAX + 1 }, (_, number) => `caller ${number}`);
    const opened = await Promise.all(callers.map(open));
    for (const session of opened) await session.close({ isDone: true });
    await until(() => opened[0]?.client.transport === undefined);
    expect(opened.slice(1).every(({ client }) => client.transport !== undefined)).toBe(true);
    expect((await open("caller 1")).isPrepared).toBe(true);
  });

  test("is returned once, and not after everything is closed", async () => {
    const up = reusing();
    const session = await up.prepared.open(up.upstream, { capabilities: {}, principal: "ann" });
    await session.close({ isDone: true });
    const again = await up.prepared.open(up.upstream, { capabilities: {}, principal: "ann" });
    expect(again.isPrepared).toBe(true);
    await up.prepared.close();
    await again.close({ isDone: true });
    await until(() => sessions.size === 0);
  });
});
