/** Upstreams that refuse calls with an HTTP status, or were replaced by a server of another revision, over real HTTP. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import type { CallRequest } from "../wire/call-request.ts";
import { prepareSessions } from "../connection/prepared-sessions.ts";
import { startCall } from "./upstream-call.ts";
import type { UpstreamEvent } from "../wire/upstream-event.ts";
import { createConnector } from "../connection/upstream-session.ts";
import { aRequest, leading, someDeps, upstreamOverHttp } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Serve = (method: string, answer: Answering) => void;

interface Answering {
  readonly revision: unknown;
  readonly headers: IncomingHttpHeaders;
  result(result: object): void;
  /** Refuses the request. The text must reach nobody. */
  refuse(status: number): void;
  /** Responds with a JSON-RPC error and this HTTP status. */
  error(status: number, error: object, id?: unknown): void;
}

const SERVER_INFO = { name: "test", version: "1" };
const CONTENT = [{ type: "text", text: "done" }];

/** A server of 2025-11-25. */
const classic: Serve = (method, { revision, result, refuse }) => {
  if (method === "server/discover") refuse(404);
  else if (method === "initialize") result({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: SERVER_INFO });
  else if (revision === "2025-11-25") result({ content: CONTENT });
  else refuse(400);
};

/** A server of 2026-07-28. */
const stateless: Serve = (method, { revision, result, refuse }) => {
  const rest = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
  if (revision !== "2026-07-28") refuse(400);
  else if (method === "server/discover")
    result({ ...rest, supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, serverInfo: SERVER_INFO });
  else result({ resultType: "complete", content: CONTENT });
};

async function calling(first: Serve, request: Partial<CallRequest> = {}, rest: object = {}) {
  let serve = first;
  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = (await json(incoming)) as { id?: number; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    serve(method, {
      revision: incoming.headers["mcp-protocol-version"],
      headers: incoming.headers,
      result: (result) => response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result })),
      error: (status, error, of = id) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id: of, error })),
      refuse: (status) => response.writeHead(status, { "retry-after": "1" }).end("a secret"),
    });
  }
  const { fetch, upstream } = await upstreamOverHttp((incoming, response) => void respond(incoming, response), rest, { closers });
  const plain = createConnector({ fetch, version: "1", deployment: "d" });
  const prepared = "reuseSessions" in rest ? prepareSessions(plain) : undefined;
  closers.push(() => prepared?.close());
  const connector = prepared ?? plain;
  return {
    replace: (next: Serve) => void (serve = next),
    async call(): Promise<UpstreamEvent> {
      const call = startCall("call", aRequest({ upstream, ...request }), someDeps(connector));
      try {
        return await call.next([], leading());
      } finally {
        await call.close();
      }
    },
  };
}

describe("a call that the upstream refuses", () => {
  const refusing = (status: number): Serve => {
    return (method, answering) => (method === "tools/call" ? answering.refuse(status) : classic(method, answering));
  };

  test.each([400, 401, 403, 404, 429])("with HTTP %i was not started", async (status) => {
    const { call } = await calling(refusing(status));
    const message = expect.stringMatching(new RegExp(`^did not take the call: it .* \\(HTTP ${status}\\)$`));
    expect(await call()).toEqual({ type: "unavailable", message });
  });

  test.each([307, 500, 502, 503, 504])("with HTTP %i may have been started", async (status) => {
    const { call } = await calling(refusing(status));
    const message = expect.stringMatching(new RegExp(`^the call ended without a result: it .* \\(HTTP ${status}\\)$`));
    expect(await call()).toEqual({ type: "lost", message });
  });
});

describe("a call that fails with a JSON-RPC error", () => {
  const ERROR = { code: -32_123, message: "no such city", data: { city: "Atlantis" } };
  const failing = (status: number, given: { readonly serve?: Serve; readonly error?: object; readonly id?: unknown } = {}): Serve => {
    const { serve = classic, error = ERROR } = given;
    return (method, answering) =>
      method === "tools/call" ? answering.error(status, error, ...("id" in given ? [given.id] : [])) : serve(method, answering);
  };

  test.each([
    ["2025-11-25", 200, classic],
    ["2025-11-25", 400, classic],
    ["2025-11-25", 422, classic],
    ["2025-11-25", 500, classic],
    ["2026-07-28", 200, stateless],
    ["2026-07-28", 400, stateless],
    ["2026-07-28", 503, stateless],
  ])("ends with that error, with any HTTP status: %s, HTTP %i", async (_revision, status, serve) => {
    expect(await (await calling(failing(status, { serve }))).call()).toEqual({ type: "error", error: ERROR });
  });

  test("was taken, so it is not made again in a session that was open before", async () => {
    let fails = false;
    let calls = 0;
    const { call } = await calling(
      (method, answering) => {
        if (method === "tools/call") calls += 1;
        (fails ? failing(400) : classic)(method, answering);
      },
      {},
      { reuseSessions: true },
    );
    expect(await call()).toMatchObject({ type: "result" });
    fails = true;
    expect(await call()).toEqual({ type: "error", error: ERROR });
    expect(calls).toBe(2);
  });

  test("of an unknown method has HTTP 404 in 2026-07-28", async () => {
    const error = { code: -32_601, message: "Method not found" };
    expect(await (await calling(failing(404, { serve: stateless, error }))).call()).toEqual({ type: "error", error });
  });

  test.each<[string, number, object]>([
    ["no request", 400, { id: null }],
    ["a request that it could not read", 400, { id: "server-error" }],
    ["a session that it does not know", 404, {}],
    ["credentials that it does not accept", 401, {}],
    ["too many requests", 429, {}],
    ["a code that is none", 400, { error: { code: "E1", message: "no such city" } }],
  ])("about %s was not started, and the text reaches nobody", async (_what, status, given) => {
    const event = await (await calling(failing(status, given))).call();
    expect(event).toEqual({ type: "unavailable", message: expect.not.stringContaining("city") });
  });
});

test.each([
  ["an older", stateless, classic],
  ["a newer", classic, stateless],
])("an upstream that is replaced by a server of %s revision is called again after one failed call", async (_what, before, after) => {
  const { call, replace } = await calling(before);
  const done = { type: "result", result: { content: CONTENT } };
  expect(await call()).toEqual(done);
  expect(await call()).toEqual(done);
  replace(after);
  expect(await call()).not.toEqual(done);
  expect(await call()).toEqual(done);
  replace(before);
  expect(await call()).not.toEqual(done);
  expect(await call()).toEqual(done);
});

describe("a call that has begun at an upstream that is then replaced by a server of", () => {
  const TASK = { taskId: "t", status: "working", createdAt: "2026-12-01T00:00:00Z", lastUpdatedAt: "2026-12-01T00:00:00Z", ttlMs: null };
  const withTasks: Serve = (method, answering) => {
    const { result } = answering;
    if (method === "tools/call") return result({ resultType: "task", ...TASK });
    if (method === "tasks/get") return result({ ...TASK, resultType: "complete", status: "completed", result: { content: CONTENT } });
    if (method !== "server/discover") return stateless(method, answering);
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    stateless(method, { ...answering, result: (given) => result({ ...given, capabilities: { tools: {}, extensions } }) });
  };
  const answered = { responses: { ok: { action: "accept", content: { ok: true } } } } as const;
  const task = { responses: {}, task: { id: "t", asked: [] } };
  const done = { type: "result", result: { content: CONTENT } };
  const lost = { type: "lost", message: expect.stringContaining("any more") };

  test.each<[string, Serve, Serve, Partial<CallRequest>, object, number]>([
    ["an older revision, with an answer: is lost", stateless, classic, { round: answered }, lost, 0],
    ["an older revision, with a state alone: is lost", stateless, classic, { round: { responses: {}, state: "s" } }, lost, 0],
    ["an older revision, and may be repeated: is made again", stateless, classic, { round: answered, mayRepeat: true }, done, 1],
    ["an older revision, before it began (−32042): is made", stateless, classic, { round: { responses: {} } }, done, 1],
    ["a newer revision, before it began (−32042): is made", classic, stateless, { round: { responses: {} } }, done, 1],
    ["an older revision, with a task: is lost, and not made again", withTasks, classic, { round: task, mayRepeat: true }, lost, 0],
    ["the same revision without tasks, with a task: is lost, and not made again", withTasks, stateless, { round: task }, lost, 0],
    ["the same kind, with a task: is followed", withTasks, withTasks, { round: task }, done, 0],
  ])("%s", async (_what, before, after, request, expected, calls) => {
    let made = 0;
    const counting =
      (serve: Serve): Serve =>
      (method, answering) => {
        if (method === "tools/call") made += 1;
        serve(method, answering);
      };
    const { call, replace } = await calling(counting(before), request);
    replace(counting(after));
    expect(await call()).toMatchObject(expected);
    expect(made).toBe(calls);
    if (!request.round?.task) return;
    // The server that has the task is back.
    replace(counting(before));
    expect(await call()).toMatchObject(done);
    expect(made).toBe(0);
  });
});

test.each([
  ["without tasks", {}],
  ["with tasks", { extensions: { "io.modelcontextprotocol/tasks": {} } }],
])("an upstream of 2026-07-28 %s receives the headers of the arguments with the first call", async (_what, capabilities) => {
  const seen: unknown[] = [];
  const serve: Serve = (method, answering) => {
    if (method === "tools/call") seen.push(answering.headers["mcp-param-region"]);
    if (method !== "server/discover") return stateless(method, answering);
    stateless(method, { ...answering, result: (result) => answering.result({ ...result, capabilities: { tools: {}, ...capabilities } }) });
  };
  const { call } = await calling(serve, { paramHeaders: { "mcp-param-region": "eu" } });
  expect(await call()).toMatchObject({ type: "result" });
  expect(seen).toEqual(["eu"]);
});

test("a server of a session receives no headers of arguments", async () => {
  const seen: unknown[] = [];
  const { call } = await calling(
    (method, answering) => {
      seen.push(answering.headers["mcp-param-region"]);
      classic(method, answering);
    },
    { paramHeaders: { "mcp-param-region": "eu" } },
  );
  expect(await call()).toMatchObject({ type: "result" });
  expect(new Set(seen)).toEqual(new Set([undefined]));
});
