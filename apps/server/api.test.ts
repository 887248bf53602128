/** /api/v1: what people are asked, over HTTP, at two front ends. */
import { ParleyError, type Rates } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy, type Deploy } from "./deployment.fixture.ts";
import { asDescribed } from "./routes/api/described.fixture.ts";

const tools = catalogue([
  defineTool({
    name: "pay",
    title: "Pay a bill",
    async run(_args, ctx) {
      const schema = z.object({ amount: z.int().max(20) });
      const { amount } = await ctx.elicit("amount", { message: "How much?", schema, to: { groups: ["finance"] } });
      await ctx.elicit("again", { message: "Sure?", schema: z.object({}), timeout: "1 day" });
      return `paid ${amount}`;
    },
  }),
]);

const PEOPLE = {
  ada: callerNamed("ada", { tenant: "acme" }),
  eve: callerNamed("eve", { tenant: "acme", groups: ["finance"] }),
  bob: callerNamed("bob", { tenant: "acme", groups: ["finance"] }),
  sam: callerNamed("sam", { tenant: "acme" }),
  zoe: callerNamed("zoe", { tenant: "umbrella", groups: ["finance", ...Array.from({ length: 10_000 }, (_, index) => `g${index}`)] }),
};

type Who = keyof typeof PEOPLE;

async function subject(request: Partial<Deploy> = {}) {
  const { fronts, services } = await deploy({
    catalogue: tools,
    authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"]) as Who] ?? callerNamed("nobody"),
    ...request,
  });
  const origins = fronts.map(({ url }) => new URL(url).origin);
  const send = async (
    who: Who,
    path: string,
    init: Omit<RequestInit, "headers"> & { readonly headers?: Record<string, string> } = {},
    front = 0,
  ) => {
    const headers = { "x-principal": who, ...(init.body !== undefined && { "content-type": "application/json" }), ...init.headers };
    const response = await fetch(`${origins[front]}/api/v1${path}`, { ...init, headers });
    const text = await response.text();
    const body = text === "" ? undefined : JSON.parse(text);
    asDescribed({ method: init.method ?? "GET", path, status: response.status, body });
    return { status: response.status, headers: response.headers, body };
  };
  const answer = (who: Who, path: string, body: unknown, front = 0) =>
    send(who, path, { method: "POST", body: JSON.stringify(body) }, front);
  const { result } = await rpc(fronts[0]!, "tools/call", { name: "pay", arguments: {} }, { principal: "ada" });
  const taskId = String(result!["taskId"]);
  await until(async () => (await services.store.load(taskId))?.asks.length === 1);
  const another = () => rpc(fronts[0]!, "tools/call", { name: "pay", arguments: {} }, { principal: "ada" });
  /** A stream of changes. `next` returns its next event. */
  async function changes(who: Who, headers: Record<string, string> = {}, front = 0) {
    const left = new AbortController();
    const response = await fetch(`${origins[front]}/api/v1/asks/changes`, {
      headers: { "x-principal": who, accept: "text/event-stream", ...headers },
      signal: left.signal,
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    return {
      status: response.status,
      async next() {
        for (;;) {
          const [, id, data] = /^id: (.+)\nevent: message\ndata: (.+)\n\n/m.exec(text) ?? [];
          if (id !== undefined && data !== undefined) {
            text = text.slice(text.indexOf(data) + data.length);
            return { id, data: JSON.parse(data) as unknown };
          }
          const { value, done } = await reader.read();
          if (done) throw new Error("the stream ended");
          text += value;
        }
      },
      leave() {
        left.abort();
        reader.closed.catch(() => undefined);
      },
    };
  }
  return { send, answer, changes, another, services, taskId, path: `/asks/${taskId}/amount` };
}

describe("asks", () => {
  test("are found by those who are asked, read, and answered once; everyone who was asked reads by whom", async () => {
    const { send, answer, taskId, path } = await subject();

    const list = await send("eve", "/asks?owner=others&tool=pay&order=deadline");
    expect(list.body.asks).toMatchObject([
      { taskId, key: "amount", kind: "form", message: "How much?", tool: "pay", toolTitle: "Pay a bill" },
    ]);
    expect((await send("eve", "/asks/count", {}, 1)).body).toEqual({ count: 1, isMore: false });
    expect((await send("bob", path, {}, 1)).body).toMatchObject({
      state: "open",
      toolTitle: "Pay a bill",
      request: { schema: { type: "object" } },
    });

    const { digest } = (await send("eve", path)).body;
    expect(await answer("eve", path, { action: "decline", digest: "of another question" })).toMatchObject({ status: 409 });
    const wrong = await answer("eve", path, { action: "accept", content: { amount: 40 } });
    expect([wrong.status, wrong.headers.get("content-type"), wrong.body.receipt]).toEqual([
      422,
      "application/problem+json; charset=utf-8",
      "invalid",
    ]);
    expect(wrong.body.violations).toHaveLength(1);

    const given = { action: "accept", content: { amount: 4 } };
    expect((await answer("eve", path, { ...given, digest })).body).toEqual({ receipt: "accepted" });
    expect((await answer("eve", path, given, 1)).body).toEqual({ receipt: "duplicate" });

    expect((await send("eve", path, {}, 1)).body).toMatchObject({
      state: "settled",
      toolTitle: "Pay a bill",
      end: "accepted",
      by: { isCaller: true },
      answer: given,
    });
    expect((await send("bob", path)).body).toMatchObject({ state: "settled", by: { principal: "eve", name: "eve", isCaller: false } });
    expect((await send("bob", "/asks")).body.asks).toEqual([]);
  });

  test("are declined with a reason, which the tool and the owner of the task learn", async () => {
    const { send, answer, taskId, path, services } = await subject();
    const declined = { action: "decline", reason: "Too expensive." };
    expect((await answer("eve", path, { action: "decline", reason: "x".repeat(1_001) })).body.violations).toEqual([
      { path: "/reason", message: "must have at most 1000 characters" },
    ]);
    expect((await answer("eve", path, declined)).body).toEqual({ receipt: "accepted" });
    expect((await answer("eve", path, declined, 1)).body).toEqual({ receipt: "duplicate" });
    expect(await answer("eve", path, { ...declined, reason: "No." })).toMatchObject({ status: 409, body: { receipt: "late" } });
    expect((await answer("bob", path, { action: "decline" })).body).toMatchObject({
      receipt: "late",
      ask: { toolTitle: "Pay a bill", end: "declined", by: { principal: "eve" } },
    });
    expect((await answer("sam", path, { action: "decline" })).status).toBe(404);
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    expect((await send("eve", path)).body).toMatchObject({ end: "declined", answer: declined });
    expect((await send("ada", path)).body).toMatchObject({ end: "declined", reason: "Too expensive.", by: { principal: "eve" } });
    expect((await send("bob", path)).body).not.toHaveProperty("reason");
    const text = JSON.stringify((await services.store.load(taskId))?.outcome);
    expect(text).toContain("They said: Too expensive.");
  });

  test("do not exist for anybody else, whether or not they do", async () => {
    const { send, answer, path } = await subject();
    for (const who of ["sam", "zoe"] as const) {
      expect((await send(who, "/asks")).body).toEqual({ asks: [] });
      const [there, none] = [await send(who, path), await send(who, "/asks/0-AAAAAAAAAAAAAAAAAAAAAA/amount")];
      expect([there.status, none.status]).toEqual([404, 404]);
      expect(Object.keys(there.body)).toEqual(Object.keys(none.body));
      expect((await answer(who, path, { action: "decline" })).status).toBe(404);
    }
    // Their own task asks others: they may read that, and not answer.
    expect((await send("ada", path)).body).toMatchObject({ state: "of-others" });
    expect((await answer("ada", path, { action: "decline" })).status).toBe(403);
  });

  test("are refused to pages of other sites with a problem, like everything else", async () => {
    const { send, path } = await subject();
    const refused = await send("eve", path, { headers: { origin: "https://evil.example" } });
    expect([refused.status, refused.headers.get("content-type"), refused.body]).toEqual([
      403,
      expect.stringContaining("application/problem+json"),
      { status: 403, detail: expect.stringContaining("is not trusted") },
    ]);
  });

  test("have an ETag, so that polling an unchanged list costs no transfer", async () => {
    const { send, answer, path } = await subject();
    const first = await send("eve", "/asks");
    const headers = { "if-none-match": String(first.headers.get("etag")) };
    expect((await send("eve", "/asks", { headers })).status).toBe(304);
    await answer("eve", path, { action: "decline" });
    expect((await send("eve", "/asks", { headers })).status).toBe(200);
  });

  test("tell of their changes in a stream, which any front end continues where another ended", async () => {
    const { answer, changes, another, path } = await subject();
    const first = await changes("eve");
    expect(await first.next()).toMatchObject({ data: { count: 1, isMore: false } });
    const others = await changes("zoe");
    const { id: none } = await others.next();

    await answer("bob", path, { action: "decline" }, 1);
    const { id, data } = await first.next();
    expect([data, none]).toEqual([{ count: 0, isMore: false }, id]);
    first.leave();

    // Nothing has changed since: the next event is that of the next change.
    const second = await changes("eve", { "last-event-id": id }, 1);
    await another();
    expect(await second.next()).toMatchObject({ data: { count: 1 } });
    second.leave();
    others.leave();
  });

  test("are claimed, released and commented on, which all who were asked see at any front end, and others do not", async () => {
    const { send, answer, path, changes } = await subject();
    const stream = await changes("bob", {}, 1);
    await stream.next();
    const claim = await answer("eve", `${path}/claim`, { minutes: 20 });
    expect([claim.status, claim.body]).toMatchObject([200, { receipt: "claimed", claimedBy: { principal: "eve", isCaller: true } }]);
    const { id } = await stream.next();
    expect((await send("bob", "/asks", {}, 1)).body.asks).toMatchObject([{ claimedBy: { principal: "eve", isCaller: false } }]);
    const taken = await answer("bob", `${path}/claim`, {}, 1);
    expect([taken.status, taken.body]).toMatchObject([409, { receipt: "taken", claimedBy: { principal: "eve" } }]);
    expect((await answer("ada", `${path}/claim`, {})).body).toMatchObject({ status: 403, receipt: "forbidden" });

    expect((await answer("ada", `${path}/comments`, { text: "That of March" })).body).toEqual({ receipt: "commented" });
    expect((await stream.next()).id).not.toBe(id);
    expect((await answer("eve", `${path}/release`, {})).body).toEqual({ receipt: "released" });
    for (const verb of ["claim", "release", "comments"]) {
      const body = verb === "comments" ? { text: "?" } : {};
      const gone = await answer("sam", `${path}/${verb}`, body);
      const never = await answer("sam", `${path.replace("amount", "never")}/${verb}`, body);
      expect([gone.status, gone.body.code, gone.body.detail.length]).toEqual([404, "TASK_NOT_FOUND", never.body.detail.length]);
    }
    await answer("bob", path, { action: "accept", content: { amount: 4 } });

    const read = (await send("eve", path)).body;
    expect(read.history.map(({ what, by }: { what: string; by?: { principal: string } }) => [what, by?.principal])).toEqual([
      ["asked", undefined],
      ["claimed", "eve"],
      ["commented", "ada"],
      ["released", "eve"],
      ["accepted", "bob"],
    ]);
    expect(read.comments).toMatchObject([{ text: "That of March", by: { principal: "ada", isCaller: false } }]);
    const late = await answer("eve", `${path}/comments`, { text: "Thanks" });
    expect([late.status, late.body.receipt]).toEqual([409, "late"]);
    stream.leave();
  });

  test("say what comes while nobody answers, and to whom they were escalated, who then find and answer them", async () => {
    const release = catalogue([
      defineTool({
        name: "pay",
        async run(_args, ctx) {
          const asked = { message: "Pay?", schema: z.object({}), to: { groups: ["finance"] }, timeout: "3 days" } as const;
          await ctx.elicit("amount", { ...asked, remind: "1 day", escalate: { after: "2 days", to: { people: ["sam"] } } });
          return "paid";
        },
      }),
    ]);
    const { send, answer, path, taskId, services } = await subject({ catalogue: release });
    const { askedAt, upcoming, digest } = (await send("eve", path)).body;
    const after = (days: number) => new Date(Date.parse(askedAt) + days * 86_400_000).toISOString();
    const to = { people: ["sam"] };
    expect(upcoming).toEqual([
      { what: "reminded", at: after(1) },
      { what: "escalated", at: after(2), to },
    ]);
    expect((await send("sam", "/asks")).body.asks).toEqual([]);

    const atMs = Date.parse(after(2));
    const thread = { comments: 0, reminded: { count: 1, atMs }, escalatedTo: [to] };
    const history = [{ what: "asked", atMs } as const, { what: "escalated", atMs, to } as const];
    await services.store.writeThread({
      taskId,
      key: "amount",
      digest,
      thread,
      history,
      handedTo: ["person sam"],
      tenant: "acme",
      nowMs: atMs,
    });
    const told = { remindedAt: after(2), escalatedTo: [to] };
    expect((await send("sam", "/asks", {}, 1)).body.asks).toMatchObject([{ key: "amount", ...told }]);
    const { body } = await send("eve", path);
    expect(body).toMatchObject({ state: "open", ...told, history: [{ what: "asked" }, { what: "escalated", to }] });
    expect(body).not.toHaveProperty("upcoming");
    expect((await answer("sam", path, { action: "accept", content: {} })).body).toEqual({ receipt: "accepted" });
  });

  test("are handed on where their tool allows it, to people who find and answer them at any front end", async () => {
    const release = catalogue([
      defineTool({
        name: "pay",
        async run(_args, ctx) {
          await ctx.elicit("amount", { message: "Pay?", schema: z.object({}), to: { groups: ["finance"] }, allow: ["delegate"] });
          const { principal, delegatedBy } = ctx.answeredBy("amount")!;
          await ctx.elicit("why", { message: `${principal} for ${delegatedBy?.principal}`, schema: z.object({}), to: "tenant" });
          return "paid";
        },
      }),
    ]);
    const { send, answer, path } = await subject({ catalogue: release });
    const given = { to: { people: ["sam"] }, reason: "On leave" };
    expect((await send("eve", path)).body.allow).toEqual(["delegate"]);
    expect((await answer("ada", `${path}/delegate`, given)).body).toMatchObject({ status: 403, receipt: "forbidden" });
    expect((await answer("sam", `${path}/delegate`, given)).status).toBe(404);
    expect((await answer("eve", `${path}/delegate`, given)).body).toEqual({ receipt: "delegated" });

    expect((await send("sam", "/asks", {}, 1)).body.asks).toMatchObject([
      { key: "amount", delegatedBy: { principal: "eve", name: "eve" } },
    ]);
    expect((await answer("eve", path, { action: "accept", content: {} })).body).toMatchObject({ status: 403, receipt: "forbidden" });
    expect((await answer("sam", path, { action: "accept", content: {} }, 1)).body).toEqual({ receipt: "accepted" });
    const { body } = await send("eve", path);
    expect(body).toMatchObject({ end: "accepted", by: { principal: "sam" }, delegatedBy: { principal: "eve", isCaller: true } });
    expect(body.history[1]).toMatchObject({ what: "delegated", to: given.to, reason: "On leave" });
    await until(async () => (await send("bob", "/asks?owner=others")).body.asks[0]?.message === "sam for eve");
  });

  test("ask the person who made the call something first, who finds it and replies, at any front end", async () => {
    const wanted = catalogue([
      defineTool({
        name: "pay",
        async run(_args, ctx) {
          const allow = ["askBack", "pause"] as const;
          await ctx.elicit("amount", { message: "Pay?", schema: z.object({}), to: { groups: ["finance"] }, timeout: "2 hours", allow });
          return "paid";
        },
      }),
    ]);
    const { send, answer, path } = await subject({ catalogue: wanted });
    const deadline = async (who: Who) => Date.parse((await send(who, path)).body.deadline);
    const before = await deadline("eve");
    expect((await answer("ada", `${path}/reply`, { text: "?" })).body).toMatchObject({ status: 409, receipt: "not_asked" });
    expect((await answer("eve", `${path}/ask-back`, { text: "Which budget?" })).body).toEqual({ receipt: "asked_back" });
    expect((await answer("ada", `${path}/ask-back`, { text: "?" })).body).toMatchObject({ status: 403, receipt: "forbidden" });
    expect((await answer("sam", `${path}/ask-back`, { text: "?" })).status).toBe(404);
    expect((await answer("bob", `${path}/reply`, { text: "?" })).body).toMatchObject({ status: 403, receipt: "forbidden" });

    const asksBack = { by: { principal: "eve", isCaller: false }, text: "Which budget?", isPaused: true };
    expect((await send("ada", "/asks", {}, 1)).body.asks).toEqual([]);
    expect((await send("ada", "/asks?toReply=only", {}, 1)).body.asks).toMatchObject([
      { key: "amount", isToReply: true, askedBack: asksBack },
    ]);
    expect((await send("bob", "/asks", {}, 1)).body.asks).toMatchObject([{ key: "amount", askedBack: asksBack }]);
    expect((await deadline("ada")) - before).toBe(2 * 3_600_000);

    expect((await answer("ada", `${path}/reply`, { text: "Marketing." }, 1)).body).toEqual({ receipt: "replied" });
    const { body } = await send("eve", path);
    expect(body.comments).toMatchObject([{ as: "askedBack" }, { text: "Marketing.", as: "replied", by: { principal: "ada" } }]);
    expect(body.history.map(({ what }: { what: string }) => what)).toEqual(["asked", "askedBack", "replied"]);
    expect((await deadline("eve")) - before).toBeLessThan(60_000);
    expect((await answer("eve", path, { action: "accept", content: {} })).body).toEqual({ receipt: "accepted" });
  });

  test("are put aside by one person, at any front end, and brought back; nobody else's list is another", async () => {
    const { send, answer, changes, path } = await subject();
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const keys = async (who: Who, query = "") => (await send(who, `/asks${query}`, {}, 1)).body.asks.map(({ key }: { key: string }) => key);
    const stream = await changes("eve", {}, 1);
    expect((await stream.next()).data).toEqual({ count: 1, isMore: false });
    expect((await answer("eve", `${path}/snooze`, { until })).body).toEqual({ receipt: "snoozed", until });
    // Another window of the same person, at the other front end.
    expect((await stream.next()).data).toEqual({ count: 0, isMore: false });
    stream.leave();

    expect([await keys("eve"), await keys("eve", "?snoozed=only"), await keys("eve", "?snoozed=any")]).toEqual([
      [],
      ["amount"],
      ["amount"],
    ]);
    expect((await send("eve", "/asks/count")).body).toEqual({ count: 0, isMore: false });
    expect((await send("eve", "/tasks?owner=others")).body.tasks, "tasks that ask are listed as before").toHaveLength(1);
    expect((await send("eve", path)).body).toMatchObject({ state: "open", snoozedUntil: until, history: [{}, { what: "snoozed", until }] });
    expect([await keys("bob"), await keys("bob", "?snoozed=only")]).toEqual([["amount"], []]);
    expect((await send("bob", path)).body).not.toHaveProperty("snoozedUntil");

    expect((await answer("eve", `${path}/unsnooze`, {}, 1)).body).toEqual({ receipt: "unsnoozed" });
    expect(await keys("eve")).toEqual(["amount"]);
    const far = new Date(Date.now() + 300 * 86_400_000).toISOString();
    expect((await answer("eve", `${path}/snooze`, { until: far })).body).toMatchObject({ status: 422, receipt: "closes_before" });
    expect((await answer("eve", `${path}/snooze`, { until: "2020-01-01T00:00:00Z" })).body).toMatchObject({
      status: 422,
      receipt: "not_then",
    });
    expect((await answer("ada", `${path}/snooze`, { until })).body).toMatchObject({ status: 403, receipt: "forbidden" });
    for (const who of ["sam", "zoe"] as const)
      for (const [verb, body] of [
        ["snooze", { until }],
        ["unsnooze", {}],
      ] as const)
        expect((await answer(who, `${path}/${verb}`, body)).status).toBe(404);
    await answer("bob", path, { action: "decline" });
    expect((await answer("eve", `${path}/snooze`, { until })).body).toMatchObject({ status: 409, receipt: "late" });
  });

  test.each([
    ["ask-back", { text: " " }],
    ["ask-back", { message: "?" }],
    ["reply", { text: "x".repeat(1_001) }],
    ["snooze", {}],
    ["snooze", { until: "tomorrow" }],
    ["snooze", { until: 5 }],
    ["snooze", { for: "1 hour" }],
    ["snooze", []],
    ["unsnooze", { until: "2030-01-01T00:00:00Z" }],
    ["delegate", { to: { people: ["sam"] } }],
    ["delegate", { to: { people: ["sam"] }, reason: " " }],
    ["delegate", { to: { people: ["sam"] }, reason: "x".repeat(1_001) }],
    ["delegate", { to: {}, reason: "?" }],
    ["delegate", { to: "tenant", reason: "?" }],
    ["delegate", { to: { people: "sam" }, reason: "?" }],
    ["delegate", { to: { people: Array.from({ length: 11 }, (_, at) => `p${at}`) }, reason: "?" }],
    ["delegate", { to: { everyone: ["sam"] }, reason: "?" }],
    ["claim", { minutes: 0 }],
    ["claim", { minutes: 61 }],
    ["claim", { minutes: 1.5 }],
    ["claim", { until: "noon" }],
    ["claim", []],
    ["release", { force: true }],
    ["comments", {}],
    ["comments", { text: "" }],
    ["comments", { text: " \n " }],
    ["comments", { text: "x".repeat(1_001) }],
    ["comments", { text: 5 }],
  ])("refuse %s with %j", async (verb, body) => {
    const { answer, path, services, taskId } = await subject({ fronts: 1 });
    expect((await answer("eve", `${path}/${verb}`, body)).status).toBe(400);
    expect(await services.store.thread(taskId, "amount")).toEqual([]);
  });

  test("with a key that has slashes are claimed at its encoded address, and answered at either", async () => {
    const key = `${"ü".repeat(58)}/claim`;
    const nested = catalogue([
      defineTool({
        name: "pay",
        async run(_args, ctx) {
          await ctx.elicit("amount", { message: "How much?", schema: z.object({}), key, to: { groups: ["finance"] } });
          return "paid";
        },
      }),
    ]);
    const { send, answer, taskId } = await subject({ fronts: 1, catalogue: nested });
    const [{ key: asked }] = (await send("eve", "/asks")).body.asks;
    const path = `/asks/${taskId}/${encodeURIComponent(asked)}`;
    expect((await answer("eve", `${path}/claim`, {})).status).toBe(200);
    expect((await send("bob", `/asks/${taskId}/${asked}`)).body.claimedBy).toMatchObject({ principal: "eve" });
    expect((await answer("bob", path, { action: "decline" })).body).toEqual({ receipt: "accepted" });
  });

  test("have as many streams as a caller may have", async () => {
    const { send, changes } = await subject({ fronts: 1, limits: { streamsMax: 1 } });
    const one = await changes("eve");
    await one.next();
    const refused = await send("eve", "/asks/changes");
    expect([refused.status, refused.body.code]).toEqual([429, "QUOTA_EXCEEDED"]);
    one.leave();
    const again = await until(async () => {
      const stream = await changes("eve");
      return stream.status === 200 ? stream : undefined;
    });
    again.leave();
  });

  test.each([
    "?order=random",
    "?owner=eve",
    "?limit=0",
    "?limit=101",
    "?limit=1.5",
    "?limit=x",
    "?askedBefore=soon",
    "?tool=a&tool=b",
    `?tool=${"x".repeat(5_000)}`,
    "?colour=blue",
    "?cursor=oldest.1.0-a",
    "?cursor=newest.1.0-a.k",
    `?cursor=${"x".repeat(5_000)}`,
  ])("refuse the query %#, as a problem", async (query) => {
    const { send } = await subject({ fronts: 1 });
    const { status, headers } = await send("eve", `/asks${query}`);
    expect([status, headers.get("content-type")]).toEqual([400, "application/problem+json; charset=utf-8"]);
  });

  test.each([
    [{}],
    [{ action: "timeout" }],
    [{ action: "withdrawn" }],
    [{ action: "decline", reason: 5 }],
    [{ action: "accept", reason: "why" }],
    ['{"action":"accept","content":{"amount":9007199254740993}}'],
    [{ action: "decline", because: "why" }],
    [[]],
    [null],
    ["accept"],
  ])("refuse the answer %j", async (body) => {
    const { send, path } = await subject({ fronts: 1 });
    const text = typeof body === "string" && body.startsWith("{") ? body : JSON.stringify(body);
    expect((await send("eve", path, { method: "POST", body: text })).status).toBe(400);
  });

  test("count towards the caller's rates", async () => {
    const taken: unknown[] = [];
    const rates: Rates = {
      take: async (_caller, costs) => {
        taken.push(costs);
        throw new ParleyError("QUOTA_EXCEEDED", "too many", { data: { retryAfterMs: 1_500 } });
      },
    } as Rates;
    const origin = await subject({ fronts: 1 }).then(({ path }) => path);
    const { fronts } = await deploy({ catalogue: tools, fronts: 1, rates, authenticate: () => PEOPLE.eve });
    const at = new URL(fronts[0]!.url).origin;
    const read = await fetch(`${at}/api/v1/asks`);
    expect([read.status, read.headers.get("retry-after"), ((await read.json()) as { code: string }).code]).toEqual([
      429,
      "2",
      "QUOTA_EXCEEDED",
    ]);
    const headers = { "content-type": "application/json" };
    await fetch(`${at}/api/v1${origin}`, { method: "POST", body: "{}", headers });
    expect(taken).toEqual([{ reads: 1 }, { answers: 1 }]);
  });
});

test("a list is narrowed by when a question was asked, and when it closes", async () => {
  const { send, another } = await subject();
  await another();
  const { asks } = (await send("eve", "/asks")).body as { asks: { askedAt: string; deadline: string }[] };
  const at = (time: string, ms: number) => encodeURIComponent(new Date(Date.parse(time) + ms).toISOString());
  const [{ askedAt, deadline }] = asks as [(typeof asks)[number]];
  const HOUR = 3_600_000;
  for (const [query, isThere] of [
    [`askedBefore=${at(askedAt, HOUR)}`, true],
    [`askedBefore=${at(askedAt, -HOUR)}`, false],
    [`askedAfter=${at(askedAt, -HOUR)}`, true],
    [`askedAfter=${at(askedAt, HOUR)}`, false],
    [`deadlineBefore=${at(deadline, HOUR)}`, true],
    [`deadlineBefore=${at(deadline, -HOUR)}`, false],
  ] as const) {
    expect([query, (await send("eve", `/asks?${query}`)).body.asks.length > 0]).toEqual([query, isThere]);
    expect([query, (await send("eve", `/asks/count?${query}`)).body.count > 0]).toEqual([query, isThere]);
  }
});
