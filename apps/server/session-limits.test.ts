/** What a session may have open, and what it keeps. */
import { catalogue, defineTool, jsonSchema } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { answered, openSession } from "./session-client.fixture.ts";

const person = z.object({ name: z.string().min(1) });
const tools = catalogue([
  defineTool({
    name: "greet",
    input: z.object({ times: z.number().int().optional() }),
    earlyReplies: true,
    run: async (_args, ctx) => `Hello, ${(await ctx.elicit("who", { message: "Who are you?", schema: person })).name}!`,
  }),
  defineTool({
    name: "survey",
    async run(_args, ctx) {
      ctx.progress(1);
      const keys = Array.from({ length: 100 }, (_, index) => `question-${index}`);
      const answers = await Promise.all(keys.map((key) => ctx.ask(key, { message: key, schema: person })));
      ctx.progress(2);
      return `${answers.length} answers`;
    },
  }),
  defineTool({ name: "echo", input: jsonSchema({ type: "object" }), run: () => "done" }),
]);

async function twoFronts(options: Omit<Parameters<typeof deploy>[0], "catalogue"> = {}) {
  const deployment = await deploy({ catalogue: tools, ...options });
  const [a, b] = deployment.fronts;
  if (!a || !b) throw new Error("two front ends are needed");
  const count = (message: string) => deployment.logged.filter((line) => line.message === message).length;
  return { ...deployment, a, b, created: () => count("task created"), cancelled: () => count("cancellation received") };
}

const accept = { action: "accept", content: { name: "Ann" } };
const greet = { name: "greet", arguments: {} };
const tooMany = (setting: string) => ({
  error: { code: -32602, message: expect.stringContaining(setting), data: { code: "TOO_MANY_CALLS", hint: expect.any(String) } },
});

describe("what a session keeps", () => {
  test("includes nothing of refused calls", async () => {
    const { a, sessions, created } = await twoFronts();
    const client = await openSession(a);
    const refused = { name: "greet", arguments: { times: "many" } };

    await client.request(a, "tools/call", refused);
    await client.request(a, "tools/call", { ...refused, task: {} });
    await client.request(a, "tools/call", { ...refused, name: "nothing" });

    expect(created()).toBe(0);
    expect(await sessions.calls(client.sessionId)).toEqual(new Map());
    expect(await sessions.interests(client.sessionId)).toEqual({ taskIds: [], resources: [] });
  });

  test("includes nothing of calls that have ended", async () => {
    const { a, b, sessions } = await twoFronts();
    const client = await openSession(a);
    const id = "i".repeat(1_024);
    await client.request(a, "tools/call", { name: "echo", arguments: {} });
    const call = await client.stream(a, "tools/call", greet, id);
    const ask = await call.next();
    const [[name = "", taskId] = []] = await sessions.calls(client.sessionId);
    expect(name.length).toBeLessThan(64);
    expect(String(ask.id)).toContain(taskId);

    await client.reply(b, ask.id, accept);
    await call.ended();

    await until(async () => (await sessions.calls(client.sessionId)).size === 0);
  });

  test("includes nothing of a call that was resumed and answered elsewhere", async () => {
    const { a, b, sessions } = await twoFronts();
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    call.close();
    const resumed = await client.listen(b, ask.eventId);
    expect((await sessions.calls(client.sessionId)).size).toBe(1);

    await client.reply(a, ask.id, accept);
    await resumed.next();

    await until(async () => (await sessions.calls(client.sessionId)).size === 0);
  });

  test("includes calls with long ids, so that they can be cancelled", async () => {
    const { a, b, services } = await twoFronts();
    const client = await openSession(a);
    const ids = ["i".repeat(1_023) + "a", "i".repeat(1_023) + "b"];
    const [first, second] = await Promise.all(ids.map(async (id) => await (await client.stream(a, "tools/call", greet, id)).next()));
    const taskOf = (ask: typeof first) => String(ask?.id).split(":")[0] ?? "";

    await client.post(b, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: ids[1] } });

    expect((await services.store.load(taskOf(second)))?.status).toBe("cancelled");
    expect((await services.store.load(taskOf(first)))?.status).toBe("input_required");
  });
});

describe("a session at its limit of followed tasks", () => {
  test("follows one more once others have ended, even if no stream reported their end", async () => {
    const { a, b, services } = await twoFronts({ limits: { sessionTasksMax: 2 } });
    const client = await openSession(a);
    for (let i = 0; i < 2; i += 1) {
      const { messages } = await client.request(a, "tools/call", { name: "echo", arguments: {}, task: {} });
      const taskId = String(messages[0]?.result?.["taskId"]);
      await until(async () => (await services.store.load(taskId))?.status === "completed");
    }

    const { messages } = await client.request(a, "tools/call", { ...greet, task: {} });
    const own = await client.listen(b);

    expect((await own.next()).params).toMatchObject({ taskId: messages[0]?.result?.["taskId"], status: "input_required" });
    expect(await own.next()).toMatchObject({ method: "elicitation/create" });
  });

  test("does not follow one more while they are unfinished", async () => {
    const { a, sessions, logged } = await twoFronts({ limits: { sessionTasksMax: 2 } });
    const client = await openSession(a);
    for (let i = 0; i < 3; i += 1) await client.request(a, "tools/call", { ...greet, task: {} });
    expect((await sessions.interests(client.sessionId)).taskIds).toHaveLength(2);
    expect(logged.map(({ message }) => message)).toContain("session follows too many tasks");
  });
});

describe("calls that wait", () => {
  test("are limited per session over all front ends, and another session has its own limit", async () => {
    const { a, b, created, cancelled } = await twoFronts({ limits: { sessionWaitsMax: 2 } });
    const [client, other] = [await openSession(a), await openSession(a)];
    const [first] = [await client.stream(a, "tools/call", greet), await client.stream(a, "tools/call", greet)];

    expect((await client.request(a, "tools/call", greet)).messages).toMatchObject([tooMany("PARLEY_SESSION_WAITS_MAX")]);
    expect(created()).toBe(2);
    expect((await client.request(b, "tools/call", greet)).messages).toMatchObject([tooMany("PARLEY_SESSION_WAITS_MAX")]);
    expect([created(), cancelled()]).toEqual([2, 1]);

    expect(await (await other.stream(a, "tools/call", greet)).next()).toMatchObject({ method: "elicitation/create" });
    await client.reply(a, (await first.next()).id, accept);
    await first.ended();
    expect((await client.request(b, "tools/call", { name: "echo", arguments: {} })).messages).toMatchObject([{ result: {} }]);
  });

  test("that were abandoned count until they have ended", async () => {
    const { a, b, skip } = await twoFronts({ limits: { sessionWaitsMax: 1 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    call.close();
    await until(() => a.waiting === 0);
    const echo = async () => (await client.request(b, "tools/call", { name: "echo", arguments: {} })).messages[0];
    expect(await echo()).toMatchObject(tooMany("PARLEY_SESSION_WAITS_MAX"));

    await client.reply(b, ask.id, accept);

    await until(async () => {
      skip(1_000);
      return (await echo())?.result;
    });
  });

  test("for the result of a task count too", async () => {
    const { a } = await twoFronts({ limits: { sessionWaitsMax: 1 } });
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { ...greet, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    const result = await client.stream(a, "tasks/result", { taskId });
    await result.next();
    expect((await client.request(a, "tasks/result", { taskId })).messages).toMatchObject([tooMany("PARLEY_SESSION_WAITS_MAX")]);
  });

  test("share the places of their session with results of tasks", async () => {
    const { a } = await twoFronts({ limits: { sessionWaitsMax: 2 } });
    const client = await openSession(a);
    const taskId = String((await client.request(a, "tools/call", { ...greet, task: {} })).messages[0]?.result?.["taskId"]);
    const calls = [await client.stream(a, "tools/call", greet), await client.stream(a, "tools/call", greet)];

    expect((await client.request(a, "tasks/result", { taskId })).messages).toMatchObject([tooMany("PARLEY_SESSION_WAITS_MAX")]);
    calls[0]?.close();

    await until(async () => {
      const result = await client.stream(a, "tasks/result", { taskId });
      return "method" in (await result.next());
    });
  });

  test("are limited per batch, and the other messages of the batch are served", async () => {
    const { a, created } = await twoFronts({ limits: { batchWaitsMax: 2 } });
    const client = await openSession(a, { version: "2025-03-26" });
    const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "echo", arguments: {} } });
    const { messages } = await answered(await client.post(a, [call(1), call(2), call(3), { jsonrpc: "2.0", id: 4, method: "ping" }]));
    expect(messages.toSorted((x, y) => Number(x.id) - Number(y.id))).toMatchObject([
      { result: {} },
      { result: {} },
      tooMany("PARLEY_BATCH_WAITS_MAX"),
      { result: {} },
    ]);
    expect(created()).toBe(2);
  });

  test("cannot be resumed while there are too many, and can afterwards", async () => {
    const { a } = await twoFronts({ limits: { sessionWaitsMax: 2 } });
    const client = await openSession(a);
    const [call, other] = [await client.stream(a, "tools/call", greet, 1), await client.stream(a, "tools/call", greet, 2)];
    const [ask, otherAsk] = [await call.next(), await other.next()];

    const refused = await client.listen(a, ask.eventId);
    expect(refused.status).toBe(429);
    await client.reply(a, otherAsk.id, accept);
    await other.ended();
    const resumed = await client.listen(a, ask.eventId);

    expect(resumed.status).toBe(200);
    await client.reply(a, ask.id, accept);
    expect(await resumed.next()).toMatchObject({ id: 1, result: {} });
  });
});

describe("event ids", () => {
  const EVENT_ID_MAX = 200;
  const longest = (text: string) => Math.max(...[...text.matchAll(/^id: (.*)$/gm)].map(([, id = ""]) => id.length));

  test("are short however many tasks of a session wait, and no question is asked twice or lost on another front end", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const taskIds: unknown[] = [];
    const create = async (count: number) => {
      for (let i = 0; i < count; i += 1)
        taskIds.push((await client.request(a, "tools/call", { ...greet, task: {} })).messages[0]?.result?.["taskId"]);
    };
    const own = await client.listen(a);
    await create(70);
    const asked = new Map<unknown, unknown>();
    const ask = async (stream: typeof own, count: number) => {
      while (asked.size < count) {
        const { id, method, params, eventId } = await stream.next();
        if (method !== "elicitation/create") continue;
        expect(asked.has(id)).toBe(false);
        asked.set(id, params?.["_meta"]?.["io.modelcontextprotocol/related-task"]?.["taskId"]);
        lastEventId = eventId;
      }
    };
    let lastEventId: string | undefined;
    await ask(own, 50);
    const [unread] = [await own.next(), await own.next(), await own.next(), await own.next()].filter(
      ({ method }) => method === "elicitation/create",
    );
    own.close();

    const resumed = await client.listen(b, lastEventId);
    await create(5);
    await ask(resumed, 75);

    expect(new Set(asked.values())).toEqual(new Set(taskIds));
    expect(unread?.id).toBeDefined();
    expect(asked.has(unread?.id)).toBe(true);
    expect(longest(own.text + resumed.text)).toBeLessThan(EVENT_ID_MAX);
    await client.reply(a, unread?.id, accept);
    await client.reply(b, [...asked.keys()][0], accept);
    const ended = [await resumed.next(), await resumed.next()].map(({ params }) => params);
    expect(ended).toEqual(expect.arrayContaining([expect.objectContaining({ status: "completed" })]));
  });

  test("are short for a call with the longest id and progress token and a hundred questions, and it can be resumed", async () => {
    const { a, b } = await twoFronts();
    const client = await openSession(a);
    const [id, progressToken] = ["ü".repeat(1_024), "☃".repeat(128)];
    const call = await client.stream(a, "tools/call", { name: "survey", arguments: {}, _meta: { progressToken } }, id);
    expect(await call.next()).toMatchObject({ method: "notifications/progress", params: { progressToken } });
    const asks = [];
    while (asks.length < 40) asks.push(await call.next());
    call.close();

    const resumed = await client.listen(b, asks.at(-1)?.eventId);
    for (let i = 0; i < 60; i += 1) asks.push(await resumed.next());
    expect(new Set(asks.map((each) => each.id)).size).toBe(100);
    // A question whose answer was refused is asked again, even after other questions were asked.
    await client.reply(a, asks[0]?.id, { action: "accept", content: { name: "" } });
    const again = await resumed.next();
    expect(again).toMatchObject({ method: "elicitation/create", params: { message: expect.stringContaining("could not be taken") } });
    resumed.close();
    await until(() => b.waiting === 0);
    const last = await client.listen(a, again.eventId);
    await Promise.all([...asks.slice(1), again].map((each) => client.reply(b, each.id, accept)));

    expect(await last.next()).toMatchObject({ method: "notifications/progress", params: { progressToken } });
    let ended = await last.next();
    // On a busy machine the call waits for longer than a heartbeat.
    while (ended.method === "notifications/progress") ended = await last.next();
    expect(ended).toMatchObject({ id, result: { content: [{ text: "100 answers" }] } });
    expect(longest(call.text + resumed.text + last.text)).toBeLessThan(EVENT_ID_MAX);
  });

  test("of a task's result are short and can be resumed; a request with too long an id has none, and is sent again", async () => {
    const { a, b } = await twoFronts({ times: { resumableAfterMs: 0 } });
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { ...greet, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    const nameless = await client.stream(a, "tasks/result", { taskId }, "i".repeat(100));
    const unresumable = await nameless.next();
    expect([unresumable.method, unresumable.eventId]).toEqual(["elicitation/create", undefined]);
    nameless.close();
    await until(() => a.waiting === 0);

    const named = await client.stream(a, "tasks/result", { taskId }, "00000000-0000-4000-8000-000000000000");
    const ask = await named.next();
    named.close();
    const resumed = await client.listen(b, ask.eventId);
    await client.reply(b, ask.id, accept);

    expect(await resumed.next()).toMatchObject({
      id: "00000000-0000-4000-8000-000000000000",
      result: { content: [{ text: "Hello, Ann!" }] },
    });
    expect(longest(named.text + resumed.text)).toBeLessThan(EVENT_ID_MAX);
  });

  test("of a call that has ended and expired are refused", async () => {
    const { a, skip } = await twoFronts({ times: { resumableAfterMs: 0, sessionTtlMs: 1e12 } });
    const client = await openSession(a);
    const call = await client.stream(a, "tools/call", greet, 1);
    const ask = await call.next();
    await client.reply(a, ask.id, accept);
    await call.ended();
    expect(await (await client.listen(a, ask.eventId)).next()).toMatchObject({ id: 1, result: {} });
    skip(1e11);
    expect((await client.listen(a, ask.eventId)).status).toBe(400);
  });
});

describe("the stored part of a request", () => {
  test("includes a limited amount of early replies", async () => {
    const { a, created } = await twoFronts({ settings: { storedValueMax: 1_000 } });
    const reply = (length: number) => ({ who: { action: "accept", content: { name: "x".repeat(length) } } });
    const most = 1_000 - JSON.stringify(reply(0)).length;
    const call = (length: number) => rpc(a, "tools/call", { ...greet, inputResponses: reply(length) }, { tasks: false });

    expect((await call(most)).result).toMatchObject({ content: [{ text: `Hello, ${"x".repeat(most)}!` }] });
    expect(await call(most + 1)).toMatchObject({ error: { code: -32602, data: { code: "TOO_LARGE" } } });
    expect((await call(most + 1)).error?.message).toMatch(/^the answers that came with the call .*PARLEY_STORED_VALUE_MAX/);
    expect(created()).toBe(1);
    const dropped = await rpc(a, "tools/call", { name: "echo", arguments: {}, inputResponses: reply(2_000) }, { tasks: false });
    expect(dropped.result).toMatchObject({ content: [{ text: "done" }] });
  });
});

describe("a client that accepts no content type of MCP", () => {
  test("is refused at once", async () => {
    const { a, created } = await twoFronts();
    const client = await openSession(a);
    const { messages } = await client.request(a, "tools/call", { ...greet, task: {} });
    const taskId = messages[0]?.result?.["taskId"];
    const ask = { jsonrpc: "2.0", id: 1, method: "tasks/result", params: { taskId } };
    for (const accepted of ["a/b", "text/html", "application/xml, image/*"]) {
      const { status, messages: refused } = await answered(await client.post(a, ask, { accept: accepted }));
      expect([accepted, status, refused]).toMatchObject([accepted, 406, [{ error: { code: -32600 } }]]);
    }
    expect(created()).toBe(1);
    for (const accepted of ["application/json", "*/*", "application/*", "text/event-stream", "text/*", "Application/JSON", undefined]) {
      const { status } = await client.post(a, { jsonrpc: "2.0", id: 1, method: "ping" }, { accept: accepted });
      expect([accepted, status]).toEqual([accepted, 200]);
    }
  });
});
