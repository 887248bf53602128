/** Sessions with state, at an upstream over real HTTP that counts its calls in each session, from two processes that share their state in memory. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ElicitResultSchema, ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { ANONYMOUS, type ClientCapabilities } from "@parley/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSessionServer } from "../../../test/support/session-server.ts";
import { until } from "../../../test/support/until.ts";
import { type KeptOptions, type KeptSessions, keepSessions, stateKeyOf } from "./kept-sessions.ts";
import { prepareSessions } from "./prepared-sessions.ts";
import { startCall } from "../call/upstream-call.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createMemoryShares } from "../memory/shared-state.ts";
import type { Share } from "../processes/gateway.ts";
import type { UpstreamEvent } from "../wire/upstream-event.ts";
import { createConnector } from "./upstream-session.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";
import { aRequest, FORM, leading, someDeps } from "../upstream.fixture.ts";

const DAY_MS = 24 * 60 * 60_000;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

let sessions: Map<string, StreamableHTTPServerTransport>;
/** What answers at the address: another server may take its place. */
let serve: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;
let url: string;
let nowMs: number;
let addShare: () => Share;
/** Ends a call of `wait`. */
let letGo: (() => void)[];

beforeEach(async () => {
  nowMs = 1_000_000;
  addShare = createMemoryShares(() => nowMs);
  letGo = [];
  const upstream = createSessionServer(() => {
    let count = 0;
    const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      if (params.name === "error") throw new McpError(ErrorCode.InvalidParams, "no");
      if (params.name === "wait") await new Promise<void>((resolve) => letGo.push(resolve));
      if (params.name === "ask") {
        const asked = { mode: "form", message: "Go on?", requestedSchema: FORM } as const;
        await server.request({ method: "elicitation/create", params: asked }, ElicitResultSchema);
      }
      count += 1;
      return { content: [{ type: "text", text: String(count) }] };
    });
    return server;
  });
  ({ sessions, serve } = upstream);
  const http = createServer((request, response) => void serve(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    http.closeAllConnections();
    http.close();
  });
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});

interface Process {
  readonly share: Share;
  readonly kept: KeptSessions;
}

async function aProcess(options: Omit<KeptOptions, "owners"> = {}): Promise<Process> {
  const { fetch, close } = createUpstreamFetch();
  const share = addShare();
  await share.beat();
  const kept = keepSessions(prepareSessions(createConnector({ fetch, version: "1", deployment: "d" })), { owners: share, ...options });
  closers.push(close, kept.close);
  return { share, kept };
}

function theUpstream(entry: object = {}): Upstream {
  const file = { upstreams: [{ name: "up", url, revisions: "sessions", reuseSessions: true, callTimeout: "60s", ...entry }] };
  return parseUpstreams("up.json", JSON.stringify(file))[0]!;
}

interface Caller {
  readonly tool?: string;
  readonly principal?: string;
  readonly session?: string;
  readonly capabilities?: ClientCapabilities;
  readonly accessToken?: string;
  readonly upstream?: Upstream;
}

function calling({ kept }: Process, { upstream = theUpstream(), tool = "count", ...caller }: Caller = {}) {
  return startCall("1", aRequest({ upstream, tool, ...caller }), someDeps(kept));
}

/** What a call comes to: its count, or why it was not made. */
async function outcome(process: Process, caller: Caller = {}): Promise<string> {
  return said(await calling(process, caller).next([], leading()));
}

function said(event: UpstreamEvent): string {
  if (event.type === "result") return (event.result["content"] as { text: string }[])[0]!.text;
  if (event.type === "error") return event.error.message;
  return "message" in event ? `${event.type}: ${event.message}` : event.type;
}

const told =
  (process: Process, caller: Caller = {}) =>
  async () => {
    const event = await calling(process, caller).next([], leading());
    if (event.type === "forgotten") await process.kept.told?.(event.state);
    return said(event);
  };

test("all calls of a caller find the state of those before, also after an error of the server", async () => {
  const one = await aProcess();
  expect([await outcome(one), await outcome(one), await outcome(one, { tool: "error" }), await outcome(one)]).toEqual([
    "1",
    "2",
    expect.stringContaining("no"),
    "3",
  ]);
  expect(sessions.size).toBe(1);
});

test("another caller, and another session of a client, with identity or without, has state of its own", async () => {
  const one = await aProcess();
  const callers: Caller[] = [
    { principal: "ann" },
    { principal: "ben" },
    { principal: "ann", session: "1" },
    { principal: "ann", session: "2" },
    { principal: ANONYMOUS, session: "3" },
    { principal: ANONYMOUS, session: "4" },
    { principal: "ann", session: "1", capabilities: { roots: true } },
  ];
  for (const count of ["1", "2"]) for (const caller of callers) expect(await outcome(one, caller)).toBe(count);
});

test("another upstream has state of its own for the same caller", async () => {
  const one = await aProcess();
  expect([await outcome(one), await outcome(one)]).toEqual(["1", "2"]);
  expect(await outcome(one, { upstream: theUpstream({ name: "other" }) })).toBe("1");
  expect(await outcome(one)).toBe("3");
});

test("a call with its caller's token has a session of its own: the state of the others would be reached with it", async () => {
  const one = await aProcess();
  expect([await outcome(one), await outcome(one, { accessToken: "t" }), await outcome(one)]).toEqual(["1", "1", "2"]);
});

test("what a call may be asked changes nothing: one session declares what its first call could", async () => {
  const one = await aProcess();
  expect([await outcome(one), await outcome(one, { capabilities: {} })]).toEqual(["1", "2"]);
});

test("calls of one caller at once take turns, in the order in which they came", async () => {
  const one = await aProcess();
  expect(await Promise.all(Array.from({ length: 10 }, async () => await outcome(one)))).toEqual(
    Array.from({ length: 10 }, (_, index) => String(index + 1)),
  );
});

test("a call that comes while an earlier one asks is refused after a while, and not made anew beside it", async () => {
  const one = await aProcess();
  const upstream = theUpstream({ connectTimeout: "1s" });
  const first = calling(one, { upstream, tool: "ask" });
  const asked = await first.next([], leading());
  expect(asked.type).toBe("asked");
  expect(await outcome(one, { upstream })).toMatch(/^busy: .* earlier call waits for an answer/);
  if (asked.type !== "asked") return;
  const given = [{ question: asked.questions[0]!, answer: { action: "accept", content: { ok: true } } as const }];
  expect(said(await first.next(given, leading()))).toBe("1");
  expect(await outcome(one, { upstream })).toBe("2");
});

test("a call whose turn does not come within callTimeout is refused", async () => {
  const one = await aProcess();
  const first = calling(one, { tool: "wait" }).next([], leading());
  await until(() => letGo.length === 1);
  expect(await outcome(one, { upstream: theUpstream({ callTimeout: "100ms" }) })).toMatch(/^busy: .* take turns/);
  letGo[0]!();
  expect(said(await first)).toBe("1");
});

test("a call at another process is not made there while the owner lives; where it belongs is known", async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  expect(await outcome(one)).toBe("1");
  expect(await outcome(other)).toMatch(/^busy: /);
  const key = stateKeyOf({ name: "up" }, aRequest());
  expect([await one.share.stateAt(key), await other.share.stateAt(key)]).toEqual(["here", { process: one.share.id }]);
});

test("the owner of a session that waits stays named for longer than it may wait: its state is lost for nobody without a word", async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  const upstream = theUpstream({ sessionTimeout: "20d" });
  expect(await outcome(one, { upstream })).toBe("1");
  nowMs += 20.5 * DAY_MS;
  await other.share.beat();
  expect(await told(other, { upstream })()).toBe("forgotten: the worker that kept it has ended");
});

test("the owner of a session in which a call asks stays named for as long as its question may be open", async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  expect(await outcome(one)).toBe("1");
  const asks = calling(one, { tool: "ask" });
  const asked = await asks.next([], leading());
  nowMs += 34 * DAY_MS;
  await Promise.all([one.share.beat(), other.share.beat()]);
  expect(await outcome(other)).toMatch(/^busy: /);
  if (asked.type !== "asked") throw new Error(said(asked));
  const given = [{ question: asked.questions[0]!, answer: { action: "accept", content: { ok: true } } as const }];
  expect(said(await asks.next(given, leading()))).toBe("2");
});

test("the caller is told once that the state went with its process, and the next call starts anew", async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  expect(await outcome(one)).toBe("1");
  nowMs += 7_001;
  await other.share.beat();
  expect(await told(other)()).toBe("forgotten: the worker that kept it has ended");
  expect([await outcome(other), await outcome(other)]).toEqual(["1", "2"]);
});

test.each([
  ["waits too long", { sessionTimeout: "50ms" }, false, "no call came for 0.05 s (sessionTimeout)"],
  ["is forgotten by its server", {}, true, "its server no longer has the session"],
] as const)("a session that %s leaves word for its caller", async (_what, entry, isForgotten, why) => {
  const one = await aProcess();
  const upstream = theUpstream(entry);
  expect(await outcome(one, { upstream })).toBe("1");
  if (isForgotten) sessions.clear();
  await until(() => sessions.size === 0);
  expect(await told(one, { upstream })()).toBe(`forgotten: ${why}`);
  expect(await outcome(one, { upstream })).toBe("1");
});

test("a session whose call was cancelled leaves word for its caller; one in which none has succeeded does not", async () => {
  const one = await aProcess();
  const cancel = async (): Promise<void> => {
    const call = calling(one, { tool: "wait" });
    await until(() => letGo.length === 1);
    letGo = [];
    await call.close();
  };
  await cancel();
  expect(await outcome(one)).toBe("1");
  await cancel();
  expect(await told(one)()).toBe("forgotten: an earlier call in it failed, or was cancelled");
  expect(await outcome(one)).toBe("1");
});

test("one more than `concurrency` allows ends the session that has waited longest, whose caller is told", async () => {
  const one = await aProcess();
  const upstream = theUpstream({ concurrency: 2 });
  for (const principal of ["ann", "ben", "cid"]) expect(await outcome(one, { upstream, principal })).toBe("1");
  expect(await outcome(one, { upstream, principal: "cid" })).toBe("2");
  expect(await told(one, { upstream, principal: "ann" })()).toMatch(/^forgotten: .*`concurrency`/);
});

test("a session serves a limited number of calls, and its caller is told", async () => {
  const one = await aProcess({ usesMax: 2 });
  expect([await outcome(one), await outcome(one)]).toEqual(["1", "2"]);
  expect(await told(one)()).toBe("forgotten: it has served 2 calls");
});

/** Counts its calls, as the server over HTTP does. */
const COUNTER = `
let count = 0;
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const server = () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "c", version: "1" } });
  const result = method === "initialize" ? server() : method === "tools/call" ? { content: [{ type: "text", text: String(++count) }] } : {};
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});`;
const command = { url: undefined, command: process.execPath, args: ["-e", COUNTER], revisions: "auto" };

test.each<[string, object | undefined, () => object]>([
  ["url", undefined, () => ({ url: `${url}/other` })],
  ["arguments", command, () => ({ args: ["-e", COUNTER, "more"] })],
  ["environment", command, () => ({ env: { ACCOUNT: "another" } })],
  ["directory", command, () => ({ cwd: "/" })],
])("another server under the same name has not the state of the former one: its %s", async (_what, entry, change) => {
  const one = await aProcess();
  expect(await outcome(one, { upstream: theUpstream(entry) })).toBe("1");
  // Credentials and durations change, and lead to the same server.
  const same = entry ? {} : { headers: { authorization: "Bearer next" } };
  expect(await outcome(one, { upstream: theUpstream({ ...entry, ...same, sessionTimeout: "3m" }) })).toBe("2");
  const changed = theUpstream({ ...entry, ...change() });
  expect(await told(one, { upstream: changed })()).toBe("forgotten: the upstream's entry in the file was changed");
  expect(await outcome(one, { upstream: changed })).toBe("1");
});

test("a server without sessions has no state, and one that takes its place has", async () => {
  const [one, other] = [await aProcess(), await aProcess()];
  const upstream = theUpstream({ revisions: "auto" });
  const key = stateKeyOf(upstream, aRequest());
  const withSessions = serve;
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: "test", version: "1" });
      server.registerTool("count", {}, () => ({ content: [{ type: "text", text: "none" }] }));
      return server;
    },
    { legacy: "reject" },
  );
  serve = async (request, response) => {
    const { method = "GET", headers } = request;
    const body = method === "POST" ? await text(request) : undefined;
    const reply = await handler.fetch(
      new Request("http://localhost/", { method, headers: headers as Record<string, string>, ...(body && { body }) }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
  };
  expect([await outcome(one, { upstream }), await outcome(one, { upstream })]).toEqual(["none", "none"]);
  expect(await other.share.stateAt(key)).toBe("here");
  serve = withSessions;
  // One call finds out.
  await outcome(one, { upstream });
  await until(async () => {
    await outcome(one, { upstream });
    return (await other.share.stateAt(key)) !== "here";
  });
});

test("a process that was taken for dead ends its sessions, because another may serve their callers by now", async () => {
  const one = await aProcess();
  expect(await outcome(one)).toBe("1");
  one.kept.endAll("its worker was taken for dead");
  await until(() => sessions.size === 0);
  expect(await told(one)()).toBe("forgotten: its worker was taken for dead");
});

test("a server that cannot be reached leaves no name behind", async () => {
  const one = await aProcess();
  const upstream = theUpstream({ url: "http://127.0.0.1:1/mcp" });
  expect(await outcome(one, { upstream })).toMatch(/^unavailable: /);
  expect(await one.share.takeState(stateKeyOf(upstream, aRequest()), 1)).toBe("new");
});
