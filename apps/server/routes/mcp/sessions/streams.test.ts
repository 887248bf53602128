/** What clients can rely on in the streams of a session, beyond what one conversation shows. */
import { connect } from "node:net";
import { type AuditFact, ParleyError, type SessionStore } from "@parley/core";
import { createMemorySessions, createMemoryWakeUps, type MemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { elicitationId } from "@parley/protocol/sessions";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test, vi } from "vitest";
import { until } from "../../../../../test/support/until.ts";
import { callerNamed, type Deploy, deploy } from "../../../deployment.fixture.ts";
import type { Authenticate } from "../../../front-end/caller.ts";
import type { Times } from "../../../front-end/limits.ts";
import { answered, type EventStream, openSession, type SessionClient } from "../../../session-client.fixture.ts";
import { held, offered } from "../../../tools.fixture.ts";

const MINUTE_MS = 60_000;

async function twoFronts(options: Partial<Deploy> = {}) {
  const deployment = await deploy({ catalogue: offered, ...options });
  const [a, b] = deployment.fronts;
  if (!a || !b) throw new Error("two front ends are needed");
  return { ...deployment, a, b };
}

const pay = defineTool({
  name: "pay",
  run: async (_args, ctx) => ((await ctx.confirm("pay", { message: "Pay?", to: { groups: ["finance"] } })) ? "paid" : "not paid"),
});
const authenticate: Authenticate = ({ headers }) => callerNamed(String(headers["x-principal"]), { groups: [String(headers["x-groups"])] });

const idsIn = ({ text }: EventStream) => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
const greet = { name: "greet", arguments: {} };
const status = "notifications/tasks/status";

async function createdTask(client: SessionClient, front: Parameters<SessionClient["request"]>[0], name = "greet"): Promise<string> {
  const { messages } = await client.request(front, "tools/call", { name, arguments: {}, task: {} });
  return String(messages[0]?.result?.["taskId"]);
}

describe("a stream", () => {
  test.each(["a call", "the session"])(
    "of %s is neither buffered nor changed on its way, and has the headers of every reply",
    async (of) => {
      const { a } = await twoFronts();
      const client = await openSession(a);
      const leave = new AbortController();
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: greet };
      const { headers } =
        of === "a call"
          ? await client.post(a, call, {}, leave.signal)
          : await fetch(a.url, { headers: { accept: "text/event-stream", "mcp-session-id": client.sessionId }, signal: leave.signal });
      const others = (await client.post(a, { jsonrpc: "2.0", id: 2, method: "ping" })).headers;
      expect(headers.get("content-type")).toBe("text/event-stream");
      expect(headers.get("cache-control")).toBe("no-cache, no-transform");
      expect(headers.get("x-accel-buffering")).toBe("no");
      const own = ["content-type", "content-length", "cache-control", "x-accel-buffering", "transfer-encoding"];
      const names = (given: Headers) => [...given.keys()].filter((name) => !own.includes(name)).toSorted();
      expect(names(others)).toContain("x-content-type-options");
      expect(names(headers)).toEqual(names(others));
      leave.abort();
    },
  );

  test("that has ended for good is refused with what its URL still allows", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const first = await client.listen(a);
    const second = await client.listen(b);
    await first.ended();
    const headers = { accept: "text/event-stream", "mcp-session-id": client.sessionId, "last-event-id": first.lastEventId! };
    const refused = await fetch(a.url, { headers });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST, DELETE, OPTIONS"]);
    second.close();
  });

  test.each([
    ["reports", "a call"],
    ["questions", "a call"],
    ["questions", "a tasks/result"],
  ])("sends the %s of %s at the pace of its client, and none to one that is gone", async (what, of) => {
    const shown: string[] = [];
    const audit = { note: async ({ action }: AuditFact) => void shown.push(action) };
    const { a, services, logged } = await twoFronts({ times: { keepAliveMs: 5, stallTimeoutMs: 300 }, audit });
    const client = await openSession(a);
    const stream =
      of === "a call"
        ? await client.stream(a, "tools/call", { name: "interview", arguments: {} })
        : await client.stream(a, "tasks/result", { taskId: await createdTask(client, a, "interview") });
    const ask = await stream.next();
    stream.close();
    const taskId = String(ask.id).split(":")[0] ?? "";
    await until(() => !services.wakeUps.isWatched(taskId));
    shown.length = 0;
    const large = "x".repeat(500_000);
    const load = services.store.load.bind(services.store);
    const many = Array.from({ length: 60 }, (_, position) => position);
    vi.spyOn(services.store, "load").mockImplementation(async (id) => {
      const task = await load(id);
      const [open] = task?.asks ?? [];
      if (!task || !open || open.request.type !== "form" || what === "reports") return task;
      const { request } = open;
      const later = { revision: task.revision + 1 };
      return {
        ...task,
        asks: many.map((position) => ({
          ...open,
          key: `q${position}`,
          since: { ...later, position },
          request: { ...request, message: large },
        })),
      };
    });
    let pages = 0;
    vi.spyOn(services.store, "feed").mockImplementation(async () => {
      pages += 1;
      if (what === "questions") return { items: [], cursor: undefined, cursors: [] };
      const items = many.slice(0, 16).map(() => ({ type: "log", level: "error", data: large }) as const);
      return { items, cursor: String(pages), cursors: items.map((_, index) => `${pages}-${index}`) };
    });

    const { port } = new URL(a.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.once("data", () => socket.pause());
    const head = ["GET /mcp HTTP/1.1", "Host: localhost", "Accept: text/event-stream", `Mcp-Session-Id: ${client.sessionId}`];
    socket.write([...head, `Last-Event-ID: ${ask.eventId}`, "", ""].join("\r\n"));

    await until(() => logged.some(({ fields }) => fields["method"] === "GET" && fields["gone"]));
    await until(() => !services.wakeUps.isWatched(taskId));
    expect(what === "reports" ? pages : shown.filter((action) => action === "shown").length).toBeLessThan(40);
    expect(what === "reports" ? pages : shown.length).toBeGreaterThan(0);
    socket.destroy();
  });
});

describe("the stream of a call", () => {
  test("has an event id as soon as it is resumed, so that it can be resumed again", async () => {
    const { a, b } = await twoFronts({ times: { resumableAfterMs: 10 * MINUTE_MS } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    call.close();
    const resumed = await client.listen(b, ask.eventId);
    const answer = resumed.next();
    await until(() => idsIn(resumed).length > 0, { timeoutMs: 5_000 });
    expect(resumed.text).toMatch(/^id: .*\nretry: \d+\ndata: $/m);
    await client.reply(a, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await answer).toMatchObject({ id: 1 });
  });

  test.each(["2025-06-18", "2025-03-26"])("of %s stays open when its tool releases it: its client would not come back", async (version) => {
    const { a } = await twoFronts({ times: { keepAliveMs: 5 } });
    const client = await openSession(a, { version });
    const before = held.release;
    const call = await client.stream(a, "tools/call", { name: "let-go", arguments: {}, _meta: { progressToken: "p" } }, 1);
    await call.next();
    await until(() => held.release !== before);
    const result = call.next();
    await until(() => call.text.includes(": keep-alive\n\n"));
    held.release();
    expect(await result).toMatchObject({ id: 1, result: { content: [{ text: "done" }] } });
  });

  test("that is resumed from a report does not repeat it", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "start-over", arguments: {}, _meta: { progressToken: 5 } }, 1);
    const reported = await call.next();
    expect(reported).toMatchObject({ params: { message: "first" } });
    call.close();
    const resumed = await client.listen(b, reported.eventId);
    expect(await resumed.next()).toMatchObject({ method: "elicitation/create" });
  });

  test.each([
    ["after it has said that others are asked is told at once that they are asked no more", "waits", [false]],
    ["before anything was said of others is not told that it goes on", "before", []],
  ] as const)("that is resumed %s", async (_, from, told) => {
    const goesOn = Promise.withResolvers<void>();
    const said = { before: Promise.withResolvers<void>(), waits: Promise.withResolvers<void>() };
    const behind = defineTool({
      name: "behind",
      async run(_args, ctx) {
        ctx.progress(1, 2, "Begun.");
        await ctx.step("begin", () => said.before.promise);
        ctx.status("Waiting for people at crm.");
        await ctx.step("wait", () => said.waits.promise);
        ctx.status("crm is working.");
        await ctx.step("work", () => goesOn.promise);
        return "done";
      },
    });
    const { a, b } = await twoFronts({ catalogue: catalogue([behind]) });
    const client = await openSession(a);
    const first = await client.stream(a, "tools/call", { name: "behind", arguments: {}, _meta: { progressToken: "p" } });
    const ids = { before: (await first.next()).eventId, waits: undefined as string | undefined };
    said.before.resolve();
    const waiting = await first.next();
    expect(waiting).toMatchObject({ params: { _meta: { "parley/waits": true } } });
    ids.waits = waiting.eventId;
    first.close();
    said.waits.resolve();
    // Another client of the same kind hears it: from then on it is so.
    const other = await client.listen(b, ids.waits);
    expect(await other.next()).toMatchObject({ params: { _meta: { "parley/waits": false } } });
    other.close();

    const second = await client.listen(b, ids[from]);
    setTimeout(goesOn.resolve, 50);
    const heard: unknown[] = [];
    for (let event = await second.next(); event.result === undefined; event = await second.next()) {
      const { _meta } = (event as { params?: { _meta?: Record<string, unknown> } }).params ?? {};
      if (_meta && "parley/waits" in _meta) heard.push(_meta["parley/waits"]);
    }
    expect(heard).toEqual(told);
  });

  test.each<[string, Partial<Times>, string]>([
    ["2025-11-25", { resumableAfterMs: 0, streamAfterMs: 10 * MINUTE_MS }, "text/event-stream"],
    ["2025-06-18", { resumableAfterMs: 10 * MINUTE_MS, streamAfterMs: 0 }, "text/event-stream"],
    ["2025-06-18", { resumableAfterMs: 0, streamAfterMs: 10 * MINUTE_MS }, "application/json"],
  ])("of %s begins when its client could come back, or else needs to be kept waiting: %o", async (version, times, contentType) => {
    const { a } = await twoFronts({ times });
    const client = await openSession(a, { version });
    const before = held.release;
    const called = client.request(a, "tools/call", { name: "hold", arguments: {} });
    await until(() => held.release !== before);
    await client.request(a, "ping");
    held.release();
    expect((await called).contentType).toMatch(contentType);
  });

  test("of a call at work stays while its front end shuts down, until the call ends", async () => {
    const { a } = await twoFronts({ times: { resumableAfterMs: 0, shutdownTimeoutMs: MINUTE_MS } });
    const client = await openSession(a);
    const before = held.release;
    const call = await client.stream(a, "tools/call", { name: "hold", arguments: {} }, 1);
    await until(() => held.release !== before);
    const closed = a.app.close();
    const result = call.next();
    await until(() => a.app.server.server.listening === false);
    held.release();
    expect(await result).toMatchObject({ id: 1, result: { content: [{ text: "released" }] } });
    await closed;
  });

  test("whose task no longer exists ends with an error", async () => {
    const { a, services } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    vi.spyOn(services.store, "load").mockResolvedValue(undefined);
    (services.wakeUps as MemoryWakeUps).changed(String(ask.id).split(":")[0] ?? "");
    expect(await call.next()).toMatchObject({ id: 1, error: { code: -32602, data: { code: "TASK_NOT_FOUND" } } });
    await call.ended();
  });

  test("that ends before its front end watches the session leaves no watch behind", async () => {
    const wakeUps = createMemoryWakeUps();
    const memory = createMemorySessions({ clock: systemClock, wakeUps });
    const [awaited, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const watched = Promise.withResolvers<void>();
    const sessions: SessionStore = {
      ...memory,
      async watch(...watch) {
        awaited.resolve();
        await back.promise;
        const unwatch = await memory.watch(...watch);
        watched.resolve();
        return unwatch;
      },
    };
    const { a } = await twoFronts({ sessions, times: { keepAliveMs: 5 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    await awaited.promise;
    await client.reply(a, ask.id, { action: "decline" });
    await call.ended();
    back.resolve();
    await watched.promise;
    await until(() => !wakeUps.isWatched(`session:${client.sessionId}`));
  });

  test("leaves a question open that its client cannot be asked, if other people may answer it", async () => {
    const { a, b, logged } = await twoFronts({
      catalogue: catalogue([pay]),
      authenticate,
      ladder: { rungs: new Set(["task", "held"] as const) },
    });
    const ann = await openSession(a, { principal: "ann", capabilities: {} });
    const bob = await openSession(b, { principal: "bob" });
    const finance = { "x-groups": "finance" };
    const called = ann.post(a, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "pay", arguments: {} } }, finance);
    const parked = await until(() => logged.find(({ message }) => message === "task parked"));
    const params = { taskId: parked.fields["taskId"], action: "accept", content: { value: true } };
    const sent = await answered(await bob.post(b, { jsonrpc: "2.0", id: 2, method: "tasks/sendInput", params }, finance));
    expect(sent.messages).toMatchObject([{ result: { accepted: true } }]);
    expect((await answered(await called)).messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "paid" }] } });
  });

  test("leaves nothing in its session once it was answered, resumed or not", async () => {
    const { a, b, sessions } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const accept = { action: "accept", content: { name: "Ann" } };
    const noted = async () => (await sessions.calls(client.sessionId)).size;

    const call = await client.stream(a, "tools/call", greet, "answered");
    await client.reply(b, (await call.next()).id, accept);
    await call.ended();
    await until(async () => (await noted()) === 0);

    const lost = await client.stream(a, "tools/call", greet, "resumed");
    const ask = await lost.next();
    lost.close();
    const resumed = await client.listen(b, ask.eventId);
    await client.reply(a, ask.id, accept);
    await resumed.ended();
    await until(async () => (await noted()) === 0);
  });
});

describe("a client that comes back for the stream of its call", () => {
  test("has it alone: an earlier connection that still looks alive ends, and its client is told not to come back", async () => {
    const { a, b } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();

    const second = await client.listen(b, ask.eventId);
    await call.ended();
    expect((await client.listen(a, call.lastEventId)).status).toBe(405);
    const third = await client.listen(a, ask.eventId);
    await second.ended();

    await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await third.next()).toMatchObject({ id: 1, result: { content: [{ text: "Hello, Ann!" }] } });
    expect([call, second].map(({ text }) => text.includes("Hello, Ann!"))).toEqual([false, false]);
  });

  test("on several connections at once has it on one of them", async () => {
    const { a, b } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();

    const all = await Promise.all([a, b, a, b, a, b].map(async (front) => await client.listen(front, ask.eventId)));
    await call.ended();
    await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } });
    await Promise.all(all.map(async (each) => await each.ended()));

    expect(all.filter(({ text }) => text.includes("Hello, Ann!"))).toHaveLength(1);
  });

  test("gets it although the news to an earlier connection is lost", async () => {
    const { a, b, services } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    vi.spyOn(services.wakeUps, "tell").mockRejectedValueOnce(new Error("Redis is away"));
    const second = await client.listen(b, ask.eventId);
    const third = await client.listen(b, ask.eventId);
    await second.ended();
    await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await third.next()).toMatchObject({ id: 1, result: { content: [{ text: "Hello, Ann!" }] } });
  });

  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])(
    "of %s with the id of the response is refused, not sent it again",
    async (version) => {
      const { a, b } = await twoFronts({ times: { resumableAfterMs: 0 } });
      const client = await openSession(a, { version });
      const call = await client.stream(a, "tools/call", greet, 1);
      await client.reply(b, (await call.next()).id, { action: "accept", content: { name: "Ann" } });
      expect(await call.next()).toMatchObject({ id: 1, result: {} });
      await call.ended();
      const again = await client.listen(b, call.lastEventId);
      expect([again.status, again.text]).toEqual([405, ""]);
    },
  );
});

describe("tasks/result", () => {
  test("that is resumed after a lost question repeats it under another event id: ids are unique in a session", async () => {
    const { a, b } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const result = await client.stream(a, "tasks/result", { taskId: await createdTask(client, a) });
    const ask = await result.next();
    const [primed] = idsIn(result);
    result.close();

    const resumed = await client.listen(b, primed);
    expect((await resumed.next()).id).toBe(ask.id);

    const ids = [...idsIn(result), ...idsIn(resumed)];
    expect(ids.length).toBeGreaterThanOrEqual(4);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("that was answered leaves its task out of the session", async () => {
    const { a, b, sessions } = await twoFronts();
    const client = await openSession(a);
    const taskId = await createdTask(client, a);
    const result = await client.stream(b, "tasks/result", { taskId });
    expect((await sessions.interests(client.sessionId)).taskIds).toEqual([taskId]);
    await client.reply(a, (await result.next()).id, { action: "decline" });
    await result.ended();
    expect((await sessions.interests(client.sessionId)).taskIds).toEqual([]);
  });

  test("can be sent again under the id of one that was cancelled", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const taskId = await createdTask(client, a);
    const first = await client.stream(a, "tasks/result", { taskId }, "again");
    const ask = await first.next();
    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "again" } });
    await first.ended();

    const second = await client.stream(b, "tasks/result", { taskId }, "again");
    expect((await second.next()).id).toBe(ask.id);
    await client.reply(a, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await second.next()).toMatchObject({ id: "again", result: { content: [{ text: "Hello, Ann!" }] } });
  });

  test("whose cancellation overtook it can be sent again under its id", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const taskId = await createdTask(client, a);
    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "late" } });
    expect((await client.request(a, "tasks/result", { taskId }, "late")).messages).toEqual([]);

    const result = await client.stream(b, "tasks/result", { taskId }, "late");
    expect(await result.next()).toMatchObject({ method: "elicitation/create" });
    result.close();
  });

  test('1 and a tasks/result "1" are two requests, of which each is cancelled by itself', async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const [number, text] = [await createdTask(client, a), await createdTask(client, a)];
    const first = await client.stream(a, "tasks/result", { taskId: number }, 1);
    const second = await client.stream(a, "tasks/result", { taskId: text }, "1");
    const asks = [await first.next(), await second.next()];
    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "1" } });
    await second.ended();
    await client.reply(b, asks[0]?.id, { action: "accept", content: { name: "Ann" } });
    expect(await first.next()).toMatchObject({ id: 1, result: { content: [{ text: "Hello, Ann!" }] } });
  });
});

describe("a session's own stream", () => {
  test("is primed with an id that no other event has, in the revision that has priming events", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const first = await client.listen(a);
    const over = first.ended();
    await until(() => idsIn(first).length > 0);
    expect(first.text).toMatch(/^id: .*\nretry: \d+\ndata: $/m);
    const second = await client.listen(b);
    await client.request(a, "tools/call", { name: "announce", arguments: {} });
    await second.next();
    await over;
    const ids = [...idsIn(first), ...idsIn(second)];
    expect(ids.length).toBeGreaterThanOrEqual(4);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each(["2025-06-18", "2025-03-26"])(
    "of %s begins with its first message: its clients know no events without one",
    async (version) => {
      const { a } = await twoFronts();
      const client = await openSession(a, { version });
      const stream = await client.listen(a);
      await client.request(a, "tools/call", { name: "announce", arguments: {} });
      await stream.next();
      expect(stream.text).not.toMatch(/^data: $/m);
    },
  );

  test("keeps its session alive for as long as it is open", async () => {
    const { a, b, skip, sessionTouched } = await twoFronts({ times: { sessionTtlMs: MINUTE_MS, keepAliveMs: 20 } });
    const client = await openSession(a);
    const stream = await client.listen(a);
    for (let round = 0; round < 4; round += 1) {
      skip(40_000);
      await sessionTouched();
    }
    expect((await client.request(b, "ping")).status).toBe(200);
    stream.close();
  });

  test("that is resumed repeats a question that was lost with the connection, and no other", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    await createdTask(client, b);
    const told = await own.next();
    const ask = await own.next();
    own.close();

    const resumed = await client.listen(b, told.eventId);
    expect(await resumed.next()).toMatchObject({ method: status });
    const again = await resumed.next();
    expect([again.id, again.method]).toEqual([ask.id, "elicitation/create"]);
    resumed.close();

    const third = await client.listen(a, again.eventId);
    expect(await third.next()).toMatchObject({ method: status });
    await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await third.next()).toMatchObject({ method: status, params: { status: expect.not.stringMatching("input_required") } });
  });

  test("asks what the stream of a tasks/result asked and lost", async () => {
    const { a, b } = await twoFronts({ times: { keepAliveMs: 20 } });
    const client = await openSession(a);
    const taskId = await createdTask(client, b);
    const result = await client.stream(b, "tasks/result", { taskId }, 2);
    const ask = await result.next();
    const own = await client.listen(a);
    expect(await own.next()).toMatchObject({ method: status, params: { status: "input_required" } });
    const moved = own.next();
    result.close();
    expect(await moved).toMatchObject({
      id: ask.id,
      method: "elicitation/create",
      params: { _meta: { "io.modelcontextprotocol/related-task": { taskId } } },
    });
  });

  test("reports each state of a task once, however often it looks", async () => {
    const { a, b, services } = await twoFronts({ times: { keepAliveMs: 5 } });
    const client = await openSession(a);
    const own = await client.listen(a);
    const before = held.release;
    const taskId = await createdTask(client, b, "hold");
    await until(() => held.release !== before);
    const read = vi.spyOn(services.store, "load");
    await until(() => read.mock.calls.length > 2);
    await client.request(b, "tasks/cancel", { taskId });
    expect(await own.next()).toMatchObject({ method: status, params: { taskId, status: "cancelled" } });
  });

  test("reports a task again when one of its questions is answered, and when it says something else", async () => {
    const { a, b, services } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    const taskId = await createdTask(client, b, "approve");
    const [told, ops, legal] = [await own.next(), await own.next(), await own.next()];
    expect([told, ops, legal].map(({ method }) => method)).toEqual([status, "elicitation/create", "elicitation/create"]);

    await client.reply(b, ops.id, { action: "decline" });
    expect(await own.next()).toMatchObject({ method: status, params: { taskId, status: "input_required" } });

    const load = services.store.load.bind(services.store);
    vi.spyOn(services.store, "load").mockImplementation(async (id) => {
      const task = await load(id);
      return task && { ...task, message: "Half of it is done." };
    });
    (services.wakeUps as MemoryWakeUps).changed(taskId);
    expect(await own.next()).toMatchObject({ method: status, params: { taskId, statusMessage: "Half of it is done." } });
    own.close();
  });

  test("asks nothing of a client that cannot be asked, which learns from the status that a question is open", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a, { capabilities: {} });
    const own = await client.listen(a);
    const taskId = await createdTask(client, b);
    expect(await own.next()).toMatchObject({
      method: status,
      params: { taskId, status: "working", statusMessage: expect.stringContaining("cannot ask it") },
    });
    await client.request(b, "tasks/cancel", { taskId });
    expect(await own.next()).toMatchObject({ method: status, params: { taskId, status: "cancelled" } });
  });

  test("ends when its front end shuts down, and its client comes back to another one", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    void a.app.close();
    await own.ended();
    expect(own.text).toMatch(/retry: \d+\n\n$/);
    const resumed = await client.listen(b, own.lastEventId);
    await client.request(b, "tools/call", { name: "announce", arguments: {} });
    expect((await resumed.next()).method).toMatch("list_changed");
  });

  test("reports a resource no longer once its session has unsubscribed", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    await client.request(b, "resources/subscribe", { uri: "test://text" });
    await client.request(b, "tools/call", { name: "touch", arguments: {} });
    expect(await own.next()).toMatchObject({ method: "notifications/resources/updated" });
    await client.request(b, "resources/unsubscribe", { uri: "test://text" });
    await client.request(b, "tools/call", { name: "touch", arguments: {} });
    await client.request(b, "tools/call", { name: "announce", arguments: {} });
    expect((await own.next()).method).toMatch("list_changed");
  });

  test("asks a question of which the reply to its claim was lost, also if the task has changed since", async () => {
    const { a, sessions } = await twoFronts({ times: { taskGraceMs: 0 } });
    const client = await openSession(a);
    const own = await client.listen(a);
    const claim = sessions.claimAsk.bind(sessions);
    const claims = vi.spyOn(sessions, "claimAsk").mockImplementationOnce(claim);
    claims.mockImplementationOnce(async (question) => {
      await claim(question);
      throw new ParleyError("UNAVAILABLE", "the reply was lost");
    });
    await createdTask(client, a, "approve");
    const next = async () => {
      for (;;) {
        const event = await own.next();
        if (event.method === "elicitation/create") return String(event.id).split(":")[1];
      }
    };
    expect(await next()).toBe("ops");
    await until(() => claims.mock.calls.length === 2);
    const [{ taskId }] = claims.mock.calls[0]!;
    await client.request(a, "tasks/get", {
      taskId,
      _meta: { "io.modelcontextprotocol/elicitation-response": { elicitationId: elicitationId(taskId, "ops"), action: "decline" } },
    });
    expect(await next()).toBe("legal");
    own.close();
  });

  test("follows a task no longer that has ended, or that has expired", async () => {
    const { a, b, services, sessions } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    const [ended, expired] = [await createdTask(client, b), await createdTask(client, b)];
    const load = services.store.load.bind(services.store);
    for (let asks = 0; asks < 2;) asks += (await own.next()).method === "elicitation/create" ? 1 : 0;
    vi.spyOn(services.store, "load").mockImplementation(async (id) => (id === expired ? undefined : await load(id)));
    (services.wakeUps as MemoryWakeUps).changed(expired);
    await client.request(b, "tasks/cancel", { taskId: ended });
    await until(async () => (await sessions.interests(client.sessionId)).taskIds.length === 0);
    for (const taskId of [ended, expired]) expect(services.wakeUps.isWatched(taskId)).toBe(false);
  });

  test("says nothing of another person's task, although its client may answer a question of it", async () => {
    const { a, b, sessions } = await twoFronts({ catalogue: catalogue([pay]), authenticate });
    const [ann, bob] = [await openSession(a, { principal: "ann" }), await openSession(a, { principal: "bob" })];
    const taskId = await createdTask(ann, a, "pay");
    const get = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId } };
    const { messages } = await answered(await bob.post(b, get, { "x-groups": "finance" }));
    expect(messages).toMatchObject([{ result: { taskId, status: "input_required" } }]);
    expect((await sessions.interests(bob.sessionId)).taskIds).toEqual([]);
  });

  test("has the questions of the task with which a repeated call was answered, and follows no other", async () => {
    const { a, b, sessions } = await twoFronts();
    const call = { ...greet, task: {}, _meta: { "parley/idempotencyKey": "the-key" } };
    const first = await (await openSession(a)).request(a, "tools/call", call);
    const client = await openSession(b);
    const repeated = await client.request(a, "tools/call", call);
    const [taskId, again] = [first, repeated].map(({ messages }) => messages[0]?.result?.["taskId"]);
    expect(again).toBe(taskId);
    expect((await sessions.interests(client.sessionId)).taskIds).toEqual([taskId]);
    const own = await client.listen(b);
    expect(await own.next()).toMatchObject({ method: status, params: { taskId, status: "input_required" } });
    expect(await own.next()).toMatchObject({ method: "elicitation/create" });
  });

  test("records each question that it sends as shown", async () => {
    const shown: (string | undefined)[] = [];
    const audit = {
      note: async ({ action, door, ask }: AuditFact) => void (action === "shown" && door?.endsWith("GET") && shown.push(ask)),
    };
    const { a, b } = await twoFronts({ audit });
    const client = await openSession(a);
    const own = await client.listen(a);
    await createdTask(client, b, "approve");
    for (let asks = 0; asks < 2;) asks += (await own.next()).method === "elicitation/create" ? 1 : 0;
    expect(shown).toEqual(["ops", "legal"]);
  });

  test("records no question as shown to a client that left before it was sent", async () => {
    const memory = createMemorySessions({ clock: systemClock, wakeUps: createMemoryWakeUps() });
    const [claimed, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const sessions: SessionStore = {
      ...memory,
      async claimAsk(claim) {
        const became = await memory.claimAsk(claim);
        if (claim.key !== "legal") return became;
        claimed.resolve();
        await back.promise;
        return became;
      },
    };
    const shown: (string | undefined)[] = [];
    const audit = {
      note: async ({ action, door, ask }: AuditFact) => void (action === "shown" && door?.endsWith("GET") && shown.push(ask)),
    };
    const { a, b, services } = await twoFronts({ sessions, audit });
    const client = await openSession(a);
    const own = await client.listen(a);
    const taskId = await createdTask(client, b, "approve");
    const reading = own.ended();
    await claimed.promise;

    own.close();
    await reading;
    await until(() => !services.wakeUps.isWatched(taskId));
    back.resolve();
    await client.request(a, "ping");
    expect(shown).toEqual(["ops"]);
  });

  test("leaves no watch behind when its client disconnects", async () => {
    const { a, b, services } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    const taskId = await createdTask(client, b);
    await own.next();
    expect([taskId, `session:${client.sessionId}`].map((name) => services.wakeUps.isWatched(name))).toEqual([true, true]);
    own.close();
    await until(() => ![taskId, `session:${client.sessionId}`].some((name) => services.wakeUps.isWatched(name)));
  });
});
