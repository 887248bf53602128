/** Quotas of identified callers, through every door of both families. packages/redis and test/contract test how they are counted. */
import { type AuditFact, type Caller, ParleyError, type Rated, type RatedCounts, type Rates } from "@parley/core";
import { describe, expect, test } from "vitest";
import { post, rpc, stream } from "./client.fixture.ts";
import { callerNamed, deploy, type Deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

/** Counts what is taken, and admits a given number. */
function counting(left: Partial<Record<Rated, number>> = {}) {
  const taken: [principal: string, counts: RatedCounts][] = [];
  const rates: Rates = {
    async take({ principal }: Caller, counts) {
      taken.push([principal, counts]);
      const rest = Object.entries(counts).map(([what, count]) => [what, (left[what as Rated] ?? Infinity) - count] as const);
      const over = rest.find(([, more]) => more < 0);
      if (over) throw new ParleyError("QUOTA_EXCEEDED", `the caller may have few ${over[0]}`, { data: { retryAfterMs: 1_200 } });
      Object.assign(left, Object.fromEntries(rest));
    },
  };
  return { taken, rates };
}

async function front(request: Partial<Deploy> = {}) {
  const deployment = await deploy({ catalogue: offered, fronts: 1, ...request });
  return { ...deployment, here: deployment.fronts[0]! };
}

const as = { principal: "ann" };
const TASK = "0-00000000-0000-0000-0000-000000000000";

describe("a caller that has used up its rate", () => {
  test("receives 429 with the time to wait, in both families, and nothing is done", async () => {
    const { rates } = counting({ calls: 0, answers: 0, reads: 0 });
    const { here, logged } = await front({ rates });
    for (const [method, params] of [
      ["tools/call", { name: "echo", arguments: { text: "hi" } }],
      ["tasks/get", { taskId: TASK }],
      ["tasks/update", { taskId: TASK, inputResponses: {} }],
    ] as const) {
      const response = await post(here, method, params, as);
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"]);
      expect(await response.json()).toMatchObject({
        id: expect.any(Number),
        error: { code: -32600, data: { code: "QUOTA_EXCEEDED", retryAfterMs: 1_200, hint: expect.any(String) } },
      });
    }
    const client = await openSession(here, as);
    const refused = await client.request(here, "tools/call", { name: "echo", arguments: { text: "hi" } });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(refused.messages.at(-1)).toMatchObject({ id: expect.any(Number), error: { code: -32600, data: { code: "QUOTA_EXCEEDED" } } });
    expect((await client.reply(here, "x", { action: "decline" })).status).toBe(429);
    expect((await client.listen(here)).status).toBe(429);
    expect(logged.filter(({ message }) => message === "task created")).toEqual([]);
    expect(logged.find(({ message }) => message === "request refused")?.fields).toMatchObject({ code: "QUOTA_EXCEEDED" });
  });

  test("cannot be counted while Redis is unavailable, and is refused like every request then", async () => {
    const { here } = await front({ rates: { take: () => Promise.reject(new ParleyError("UNAVAILABLE", "Redis cannot be reached")) } });
    const response = await post(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, as);
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: -32600, data: { code: "UNAVAILABLE" } } }]);
    expect((await post(here, "tasks/get", { taskId: TASK }, as)).status).toBe(503);
    expect((await openSession(here, as)).initialized).toMatchObject({ error: { data: { code: "UNAVAILABLE" } } });
  });

  test("opens no session", async () => {
    const { rates } = counting({ sessions: 1 });
    const { here } = await front({ rates });
    expect((await openSession(here, as)).sessionId).not.toBe("");
    expect((await openSession(here, as)).initialized).toMatchObject({ error: { data: { code: "QUOTA_EXCEEDED" } } });
  });

  test("has nothing of a batch done", async () => {
    const { rates, taken } = counting({ calls: 2 });
    const { here, logged } = await front({ rates });
    const client = await openSession(here, { ...as, version: "2025-03-26" });
    const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "touch", arguments: {} } });
    expect((await client.post(here, [call(1), call(2), call(3)])).status).toBe(429);
    expect(taken.at(-1)).toEqual(["ann", { calls: 3 }]);
    expect((await client.post(here, [call(1), call(2)])).status).toBe(200);
    expect(logged.filter(({ message }) => message === "task created")).toHaveLength(2);
  });

  test("has nothing of a batch counted, even if only one kind of its messages is refused", async () => {
    const { rates, taken } = counting({ calls: 1, answers: 0 });
    const { here } = await front({ rates });
    const client = await openSession(here, { ...as, version: "2025-03-26" });
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "touch", arguments: {} } };
    expect((await client.post(here, [call, { jsonrpc: "2.0", id: "x", result: { action: "decline" } }])).status).toBe(429);
    expect(taken.at(-1)).toEqual(["ann", { calls: 1, answers: 1 }]);
    expect((await client.post(here, [call])).status).toBe(200);
  });
});

test("each quota that a caller reaches is audited once, however often it tries again", async () => {
  const facts: AuditFact[] = [];
  const { rates } = counting({ reads: 2 });
  const audit = { note: async (fact: AuditFact) => void facts.push(fact) };
  const { here } = await front({ rates, audit, limits: { streamsMax: 0, ownWaitsMax: 0 } });
  const client = await openSession(here, as);
  for (const _ of [1, 2]) {
    await rpc(here, "subscriptions/listen", { notifications: { toolsListChanged: true } }, as);
    await rpc(here, "tools/call", { name: "hold", arguments: {} }, { ...as, tasks: false });
    await client.request(here, "tools/call", { name: "hold", arguments: {} });
  }
  for (const _ of [1, 2]) expect((await rpc(here, "tasks/get", { taskId: TASK }, as)).status).toBe(429);
  expect(facts).toStrictEqual(
    [
      "0 streams of this caller (PARLEY_QUOTA_STREAMS) are open",
      "0 calls of this caller that wait for their task (PARLEY_QUOTA_WAITS) are open",
      "the caller may have few reads",
    ].map((verdict) => ({ principal: "ann", action: "quota", verdict })),
  );
});

test("a task that is read with an answer counts as an answer", async () => {
  const { rates, taken } = counting();
  const { here } = await front({ rates });
  const client = await openSession(here, as);
  const response = { elicitationId: `${TASK}:who`, action: "decline" };
  await client.request(here, "tasks/get", { taskId: TASK, _meta: { "io.modelcontextprotocol/elicitation-response": response } });
  await client.request(here, "tasks/get", { taskId: TASK });
  expect(taken).toEqual([
    ["ann", { sessions: 1 }],
    ["ann", { answers: 1 }],
    ["ann", { reads: 1 }],
  ]);
});

test("what a session notes counts as a read", async () => {
  const { rates, taken } = counting();
  const { here } = await front({ rates });
  const client = await openSession(here, as);
  await client.request(here, "logging/setLevel", { level: "debug" });
  await client.request(here, "resources/subscribe", { uri: "test://text" });
  await client.request(here, "resources/unsubscribe", { uri: "test://text" });
  await client.request(here, "ping");
  expect(taken).toEqual([["ann", { sessions: 1 }], ...Array.from({ length: 3 }, () => ["ann", { reads: 1 }])]);
});

test("nothing is counted if callers cannot be told apart", async () => {
  const { rates, taken } = counting({ calls: 0 });
  const anonymous = { ...callerNamed("anonymous"), authenticatedBy: "nobody" };
  const quotas = { principal: { tasks: 0, bytes: 0 }, tenant: { tasks: 0, bytes: 0 } };
  const { here } = await front({ rates, authenticate: () => anonymous, settings: { taskQuotas: quotas }, limits: { streamsMax: 0 } });
  expect((await rpc(here, "tools/call", { name: "touch", arguments: {} })).error).toBeUndefined();
  const listening = await stream(here, "subscriptions/listen", { notifications: { toolsListChanged: true } });
  expect((await listening.next()).method).toBe("notifications/subscriptions/acknowledged");
  listening.close();
  expect(taken).toEqual([]);
});

test("a caller at its limit of unfinished tasks is refused one more, by every kind of call, until one has ended", async () => {
  const one = { tasks: 1, bytes: 1_000_000 };
  const { here } = await front({ settings: { taskQuotas: { principal: one, tenant: { ...one, tasks: 100 } } } });
  const greet = { name: "greet", arguments: {} };
  const taskId = String((await rpc(here, "tools/call", greet, as)).result!["taskId"]);
  const refused = await rpc(here, "tools/call", greet, as);
  expect(refused).toMatchObject({
    status: 429,
    error: { message: "the caller has reached the maximum of 1 unfinished tasks (PARLEY_QUOTA_TASKS)", data: { code: "QUOTA_EXCEEDED" } },
  });
  expect((await rpc(here, "tools/call", greet, { ...as, tasks: false })).status).toBe(429);
  const client = await openSession(here, as);
  for (const task of [{ task: {} }, {}]) {
    const { messages } = await client.request(here, "tools/call", { ...greet, ...task });
    expect(messages.at(-1)?.error).toMatchObject({ data: { code: "QUOTA_EXCEEDED" } });
  }
  expect((await rpc(here, "tools/call", greet, { principal: "bob" })).result).toBeDefined();
  await rpc(here, "tasks/cancel", { taskId }, as);
  expect((await rpc(here, "tools/call", greet, as)).result).toBeDefined();
});

test("a caller's open calls on a front end are limited, in both families; one that ends makes room", async () => {
  const { here, logged } = await front({ limits: { ownWaitsMax: 2, waitsMax: 4, sessionWaitsMax: 1 } });
  const created = () => logged.filter(({ message }) => message === "task created").length;
  const hold = { name: "hold", arguments: {} };
  const client = await openSession(here, as);
  const inSession = await client.stream(here, "tools/call", { name: "greet", arguments: {} }, 1);
  const leave = new AbortController();
  const without = post(here, "tools/call", hold, { ...as, tasks: false, signal: leave.signal }).catch(() => "left");
  await expect.poll(created).toBe(2);
  const beyond = {
    message: "2 calls of this caller that wait for their task (PARLEY_QUOTA_WAITS) are open",
    data: { code: "QUOTA_EXCEEDED", retryAfterMs: 10_000 },
  };
  expect((await rpc(here, "tools/call", hold, { ...as, tasks: false })).error).toMatchObject(beyond);
  const another = await openSession(here, as);
  // What is refused takes no place in its session either.
  for (const id of [2, 3]) expect((await another.request(here, "tools/call", hold, id)).messages.at(-1)?.error).toMatchObject(beyond);
  expect(created()).toBe(2);
  // This does not delay its tasks or those of others.
  expect(
    (await rpc(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, { principal: "bob", tasks: false })).result,
  ).toBeDefined();
  leave.abort();
  await without;
  await expect
    .poll(async () => (await rpc(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, { ...as, tasks: false })).result)
    .toBeDefined();
  expect((await another.request(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, 4)).messages.at(-1)?.result).toBeDefined();
  inSession.close();
});

test("callers that cannot be told apart share only the places of the front end", async () => {
  const anonymous = callerNamed("anonymous", { authenticatedBy: "nobody" });
  const { here } = await front({ authenticate: () => anonymous, limits: { ownWaitsMax: 0 } });
  expect((await rpc(here, "tools/call", { name: "echo", arguments: { text: "hi" } }, { tasks: false })).result).toBeDefined();
});

test("the streams of a caller on a front end are limited, at the limit and one beyond; one that ends makes room", async () => {
  const { here } = await front({ limits: { streamsMax: 2 } });
  const listen = (principal: string) => stream(here, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { principal });
  const client = await openSession(here, as);
  const streams = [await listen("ann"), await client.listen(here)];
  await streams[0]!.next();
  const third = await rpc(here, "subscriptions/listen", { notifications: { toolsListChanged: true } }, as);
  const beyond = {
    message: "2 streams of this caller (PARLEY_QUOTA_STREAMS) are open",
    data: { code: "QUOTA_EXCEEDED", retryAfterMs: 10_000 },
  };
  expect(third.error).toMatchObject(beyond);
  const another = await openSession(here, as);
  const fourth = await another.listen(here);
  expect(fourth.status).toBe(429);
  await fourth.ended();
  expect(JSON.parse(fourth.text)).toMatchObject({ error: beyond });
  const bobs = await listen("bob");
  expect((await bobs.next()).method).toBe("notifications/subscriptions/acknowledged");
  streams[0]!.close();
  await expect
    .poll(async () => {
      const again = await listen("ann");
      const { method } = await again.next();
      again.close();
      return method;
    })
    .toBe("notifications/subscriptions/acknowledged");
  for (const each of [streams[1]!, bobs]) each.close();
});

describe("the callers of one tenant", () => {
  const people = { authenticate: ({ headers }: { headers: { [name: string]: unknown } }) => callerOf(String(headers["x-principal"])) };
  const callerOf = (principal: string) => callerNamed(principal, { tenant: principal.split("-")[0]! });
  const shared = { code: "QUOTA_EXCEEDED", retryAfterMs: 10_000 };

  test("share the streams of a front end with other tenants: four of them take seven eighths, and another tenant listens", async () => {
    const { here } = await front({ ...people, limits: { listensMax: 16 } });
    const listen = (principal: string) =>
      stream(here, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { principal });
    const streams = [];
    for (let each = 0; each < 14; each += 1) {
      const opened = await listen(`acme-${each % 4}`);
      expect((await opened.next()).method).toBe("notifications/subscriptions/acknowledged");
      streams.push(opened);
    }
    const beyond = await rpc(here, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { principal: "acme-0" });
    expect(beyond).toMatchObject({ status: 429, error: { message: expect.stringContaining("share"), data: shared } });
    const other = await listen("globex-0");
    expect((await other.next()).method).toBe("notifications/subscriptions/acknowledged");
    for (const each of [...streams, other]) each.close();
  });

  test("share the held calls of a front end in the same way, and nothing of a refused one is started", async () => {
    const { here, logged } = await front({ ...people, limits: { waitsMax: 16 } });
    const created = () => logged.filter(({ message }) => message === "task created").length;
    const hold = { name: "hold", arguments: {} };
    const leave = new AbortController();
    const held = Array.from({ length: 14 }, (_, each) =>
      post(here, "tools/call", hold, { principal: `acme-${each % 4}`, tasks: false, signal: leave.signal }).catch(() => "left"),
    );
    await expect.poll(created).toBe(14);
    const beyond = await rpc(here, "tools/call", hold, { principal: "acme-0", tasks: false });
    expect(beyond).toMatchObject({ status: 429, error: { message: expect.stringContaining("share"), data: shared } });
    expect(created()).toBe(14);
    const echo = { name: "echo", arguments: { text: "hi" } };
    expect((await rpc(here, "tools/call", echo, { principal: "globex-0", tasks: false })).result).toBeDefined();
    leave.abort();
    await Promise.all(held);
  });
});
