/** Sessions of the 2025 revisions on two front ends: every step of a conversation goes to a different front end than the one before. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ParleyError, type SessionStore } from "@parley/core";
import { createMemorySessions, createMemoryWakeUps, type MemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { catalogue, defineTool, ToolError } from "@parley/sdk";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "../../../../../test/support/until.ts";
import { callerNamed, deploy, holdNext } from "../../../deployment.fixture.ts";
import type { Times } from "../../../front-end/limits.ts";
import { answered, openSession } from "../../../session-client.fixture.ts";
import { held, offered } from "../../../tools.fixture.ts";

const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];

async function twoFronts(options: Partial<Parameters<typeof deploy>[0]> = {}) {
  const deployment = await deploy({ catalogue: offered, ...options });
  const [a, b] = deployment.fronts;
  if (!a || !b) throw new Error("two front ends are needed");
  return { ...deployment, a, b };
}

/** Two front ends, and what one of their session store's methods does from now on. */
async function replacing<Method extends keyof SessionStore>(method: Method, times: Partial<Times> = {}) {
  const memory = createMemorySessions({ clock: systemClock, wakeUps: createMemoryWakeUps() });
  const replaced = { [method]: memory[method] } as Pick<SessionStore, Method>;
  const call = (...parameters: unknown[]) => (replaced[method] as (...parameters: unknown[]) => unknown)(...parameters);
  return { ...(await twoFronts({ times, sessions: { ...memory, [method]: call } })), replaced };
}

/** Questions reach clients as they did before text. */
const NO_TEXT = { rungs: new Set(["task", "input_required", "held"] as const) };

const content = (text: string) => [{ type: "text", text }];

/** What releases the next tool that is at work, once it is. `before` released the one before. */
async function nextHeld(before: () => void): Promise<() => void> {
  await until(() => held.release !== before);
  return held.release;
}

describe("a session", () => {
  test.each(VERSIONS)("of %s is opened at one front end and served at another", async (version) => {
    const { a, b } = await twoFronts();

    const client = await openSession(a, { version });

    expect(client.initialized.result).toMatchObject({ protocolVersion: version, serverInfo: { name: "parley" } });
    expect(client.sessionId).toMatch(/^[\x21-\x7e]{20,}$/);
    const { status, messages } = await client.request(b, "tools/list");
    expect(status).toBe(200);
    expect(messages[0]?.result?.["tools"]).toBeInstanceOf(Array);
    expect((await client.request(b, "ping")).messages[0]?.result).toEqual({});
  });

  test("of a version that is not served is offered the newest one", async () => {
    const { a } = await twoFronts();
    expect((await openSession(a, { version: "2024-11-05" })).initialized.result).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  test("ends with DELETE, at every front end", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const headers = { "mcp-session-id": client.sessionId };

    expect((await fetch(b.url, { method: "DELETE", headers })).status).toBe(204);

    expect((await client.request(a, "ping")).status).toBe(404);
    expect((await fetch(b.url, { method: "DELETE", headers })).status).toBe(404);
  });

  const over = { error: { code: -32603, message: "The session has ended. The call continues without it." } };
  const end = ({ url }: { url: string }, { sessionId }: { sessionId: string }) =>
    fetch(url, { method: "DELETE", headers: { "mcp-session-id": sessionId } });

  test("ends its calls, at every front end; their tasks continue, and their places are free", async () => {
    const { a, b, services } = await twoFronts({ limits: { waitsMax: 2 }, times: { keepAliveMs: 20 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, "call");
    const asked = await call.next();
    const resumed = await client.stream(b, "tools/call", { name: "greet", arguments: {} }, "resumed");
    const { eventId } = await resumed.next();
    resumed.close();
    const continued = await client.listen(a, eventId);
    await until(() => b.waiting === 0);

    expect((await end(b, client)).status).toBe(204);

    expect(await call.next()).toMatchObject({ id: "call", ...over });
    expect(await continued.next()).toMatchObject({ id: "resumed", ...over });
    await Promise.all([call.ended(), continued.ended()]);
    await until(() => !services.wakeUps.isWatched(`session:${client.sessionId}`));
    expect((await services.store.load(String(asked.id).split(":")[0] ?? ""))?.status).toBe("input_required");
    const next = await openSession(a);
    const calls = [await next.stream(a, "tools/call", { name: "greet", arguments: {} }), await next.listen(a)];
    await calls[0]!.next();
    await until(() => a.waiting === 2);
    for (const each of calls) each.close();
  });

  test("ends a tasks/result, and a call that is answered with JSON", async () => {
    const { a, b } = await twoFronts({ times: { keepAliveMs: 20 } });
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const result = await client.stream(a, "tasks/result", { taskId: messages[0]?.result?.["taskId"] }, "result");
    await result.next();
    const call = { jsonrpc: "2.0", id: "call", method: "tools/call", params: { name: "hold", arguments: {} } };
    const json = client.post(a, call, { accept: "application/json" });
    await until(() => a.waiting === 2);

    await end(b, client);

    expect(await result.next()).toMatchObject({ id: "result", ...over });
    expect((await answered(await json)).messages).toMatchObject([{ id: "call", ...over }]);
    held.release();
  });

  test("ends a tasks/result that has seen no heartbeat yet", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const result = await client.stream(a, "tasks/result", { taskId: messages[0]?.result?.["taskId"] }, "result");
    await result.next();
    await end(b, client);
    expect(await result.next()).toMatchObject({ id: "result", ...over });
  });

  test("ends a call that began to watch it too late", async () => {
    const { a, b, replaced } = await replacing("watch", { keepAliveMs: 20 });
    const client = await openSession(a);
    const watching = holdNext(replaced, "watch");
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, "call");
    await call.next();
    await until(() => watching.awaited);
    await end(b, client);
    watching.resolve();
    expect(await call.next()).toMatchObject({ id: "call", ...over });
  });

  test("expires if it is not used, and stays alive while it is", async () => {
    const { a, skip } = await twoFronts({ times: { sessionTtlMs: 60_000 } });
    const client = await openSession(a);
    skip(50_000);
    expect((await client.request(a, "ping")).status).toBe(200);
    skip(50_000);
    expect((await client.request(a, "ping")).status).toBe(200);
    skip(61_000);
    expect((await client.request(a, "ping")).status).toBe(404);
  });

  test("is not kept alive by requests of another caller, for whom it does not exist", async () => {
    const { a, b, skip } = await twoFronts({ times: { sessionTtlMs: 60_000 } });
    const client = await openSession(a, { principal: "ann" });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await client.post(b, ping)).status).toBe(200);
    for (let atMs = 0; atMs < 60_000; atMs += 20_000) {
      expect((await client.post(b, ping, { "x-principal": "mallory" })).status).toBe(404);
      skip(20_000);
    }
    expect((await client.post(b, ping)).status).toBe(404);
  });

  test("stays alive while one of its calls waits for a person, however long that takes", async () => {
    const { a, b, skip, sessionTouched } = await twoFronts({ times: { sessionTtlMs: 60_000, keepAliveMs: 20 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} });
    const ask = await call.next();
    for (let round = 0; round < 4; round += 1) {
      skip(40_000);
      await sessionTouched();
    }
    expect((await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } })).status).toBe(202);
  });

  test("belongs to its principal", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a, { principal: "ann" });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await client.post(a, ping, { "x-principal": "bob" })).status).toBe(404);
    expect((await client.post(a, ping)).status).toBe(200);
  });

  test("is required for everything but initialize", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect((await client.post(a, list, { "mcp-session-id": undefined })).status).toBe(400);
    expect((await client.post(a, list, { "mcp-session-id": "made-up" })).status).toBe(404);
    expect((await fetch(a.url, { headers: { accept: "text/event-stream" } })).status).toBe(400);
  });

  test("refuses an unknown protocol version, and assumes its own if there is none", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await client.post(a, ping, { "mcp-protocol-version": "1900-01-01" })).status).toBe(400);
    expect((await client.post(a, ping, { "mcp-protocol-version": undefined })).status).toBe(200);
  });
});

describe("a blocking call", () => {
  test.each(VERSIONS)("of %s asks on its own stream and is answered at another front end", async (version) => {
    const { a, b } = await twoFronts();
    const client = await openSession(a, { version });
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 7);

    const ask = await call.next();
    expect(ask).toMatchObject({ method: "elicitation/create", params: { message: "Who are you?" } });
    expect((await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } })).status).toBe(202);

    expect(await call.next()).toMatchObject({ id: 7, result: { content: content("Hello, Ann!") } });
    await call.ended();
  });

  test("that ends at once is answered without a stream", async () => {
    const { a } = await twoFronts();
    const { contentType, messages } = await (await openSession(a)).request(a, "tools/call", { name: "echo", arguments: { text: "hi" } });
    expect(contentType).toMatch("application/json");
    expect(messages[0]?.result).toMatchObject({ content: content("hi") });
  });

  test.each(VERSIONS)("of %s that works silently is kept connected by comments, unless its client takes no stream", async (version) => {
    const { a } = await twoFronts({ times: { resumableAfterMs: 5, streamAfterMs: 5, keepAliveMs: 5 } });
    const client = await openSession(a, { version });
    const hold = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "hold", arguments: {} } };
    const before = held.release;
    const asJson = client.post(a, hold, { accept: "application/json" });
    const release = await nextHeld(before);
    const call = await client.stream(a, "tools/call", hold.params, 1);
    const releaseStream = await nextHeld(release);
    const answer = call.next();
    await until(() => call.text.includes(": keep-alive\n\n"));
    releaseStream();
    release();
    expect(await answer).toMatchObject({ id: 1, result: { content: content("released") } });
    expect(await answered(await asJson)).toMatchObject({ contentType: expect.stringMatching("application/json"), messages: [{ id: 2 }] });
  });

  test.each<[string, string, Partial<Times>, Record<string, string>]>([
    ["of 2025-06-18 that sent nothing yet", "2025-06-18", {}, {}],
    ["of 2025-03-26 whose stream has only comments", "2025-03-26", { streamAfterMs: 0 }, {}],
    ["of a client that takes no stream", "2025-11-25", {}, { accept: "application/json" }],
  ])("%s ends with an error when its front end shuts down, because its client cannot come back", async (_, version, times, headers) => {
    const { a, b } = await twoFronts({ times: { shutdownTimeoutMs: 10, ...times } });
    const client = await openSession(a, { version });
    const before = held.release;
    const call = client.post(a, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hold", arguments: {} } }, headers);
    const release = await nextHeld(before);
    const closed = a.app.close();
    expect((await answered(await call)).messages).toMatchObject([
      { id: 1, error: { code: -32603, message: expect.stringMatching("continues") } },
    ]);
    release();
    await closed;
    expect((await client.request(b, "ping")).messages[0]?.result).toEqual({});
  });

  test("that cannot ask its client continues without the question, even if Redis was away at that moment", async () => {
    const { a, services } = await twoFronts({ ladder: NO_TEXT });
    const client = await openSession(a, { capabilities: {} });
    const away = vi.spyOn(services.store, "answer").mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));

    const called = client.request(a, "tools/call", { name: "greet", arguments: {} }, 1);
    await until(() => away.mock.settledResults.length > 0);
    (services.wakeUps as MemoryWakeUps).changed(String(away.mock.calls[0]?.[0].taskId));

    expect((await called).messages).toMatchObject([{ id: 1, result: { isError: true } }]);
  });

  test("that ends at once is still a stream for a client that names streams first", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const { contentType, messages } = await answered(await client.post(a, ping, { accept: "text/event-stream, application/json" }));
    expect(contentType).toBe("text/event-stream");
    expect(messages).toMatchObject([{ id: 1, result: {} }]);
  });

  test("continues at another front end with Last-Event-ID, and nothing is asked twice", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "interview", arguments: {}, _meta: { progressToken: "p" } }, 1);
    const name = await call.next();
    call.close();

    const resumed = await client.listen(b, name.eventId);
    await client.reply(a, name.id, { action: "accept", content: { name: "Ann" } });
    expect(await resumed.next()).toMatchObject({ method: "notifications/progress", params: { progressToken: "p", progress: 1 } });
    const color = await resumed.next();
    expect(color).toMatchObject({ method: "elicitation/create", params: { message: "Your color?" } });
    await client.reply(b, color.id, { action: "accept", content: { color: "blue" } });
    expect(await resumed.next()).toMatchObject({ params: { progress: 2 } });
    expect(await resumed.next()).toMatchObject({ id: 1, result: { content: content("Ann likes blue") } });
  });

  test("sends a question again if its event was lost with the connection", async () => {
    const { a, b } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 1);
    const ask = await call.next();
    const primed = /^id: (.*)\nretry: \d+\ndata: $/m.exec(call.text)?.[1];
    call.close();

    const again = await (await client.listen(b, primed)).next();

    expect(again.id).toBe(ask.id);
  });

  test.each(VERSIONS)("of %s is resumed as a stream, even if only the result is left", async (version) => {
    const { a, b } = await twoFronts();
    const client = await openSession(a, { version });
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 1);
    const ask = await call.next();
    call.close();

    const resumed = await client.listen(b, call.lastEventId);
    await client.reply(a, ask.id, { action: "accept", content: { name: "Ann" } });

    expect(await resumed.next()).toMatchObject({ id: 1, result: { content: content("Hello, Ann!") } });
    await resumed.ended();
  });

  test("that its tool releases ends its stream once: the client comes back, and then keeps the stream", async () => {
    const { a, b } = await twoFronts({ times: { keepAliveMs: 5 } });
    const client = await openSession(a);
    const before = held.release;
    const call = await client.stream(a, "tools/call", { name: "let-go", arguments: {}, _meta: { progressToken: "p" } }, 1);
    expect(await call.next()).toMatchObject({ params: { progress: 1 } });
    const release = await nextHeld(before);
    await call.ended();

    const resumed = await client.listen(b, call.lastEventId);
    const result = resumed.next();
    await until(() => resumed.text.includes(": keep-alive\n\n"));
    release();
    expect(await result).toMatchObject({ id: 1, result: { content: content("done") } });
  });

  test("asks again with the violations when the answer does not fit", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 1);
    const first = await call.next();

    const refused = await client.reply(b, first.id, { action: "accept", content: { name: "" } });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: -32602, data: { violations: [{ path: "/content/name" }] } } });

    const second = await call.next();
    expect(second.id).not.toBe(first.id);
    expect(second).toMatchObject({ method: "elicitation/create", params: { message: expect.stringMatching(/Who are you\?[^]*Name/) } });
    await client.reply(a, second.id, { action: "accept", content: { name: "Ann" } });
    expect(await call.next()).toMatchObject({ result: { content: content("Hello, Ann!") } });
  });

  test("is cancelled by a notification at any front end, but not by a lost connection", async () => {
    const { a, b, services } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, "the-call");
    const ask = await call.next();
    call.close();
    const taskId = String(ask.id).split(":")[0] ?? "";
    expect((await services.store.load(taskId))?.status).toBe("input_required");

    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "the-call", reason: "too slow" } };
    expect((await client.post(b, cancelled)).status).toBe(202);

    expect((await services.store.load(taskId))?.status).toBe("cancelled");
  });

  test("that its client cancels while it is being created ends without a response, and so does its task", async () => {
    const { a, b, services, sessions } = await twoFronts();
    const client = await openSession(a);
    const note = sessions.noteCall.bind(sessions);
    let taskId = "";
    vi.spyOn(sessions, "noteCall").mockImplementationOnce(async (...noting) => {
      taskId = noting[2];
      await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "early" } });
      return await note(...noting);
    });
    expect((await client.request(a, "tools/call", { name: "greet", arguments: {} }, "early")).messages).toEqual([]);
    await until(async () => (await services.store.load(taskId))?.status === "cancelled");
    await until(async () => (await sessions.calls(client.sessionId)).size === 0);
  });

  test("keeps 200 characters of the client's reason for its cancellation", async () => {
    const { a, services } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const cancelledFor = async (reason: string) => {
      const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, reason);
      const ask = await call.next();
      await client.post(a, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: reason, reason } });
      await call.ended();
      return (await services.store.load(String(ask.id).split(":")[0] ?? ""))?.message;
    };
    expect(await cancelledFor("r".repeat(200))).toBe(`The client cancelled the call: ${"r".repeat(200)}`);
    expect(await cancelledFor("r".repeat(201))).toBe(`The client cancelled the call: ${"r".repeat(200)}`);
  });

  test.each(VERSIONS)("of %s that its client has cancelled ends without a response, and is not resumed", async (version) => {
    const { a, b } = await twoFronts();
    const client = await openSession(a, { version });
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 1);
    const ask = await call.next();
    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    expect(await call.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: ask.id } });
    await call.ended();
    expect(call.text).not.toContain("error");

    const resumed = await client.listen(b, call.lastEventId);

    expect([resumed.status, resumed.text]).toEqual([405, ""]);
  });

  test("whose task cannot be read ends with an error, and is not resumed either: its client considers it answered", async () => {
    const { a, b, services } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 1);
    const ask = await call.next();
    vi.spyOn(services.store, "load").mockRejectedValueOnce(new Error("its text is not JSON"));
    (services.wakeUps as MemoryWakeUps).changed(String(ask.id).split(":")[0] ?? "");
    expect(await call.next()).toMatchObject({ id: 1, error: { code: -32603, data: { defectId: expect.any(String) } } });
    await call.ended();

    expect((await client.listen(b, call.lastEventId)).status).toBe(405);
  });

  test("that ended with an error brings the official client back once, and not again", async () => {
    const { a } = await twoFronts({ times: { retryMs: 1 } });
    const resumed: number[] = [];
    const transport = new StreamableHTTPClientTransport(new URL(a.url), {
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (new Headers(init?.headers).has("last-event-id")) resumed.push(response.status);
        return response;
      },
    });
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
    const asked = Promise.withResolvers<void>();
    client.setRequestHandler(ElicitRequestSchema, async () => {
      asked.resolve();
      return await new Promise(() => undefined);
    });
    // The SDK's own types do not agree with exactOptionalPropertyTypes.
    await client.connect(transport as never);
    const leave = new AbortController();
    const called = client.callTool({ name: "greet", arguments: {} }, undefined, { signal: leave.signal });
    await asked.promise;
    leave.abort();
    await expect(called).rejects.toThrow();

    await until(() => resumed.length > 0);
    // Longer than it would take to come back.
    for (let round = 0; round < 10; round += 1) await client.ping();
    expect(resumed).toEqual([405]);
    await client.close();
  });

  test.each([
    ["a call", {}],
    ["a call for a task", { task: {} }],
  ])("of a client that disconnected before %s could begin starts nothing", async (_what, params) => {
    const callers = { caller: async () => callerNamed("anonymous") };
    const { a, logged } = await twoFronts({ limits: { waitsMax: 1 }, authenticate: () => callers.caller() });
    const client = await openSession(a);
    const redisIsBack = holdNext(callers, "caller");
    const leave = new AbortController();
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "greet", arguments: {}, ...params } };
    const gone = client.post(a, call, {}, leave.signal);
    await until(() => redisIsBack.awaited);

    leave.abort();
    await expect(gone).rejects.toThrow();
    await until(() => a.waiting === 0);
    redisIsBack.resolve();

    await until(async () => (await client.request(a, "tools/call", { name: "echo", arguments: { text: "hi" } })).messages[0]?.result);
    expect(logged.filter(({ message }) => message === "task created").map(({ fields }) => fields["tool"])).toEqual(["echo"]);
  });

  test("of a client that cannot be asked ends with an error where the deployment allows no text", async () => {
    const { a } = await twoFronts({ ladder: NO_TEXT });
    const client = await openSession(a, { capabilities: {} });
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {} });
    expect(messages.at(-1)?.result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/elicitation/) }] });
  });

  test("of a client that reads no streams ends with an error as well", async () => {
    const { a } = await twoFronts({ ladder: NO_TEXT });
    const client = await openSession(a);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "greet", arguments: {} } };
    const { messages } = await answered(await client.post(a, call, { accept: "application/json" }));
    expect(messages.at(-1)?.result).toMatchObject({ isError: true });
  });

  test("reports progress to a client with a progress token while it waits", async () => {
    const { a } = await twoFronts({ times: { keepAliveMs: 20 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {}, _meta: { progressToken: 5 } });
    await call.next();
    const first = await call.next();
    const second = await call.next();
    expect([first, second]).toMatchObject([{ params: { progressToken: 5 } }, { params: { progressToken: 5 } }]);
    expect(Number(second.params?.["progress"])).toBeGreaterThan(Number(first.params?.["progress"]));
  });

  test("receives progress that increases although its tool starts over, also after the stream is resumed", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "start-over", arguments: {}, _meta: { progressToken: 5 } }, 1);
    expect(await call.next()).toMatchObject({ params: { progress: 2, message: "first" } });
    const ask = await call.next();
    call.close();
    const resumed = await client.listen(b, ask.eventId);
    await client.reply(a, ask.id, { action: "accept", content: { name: "Ann" } });
    const [again, last] = [await resumed.next(), await resumed.next()];
    expect([again, last]).toMatchObject([{ params: { message: "again" } }, { params: { message: "last" } }]);
    const values = [again, last].map(({ params }) => Number(params?.["progress"]));
    expect(values[0]).toBeGreaterThan(2);
    expect(values[1]).toBeGreaterThan(values[0]!);
  });

  test("is handed over when its front end closes, and continues at the other one", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} }, 1);
    const ask = await call.next();

    void a.app.close();
    await call.ended();
    expect(call.text).toMatch(/^retry: \d+$/m);

    const resumed = await client.listen(b, call.lastEventId);
    await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await resumed.next()).toMatchObject({ id: 1, result: { content: content("Hello, Ann!") } });
  });

  test("prompts ask as tools do", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "prompts/get", { name: "letter", arguments: { to: "Bob" } }, 1);
    await client.reply(b, (await call.next()).id, { action: "accept", content: { name: "Ann" } });
    expect(await call.next()).toMatchObject({ id: 1, result: { messages: [{ content: { text: "Write to Bob from Ann" } }] } });
  });
});

describe("replies to questions", () => {
  test("of a session that has ended are refused, also while the task cannot be read, which does no further harm", async () => {
    const { a, services } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} });
    const { id } = await call.next();
    await fetch(a.url, { method: "DELETE", headers: { "mcp-session-id": client.sessionId } });
    const load = vi.spyOn(services.store, "load").mockRejectedValue(new ParleyError("UNAVAILABLE", "Redis does not answer"));
    expect((await client.reply(a, id, { action: "cancel" })).status).toBe(404);
    expect(load).toHaveBeenCalled();
    load.mockRestore();
    call.close();
  });

  test("count once; a repeated one is a duplicate, and a different one is refused", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} });
    const { id } = await call.next();
    const accept = { action: "accept", content: { name: "Ann" } };
    expect((await client.reply(a, id, accept)).status).toBe(202);
    expect((await client.reply(b, id, accept)).status).toBe(202);
    expect((await client.reply(b, id, { action: "decline" })).status).toBe(400);
  });

  test("of another session, or to something that was never asked, are refused", async () => {
    const { a } = await twoFronts();
    const [asked, other] = [await openSession(a), await openSession(a)];
    const call = await asked.stream(a, "tools/call", { name: "greet", arguments: {} });
    const { id } = await call.next();
    const accept = { action: "accept", content: { name: "Eve" } };
    expect((await other.reply(a, id, accept)).status).toBe(400);
    expect((await asked.reply(a, 17, accept)).status).toBe(400);
    expect(
      (
        await asked.reply(
          a,
          String(id).replace(/.$/, (last) => (last === "A" ? "Q" : "A")),
          accept,
        )
      ).status,
    ).toBe(400);
    expect((await asked.reply(a, id, { action: "accept", content: { name: "Ann" } })).status).toBe(202);
  });

  test("that are errors cancel the question", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "approve", arguments: {} });
    const [ops, legal] = [await call.next(), await call.next()];
    expect((await client.post(a, { jsonrpc: "2.0", id: ops.id, error: { code: -32603, message: "no window" } })).status).toBe(202);
    expect((await client.reply(a, legal.id, { action: "decline" })).status).toBe(202);
    expect(await call.next()).toMatchObject({ result: { content: content("cancel,decline") } });
  });

  test("that are malformed are refused", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", { name: "greet", arguments: {} });
    const { id } = await call.next();
    expect((await client.reply(a, id, { action: "perhaps" })).status).toBe(400);
    expect((await client.reply(a, id, [] as never)).status).toBe(400);
  });
});

describe("a session's own stream", () => {
  test("reports lists that change, at every front end", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const stream = await client.listen(a);
    await client.request(b, "tools/call", { name: "announce", arguments: {} });
    expect([(await stream.next()).method, (await stream.next()).method].toSorted()).toEqual([
      "notifications/prompts/list_changed",
      "notifications/tools/list_changed",
    ]);
  });

  test("reports changes of a resource with a long uri, which its session has by a short name", async () => {
    const { a, b, services, sessions, replaced } = await replacing("interests");
    const client = await openSession(a);
    const uri = `test://${"x".repeat(2_000)}`;
    const noted = async () => (await sessions.interests(client.sessionId)).resources;
    await client.request(b, "resources/subscribe", { uri });
    // As front ends noted it before.
    await sessions.subscribe(client.sessionId, `${uri}/old`, 10);
    expect((await noted()).map((name) => name.length).toSorted((x, y) => x - y)).toEqual([23, uri.length + 4]);

    const read = vi.spyOn(replaced, "interests");
    const stream = await client.listen(a);
    await until(() => read.mock.settledResults[0]?.type === "fulfilled");
    await services.wakeUps.announce({ type: "resource", uri: `${uri}/other` });
    for (const changed of [uri, `${uri}/old`]) {
      await services.wakeUps.announce({ type: "resource", uri: changed });
      expect(await stream.next()).toMatchObject({ method: "notifications/resources/updated", params: { uri: changed } });
    }

    for (const each of [uri, `${uri}/old`]) await client.request(b, "resources/unsubscribe", { uri: each });
    expect(await noted()).toEqual([]);
  });

  test("reports changes of subscribed resources", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const stream = await client.listen(a);
    await client.request(b, "tools/call", { name: "touch", arguments: {} });
    await client.request(b, "resources/subscribe", { uri: "test://text" });
    await client.request(b, "tools/call", { name: "touch", arguments: {} });
    expect(await stream.next()).toMatchObject({ method: "notifications/resources/updated", params: { uri: "test://text" } });
  });

  test("that is opened while Redis is away reports and asks when Redis is back", async () => {
    const { a, services, replaced } = await replacing("interests");
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    const away = new ParleyError("UNAVAILABLE", "Redis did not answer in time");
    const read = vi.spyOn(replaced, "interests").mockRejectedValueOnce(away);
    const watch = vi.spyOn(services.wakeUps, "watch").mockRejectedValueOnce(away);

    const stream = await client.listen(a);

    expect(await stream.next()).toMatchObject({ method: "notifications/tasks/status", params: { taskId, status: "input_required" } });
    expect(await stream.next()).toMatchObject({ method: "elicitation/create" });
    const ends = [read, watch].map(({ mock }) => mock.settledResults.map(({ type }) => type));
    expect(ends).toEqual([
      ["rejected", "fulfilled", "fulfilled"],
      ["rejected", "fulfilled"],
    ]);
  });

  test("asks once what it could not ask while Redis was away", async () => {
    const { a, replaced } = await replacing("claimAsk");
    const client = await openSession(a);
    const stream = await client.listen(a);
    const away = vi.spyOn(replaced, "claimAsk").mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    expect(await stream.next()).toMatchObject({ method: "notifications/tasks/status", params: { taskId, status: "input_required" } });
    expect(await stream.next()).toMatchObject({ method: "elicitation/create" });
    expect(away.mock.settledResults.map(({ type }) => type)).toEqual(["rejected", "fulfilled"]);
  });

  test("is unique: a second one takes over", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const first = await client.listen(a);
    const second = await client.listen(b);
    await first.ended();
    // A client that is told so does not take it back.
    expect((await client.listen(a, first.lastEventId)).status).toBe(405);
    await client.request(a, "tools/call", { name: "announce", arguments: {} });
    expect((await second.next()).method).toMatch("list_changed");
  });

  test("stays with the last of two official clients that share the session", async () => {
    const { a } = await twoFronts({ times: { retryMs: 1 } });
    const { sessionId } = await openSession(a);
    const opened: string[] = [];
    const connected = async (name: string) => {
      const transport = new StreamableHTTPClientTransport(new URL(a.url), {
        sessionId,
        async fetch(url, init) {
          const response = await fetch(url, init);
          if (init?.method === "GET") opened.push(`${name} ${response.status}`);
          return response;
        },
      });
      const client = new Client({ name, version: "1" });
      // The SDK's own types do not agree with exactOptionalPropertyTypes.
      await client.connect(transport as never);
      await transport.resumeStream("", {}).catch(() => undefined);
      return client;
    };
    const one = await connected("one");
    const other = await connected("other");

    await until(() => opened.includes("one 405"));
    // Longer than it would take to come back.
    for (let round = 0; round < 10; round += 1) await one.ping();
    expect(opened).toEqual(["one 200", "other 200", "one 405"]);
    await Promise.all([one.close(), other.close()]);
  });

  test("ends with the session", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const stream = await client.listen(a);
    await fetch(b.url, { method: "DELETE", headers: { "mcp-session-id": client.sessionId } });
    await stream.ended();
  });

  test("that cannot watch one of its tasks ends, and watches none of the others any longer", async () => {
    const { a, services } = await twoFronts();
    const client = await openSession(a);
    const create = async () => {
      const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
      return String(messages[0]?.result?.["taskId"]);
    };
    const [refused, slow] = [await create(), await create()];
    const { watch } = services.wakeUps;
    const [back, watched] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    Object.assign(services.wakeUps, {
      async watch(taskId: string, onChange: () => void) {
        if (taskId === refused) throw new Error("no such channel");
        if (taskId !== slow) return await watch(taskId, onChange);
        await back.promise;
        const unwatch = await watch(taskId, onChange);
        watched.resolve();
        return unwatch;
      },
    });

    const stream = await client.listen(a);
    await stream.ended();
    back.resolve();
    await watched.promise;

    await until(() => !services.wakeUps.isWatched(slow));
  });

  test("cannot be resumed with an invalid event id", async () => {
    const { a } = await twoFronts();
    const [one, two] = [await openSession(a), await openSession(a)];
    const stream = await one.listen(a);
    await one.request(a, "tools/call", { name: "announce", arguments: {} });
    const { eventId } = await stream.next();
    expect((await one.listen(a, "garbage")).status).toBe(400);
    expect((await two.listen(a, eventId)).status).toBe(400);
    expect((await one.listen(a, eventId)).status).toBe(200);
  });
});

describe("tasks of 2025-11-25", () => {
  const task = { task: { ttl: 120_000 } };

  test("a task from call to result, with its question on the tasks/result stream", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "greet", arguments: {}, ...task });
    const taskId = String(created.messages[0]?.result?.["task"]?.["taskId"]);
    expect(created.messages[0]?.result).toMatchObject({ task: { taskId, ttl: expect.closeTo(120_000, -3) }, taskId });

    const result = await client.stream(b, "tasks/result", { taskId }, 9);
    const ask = await result.next();
    expect(ask).toMatchObject({
      method: "elicitation/create",
      params: { _meta: { "io.modelcontextprotocol/related-task": { taskId } } },
    });
    await client.reply(a, ask.id, { action: "accept", content: { name: "Ann" } });
    expect(await result.next()).toMatchObject({
      id: 9,
      result: { content: content("Hello, Ann!"), _meta: { "io.modelcontextprotocol/related-task": { taskId } } },
    });
    expect((await client.request(a, "tasks/get", { taskId })).messages[0]?.result).toMatchObject({ taskId, status: "completed" });
    expect((await client.request(a, "tasks/list", {})).messages[0]?.result?.["tasks"]?.[0]).toMatchObject({ taskId });
    expect((await client.request(a, "tasks/cancel", { taskId })).messages[0]).toMatchObject({ error: { code: -32602 } });
  });

  test("reports of a task are on the stream of a tasks/result with a progress token, even if the call had none", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "interview", arguments: {}, ...task });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const result = await client.stream(b, "tasks/result", { taskId, _meta: { progressToken: "r" } }, 2);
    const name = await result.next();
    await client.reply(a, name.id, { action: "accept", content: { name: "Ann" } });
    expect(await result.next()).toMatchObject({ method: "notifications/progress", params: { progressToken: "r", progress: 1 } });
  });

  test("a call's progress token counts while its task lives: on a tasks/result without a token, and when that is resumed", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "interview", arguments: {}, ...task, _meta: { progressToken: "c" } });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const result = await client.stream(b, "tasks/result", { taskId }, 2);
    const name = await result.next();
    await client.reply(a, name.id, { action: "accept", content: { name: "Ann" } });
    expect(await result.next()).toMatchObject({ method: "notifications/progress", params: { progressToken: "c", progress: 1 } });
    const color = await result.next();
    const { lastEventId } = result;
    result.close();
    const resumed = await client.listen(a, lastEventId);
    await client.reply(b, color.id, { action: "accept", content: { color: "red" } });
    expect(await resumed.next()).toMatchObject({ method: "notifications/progress", params: { progressToken: "c", progress: 2 } });
    expect(await resumed.next()).toMatchObject({ id: 2, result: { content: content("Ann likes red") } });
  });

  test("a tasks/result with a progress token of its own gets its reports with that, also when it is resumed", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "interview", arguments: {}, ...task, _meta: { progressToken: "c" } });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const result = await client.stream(b, "tasks/result", { taskId, _meta: { progressToken: "r" } }, 2);
    const name = await result.next();
    await client.reply(a, name.id, { action: "accept", content: { name: "Ann" } });
    expect(await result.next()).toMatchObject({ method: "notifications/progress", params: { progressToken: "r", progress: 1 } });
    const color = await result.next();
    const { lastEventId } = result;
    result.close();
    const resumed = await client.listen(a, lastEventId);
    await client.reply(b, color.id, { action: "accept", content: { color: "red" } });
    expect(await resumed.next()).toMatchObject({ method: "notifications/progress", params: { progressToken: "r", progress: 2 } });
  });

  test("a question reaches the session's own stream, and only one stream has it", async () => {
    const { a, b } = await twoFronts({ times: { keepAliveMs: 50 } });
    const client = await openSession(a);
    const own = await client.listen(a);
    const created = await client.request(b, "tools/call", { name: "greet", arguments: {}, ...task });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    expect(await own.next()).toMatchObject({ method: "notifications/tasks/status", params: { taskId, status: "input_required" } });
    const ask = await own.next();
    expect(ask).toMatchObject({ method: "elicitation/create" });

    const result = await client.stream(b, "tasks/result", { taskId }, 2);
    await client.reply(b, ask.id, { action: "accept", content: { name: "Ann" } });

    expect(await result.next()).toMatchObject({ id: 2, result: { content: content("Hello, Ann!") } });
  });

  // The stream gives the response a head start. If the machine is busy with other tests for longer than that, the order proves nothing.
  test("a question on the session's own stream never overtakes the response that names its task", { retry: 2 }, async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const own = await client.listen(a);
    const named = new Set<unknown>();
    const calls = Array.from({ length: 20 }, async () => {
      const { messages } = await client.request(b, "tools/call", { name: "greet", arguments: {}, ...task });
      named.add(messages[0]?.result?.["taskId"]);
    });
    const answered = Promise.all(calls);
    answered.catch(() => undefined); // Awaited below, unless the test fails first.
    for (let count = 0; count < 2 * calls.length; count += 1) {
      const { params } = await own.next();
      // A status names its task in its params, a question in its _meta.
      const taskId = /"taskId":"([^"]+)"/.exec(JSON.stringify(params))?.[1];
      expect(named).toContain(taskId);
    }
    await answered;
  });

  test("a question reaches the stream of a client that comes back in another session and only polls", async () => {
    const { a, b } = await twoFronts();
    const before = await openSession(a);
    const created = await before.request(a, "tools/call", { name: "greet", arguments: {}, ...task });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const client = await openSession(b);
    const own = await client.listen(b);

    expect((await client.request(a, "tasks/get", { taskId })).messages[0]?.result).toMatchObject({ status: "input_required" });

    expect(await own.next()).toMatchObject({ method: "notifications/tasks/status", params: { taskId, status: "input_required" } });
    const ask = await own.next();
    await client.reply(a, ask.id, { action: "accept", content: { name: "Ann" } });
    expect((await client.request(b, "tasks/result", { taskId })).messages.at(-1)?.result).toMatchObject({
      content: content("Hello, Ann!"),
    });
  });

  test("a question moves to the tasks/result stream when its former stream has ended", async () => {
    const { a, b } = await twoFronts({ times: { keepAliveMs: 50 } });
    const client = await openSession(a);
    const own = await client.listen(a);
    const created = await client.request(b, "tools/call", { name: "greet", arguments: {}, ...task });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    await own.next();
    await own.next();
    const result = await client.stream(b, "tasks/result", { taskId }, 2);
    own.close();
    expect(await result.next()).toMatchObject({ method: "elicitation/create" });
  });

  test("a tasks/result that its client cancels ends, at any front end; the task continues, and asks on the stream of the next one", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = messages[0]?.result?.["task"]?.["taskId"];
    const first = await client.stream(a, "tasks/result", { taskId }, "first");
    const asked = await first.next();

    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "first" } });

    await first.ended();
    expect(first.text).not.toContain("error");
    expect((await client.listen(b, first.lastEventId)).status).toBe(405);
    const second = await client.stream(b, "tasks/result", { taskId }, "second");
    expect((await second.next()).id).toBe(asked.id);
    const own = await client.listen(a);
    await client.post(a, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "second" } });
    await second.ended();
    // The client has the question, and its own stream is open: nobody asks again.
    const third = await client.stream(b, "tasks/result", { taskId }, "third");
    await client.reply(a, asked.id, { action: "accept", content: { name: "Ann" } });
    expect(await third.next()).toMatchObject({ id: "third", result: { content: content("Hello, Ann!") } });
    for (let status; status !== "completed";) {
      const { method, params } = await own.next();
      expect(method).toBe("notifications/tasks/status");
      status = params?.["status"];
    }
    own.close();
  });

  test("a tasks/result that loses its stream while Redis is away ends as it would have, when Redis is back", async () => {
    const { a, b, replaced } = await replacing("stateOfCall");
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const result = await client.stream(a, "tasks/result", { taskId: messages[0]?.result?.["taskId"] }, "result");
    const asked = await result.next();
    const away = vi.spyOn(replaced, "stateOfCall").mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));

    const taken = await client.listen(b, asked.eventId);

    await result.ended();
    expect([away.mock.settledResults.map(({ type }) => type), result.text]).toEqual([
      ["rejected", "fulfilled"],
      expect.not.stringMatching(/error/),
    ]);
    expect((await client.listen(a, result.lastEventId)).status).toBe(405);
    await client.reply(a, asked.id, { action: "accept", content: { name: "Ann" } });
    expect(await taken.next()).toMatchObject({ id: "result", result: { content: content("Hello, Ann!") } });
  });

  test("a question that cannot be asked on a tasks/result while Redis is away is asked when Redis is back", async () => {
    const { a, services, replaced } = await replacing("claimAsk");
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = String(messages[0]?.result?.["taskId"]);
    const away = vi.spyOn(replaced, "claimAsk").mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));

    const result = await client.stream(a, "tasks/result", { taskId }, "result");
    await until(() => away.mock.settledResults.length > 0);
    (services.wakeUps as MemoryWakeUps).changed(taskId);

    expect(await result.next()).toMatchObject({ method: "elicitation/create" });
    result.close();
  });

  test("a task whose content cannot be read is cancelled, and its client is told so", async () => {
    const { a, services } = await twoFronts();
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    const { load } = services.store;
    vi.spyOn(services.store, "load").mockImplementation(async (id) => {
      const { message: _message, outcome: _outcome, ...task } = (await load(id))!;
      return { ...task, asks: [], unreadable: "erased" };
    });

    const cancel = async () => (await client.request(a, "tasks/cancel", { taskId })).messages[0];
    expect(await cancel()).toMatchObject({ result: { taskId, status: "cancelled" } });
    expect(await cancel()).toMatchObject({
      error: { code: -32602, message: "Cannot cancel task: already in terminal status 'cancelled'" },
    });
  });

  test("a tasks/result whose id is used again while it is open ends, and is not resumed: the later request has the stream", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    const first = await client.stream(a, "tasks/result", { taskId }, "same");
    const asked = await first.next();

    const second = await client.stream(b, "tasks/result", { taskId }, "same");

    await first.ended();
    expect((await client.listen(a, first.lastEventId)).status).toBe(405);
    expect((await second.next()).id).toBe(asked.id);
    await client.reply(a, asked.id, { action: "accept", content: { name: "Ann" } });
    expect(await second.next()).toMatchObject({ id: "same", result: { content: content("Hello, Ann!") } });
  });

  test("a tasks/result whose cancellation overtakes it is not held open", async () => {
    const { a, b, services } = await twoFronts();
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = messages[0]?.result?.["task"]?.["taskId"];
    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "late" } });

    const { messages: answers } = await client.request(a, "tasks/result", { taskId }, "late");

    expect(answers).toEqual([]);
    expect((await services.store.load(taskId ?? ""))?.status).toBe("input_required");
  });

  test("proposal #1869: three round trips", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const result = created.messages[0]?.result;
    const taskId = String(result?.["taskId"]);
    expect(result).toMatchObject({ status: "input_required" });
    const elicitationId = result?.["_meta"]?.["io.modelcontextprotocol/pending-elicitations"]?.[0]?.["elicitationId"];
    const answer = (name: string) => ({
      taskId,
      _meta: {
        "io.modelcontextprotocol/elicitation-response": { elicitationId, action: "accept", content: { name } },
      },
    });
    expect((await client.request(b, "tasks/get", answer(""))).messages[0]).toMatchObject({ error: { code: -32602 } });
    expect((await client.request(b, "tasks/get", answer("Ann"))).messages[0]?.result).toMatchObject({ status: "completed" });
    expect((await client.request(a, "tasks/get", answer("Ann"))).messages[0]?.result).toMatchObject({ status: "completed" });
    expect((await client.request(a, "tasks/get", answer("Bob"))).messages[0]).toMatchObject({ error: { code: -32602 } });
    expect((await client.request(a, "tasks/result", { taskId })).messages.at(-1)?.result).toMatchObject({
      content: content("Hello, Ann!"),
    });
  });

  test("proposal #1869: an answer to a question of no task is refused, in a reply that does not grow with the id", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const answer = { elicitationId: "x".repeat(500_000), action: "decline" };
    const params = { taskId, _meta: { "io.modelcontextprotocol/elicitation-response": answer } };
    const { error } = (await client.request(a, "tasks/get", params)).messages[0] ?? {};
    expect(error).toMatchObject({ code: -32602, data: { code: "NOT_OPEN" } });
    expect(JSON.stringify(error).length).toBeLessThan(1_000);
  });

  test("proposal #1869: of several answers to one question in one request, none counts, and the sender is told", async () => {
    const { a, services } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const answer = (name: string) => ({ elicitationId: `${taskId}:name`, action: "accept", content: { name } });
    const several = { "io.modelcontextprotocol/elicitation-response": [answer("Ann"), answer("Bob")] };
    expect((await client.request(a, "tasks/get", { taskId, _meta: several })).messages[0]?.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("several answers to one question"),
      data: { code: "INVALID_ANSWER", violations: [{ path: "/name", message: "must have one answer in a request" }] },
    });
    expect((await services.store.load(taskId))?.status).toBe("input_required");
  });

  test("FastMCP's tasks/sendInput needs no id while the task has asked only one question, and a repeat is acknowledged", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const send = async (name: string) =>
      (await client.request(b, "tasks/sendInput", { taskId, action: "accept", content: { name } })).messages[0]?.result;
    expect(await send("Ann")).toMatchObject({ accepted: true, taskId, status: "completed" });
    expect(await send("Ann")).toMatchObject({ accepted: true, status: "completed" });
    expect(await send("Bob")).toMatchObject({ accepted: false, status: "completed" });
  });

  test("FastMCP's tasks/sendInput without an id, sent again after a lost reply, does not answer the next question", async () => {
    const { a, b, services } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "interview", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const fitsBoth = { taskId, action: "accept", content: { name: "Ann", color: "red" } };
    expect((await client.request(b, "tasks/sendInput", fitsBoth)).messages[0]?.result).toMatchObject({ accepted: true });
    await until(async () => (await services.store.load(taskId))?.asks[0]?.key === "color");
    const elicitationId = `${taskId}:color`;
    const repeat = await client.request(b, "tasks/sendInput", fitsBoth);
    expect(repeat.messages[0]).toMatchObject({
      error: { code: -32602, message: expect.stringContaining(elicitationId), data: { code: "NOT_OPEN", open: [elicitationId] } },
    });
    const named = await client.request(b, "tasks/sendInput", { ...fitsBoth, elicitationId });
    expect(named.messages[0]?.result).toMatchObject({ accepted: true, status: "completed" });
  });

  test("FastMCP's tasks/sendInput needs an id while several questions are open, and for the last of them", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "approve", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    const input = { taskId, action: "accept", content: { ok: true } };
    const ambiguous = await client.request(b, "tasks/sendInput", input);
    expect(ambiguous.messages[0]).toMatchObject({ error: { code: -32602, message: expect.stringMatching(/ops.*legal/) } });
    const one = await client.request(b, "tasks/sendInput", { ...input, elicitationId: `${taskId}:ops` });
    expect(one.messages[0]?.result).toMatchObject({ accepted: true, taskId });
    const last = await client.request(b, "tasks/sendInput", input);
    expect(last.messages[0]).toMatchObject({ error: { code: -32602, data: { open: [`${taskId}:legal`] } } });
    const other = await client.request(b, "tasks/sendInput", { taskId, action: "decline", elicitationId: `${taskId}:legal` });
    expect(other.messages[0]?.result).toMatchObject({ accepted: true, status: "completed" });
  });

  test("a working task is cancelled before the cancellation is acknowledged", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const created = await client.request(a, "tools/call", { name: "hold", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    expect((await client.request(b, "tasks/cancel", { taskId })).messages[0]?.result).toMatchObject({ taskId, status: "cancelled" });
    expect((await client.request(a, "tasks/result", { taskId })).messages.at(-1)).toMatchObject({ error: {} });
    held.release();
  });

  test("tools that run only as tasks, or never, refuse other calls", async () => {
    const { a } = await twoFronts();
    const client = await openSession(a);
    expect((await client.request(a, "tools/call", { name: "handle-only", arguments: {} })).messages[0]).toMatchObject({
      error: { code: -32601 },
    });
    const never = await client.request(a, "tools/call", { name: "echo", arguments: { text: "x" }, task: {} });
    expect(never.messages[0]).toMatchObject({ error: { code: -32601 } });
  });

  test("a list says input_required of every task that asks this client, and of those that ask others; nothing asks a client that can be asked nothing", async () => {
    const schema = z.object({ yes: z.boolean() });
    const asks = (name: string, to?: { people: string[] }) =>
      defineTool({ name, run: async (_, ctx) => void (await ctx.elicit("yes", { message: "Yes?", schema, ...(to && { to }) })) });
    const work = Promise.withResolvers<void>();
    const behind = defineTool({
      name: "behind",
      async run(_, ctx) {
        ctx.status("Waiting for people at crm: Waiting for an answer from Eve.");
        await ctx.step("work", () => work.promise);
      },
    });
    const calls = (tool: string) => defineTool({ name: `calls-${tool}`, run: async (_, ctx) => void (await ctx.call(tool, {})) });
    const fails = defineTool({ name: "fails", run: () => Promise.reject(new ToolError("it failed")) });
    const tools = [asks("asks"), asks("asks-bob", { people: ["bob"] }), behind, calls("asks"), calls("behind"), fails];
    const { a, b } = await twoFronts({ catalogue: catalogue(tools) });
    const client = await openSession(a, { capabilities: { elicitation: {} } });
    const read = async (reader: typeof client, method: string, params = {}) =>
      (await reader.request(b, method, params)).messages[0]?.result;
    const ids: string[] = [];
    for (const name of ["asks", "calls-asks", "asks-bob", "calls-behind", "fails"])
      ids.push(String((await client.request(a, "tools/call", { name, arguments: {}, task: {} })).messages[0]?.result?.["taskId"]));
    const got = (reader: typeof client) => Promise.all(ids.map((taskId) => read(reader, "tasks/get", { taskId })));
    const statuses = (tasks: unknown) => (tasks as { status: string }[]).map(({ status }) => status);
    const listed = async (reader: typeof client) => statuses((await read(reader, "tasks/list"))?.["tasks"]).toReversed();

    await until(async () => {
      const [first, second, bobs, behindOthers] = await got(client);
      const waits = [bobs, behindOthers].every((task) => /"Yes\?" from bob|from Eve/.test(String(task?.["statusMessage"])));
      return waits && [first, second].every((task) => task?.["status"] === "input_required");
    });
    expect(statuses(await got(client))).toEqual(["input_required", "input_required", "working", "working", "failed"]);
    expect(await listed(client)).toEqual(["input_required", "input_required", "input_required", "working", "failed"]);
    const mute = await openSession(a, { capabilities: {} });
    expect(statuses(await got(mute))).toEqual(["working", "working", "working", "working", "failed"]);
    expect(await listed(mute)).toEqual(statuses(await got(mute)));
    work.resolve();
  });

  test("tasks of other callers are unknown", async () => {
    const { a } = await twoFronts();
    const [ann, bob] = [await openSession(a, { principal: "ann" }), await openSession(a, { principal: "bob" })];
    const created = await ann.request(a, "tools/call", { name: "greet", arguments: {}, task: {} });
    const taskId = String(created.messages[0]?.result?.["taskId"]);
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel", "tasks/sendInput"]) {
      const { messages } = await bob.request(a, method, { taskId, action: "decline" });
      expect(messages.at(-1), method).toMatchObject({ error: { code: -32602 } });
    }
    expect((await bob.request(a, "tasks/list")).messages[0]?.result).toMatchObject({ tasks: [] });
  });
});

describe("batches", () => {
  const two = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo", arguments: { text: "hi" } } },
  ];

  test("are answered together in 2025-03-26, and refused in later revisions", async () => {
    const { a } = await twoFronts();
    const old = await openSession(a, { version: "2025-03-26" });
    const { status, messages } = await answered(await old.post(a, two));
    expect(status).toBe(200);
    expect(messages.map(({ id }) => id).toSorted()).toEqual([1, 2]);
    expect((await (await openSession(a)).post(a, two)).status).toBe(400);
    expect((await old.post(a, [])).status).toBe(400);
    expect((await old.post(a, [{ jsonrpc: "2.0", method: "notifications/initialized" }])).status).toBe(202);
  });

  test("may ask on the stream that they share", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a, { version: "2025-03-26" });
    const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "greet", arguments: {} } });
    const posted = client.post(
      a,
      [call(1), two[0], call(3)].map((message, index) => ({ ...message, id: index })),
    );
    const response = await posted;
    const reader = response.body?.getReader();
    let text = "";
    const seen = new Set<string>();
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
      text += Buffer.from(chunk.value).toString();
      for (const [, id] of text.matchAll(/"id":"([^"]+)","method":"elicitation\/create"/g)) {
        if (id === undefined || seen.has(id)) continue;
        seen.add(id);
        await client.reply(b, id, { action: "accept", content: { name: `N${seen.size}` } });
      }
    }
    expect(text).toMatch(/Hello, N1!/);
    expect(text).toMatch(/Hello, N2!/);
    expect(text).toMatch(/"id":1,"result":\{\}/);
  });

  test("are answered although one of their replies is refused, which the log says", async () => {
    const { a, logged } = await twoFronts();
    const client = await openSession(a, { version: "2025-03-26" });
    const unasked = { jsonrpc: "2.0", id: "never-asked", result: { action: "decline" } };
    const { status, messages } = await answered(await client.post(a, [unasked, ...two]));
    expect([status, messages.map(({ id, error }) => [id, error])]).toEqual([
      200,
      expect.arrayContaining([
        [1, undefined],
        [2, undefined],
      ]),
    ]);
    expect(logged.map(({ message }) => message)).toContain("message of a batch could not be handled");
  });

  test("that work silently become a stream, with the answers that are there already", async () => {
    const { a } = await twoFronts({ times: { streamAfterMs: 5, keepAliveMs: 5 } });
    const client = await openSession(a, { version: "2025-03-26" });
    const hold = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "hold", arguments: {} } };
    const before = held.release;
    const response = await client.post(a, [...two, hold]);
    (await nextHeld(before))();
    const { contentType, messages } = await answered(response);
    expect(contentType).toBe("text/event-stream");
    expect(messages.map(({ id }) => id).toSorted()).toEqual([1, 2, 3]);
  });
});
