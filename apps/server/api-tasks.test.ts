/** /api/v1: tasks, tools, batches and requests that are sent again, at two front ends. */
import { ParleyError, type Rates } from "@parley/core";
import { createMemoryApprovalRecord, createMemoryStandingApprovals } from "@parley/core/memory";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { callerNamed, deploy, type Deploy } from "./deployment.fixture.ts";
import { protectedResource } from "./front-end/protected-resource.ts";
import { asDescribed } from "./routes/api/described.fixture.ts";

const finance = { to: { groups: ["finance"] } } as const;
const amount = z.object({ amount: z.int().max(20) });

const tools = catalogue([
  defineTool({
    name: "pay",
    title: "Pay a bill",
    description: "Pays.",
    input: z.object({ what: z.string().optional() }),
    run: async (_args, ctx) => `paid ${(await ctx.elicit("amount", { message: "How much?", schema: amount, ...finance })).amount}`,
  }),
  defineTool({
    name: "pay-twice",
    run: async (_args, ctx) => {
      const asked = { message: "How much?", schema: amount, ...finance };
      await Promise.all([ctx.elicit("first", asked), ctx.elicit("second", asked)]);
      return "paid";
    },
  }),
  defineTool({ name: "echo", input: z.object({ text: z.string() }), run: ({ text }) => text }),
  defineTool({ name: "guarded", scopes: ["payments:release"], run: () => "done" }),
  defineTool({ name: "thinks", needs: { sampling: { tools: false } }, run: () => "done" }),
]);

const PEOPLE = {
  ada: callerNamed("ada", { tenant: "acme" }),
  eve: callerNamed("eve", { tenant: "acme", groups: ["finance"] }),
  bob: callerNamed("bob", { tenant: "acme", groups: ["finance"] }),
  sam: callerNamed("sam", { tenant: "acme" }),
  zoe: callerNamed("zoe", { tenant: "umbrella", groups: ["finance"] }),
};
type Who = keyof typeof PEOPLE;

async function subject(request: Partial<Deploy> = {}) {
  const { fronts, services, skip } = await deploy({
    catalogue: tools,
    authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"]) as Who] ?? callerNamed("nobody"),
    ...request,
  });
  let at = 0;
  /** To the front ends in turn. */
  async function send(who: Who, method: "GET" | "POST", path: string, body?: unknown, more: Record<string, string> = {}) {
    at += 1;
    const url = `${new URL(fronts[at % fronts.length]!.url).origin}/api/v1${path}`;
    const headers = { "x-principal": who, ...(body !== undefined && { "content-type": "application/json" }), ...more };
    const response = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await response.text();
    const received = text === "" ? undefined : JSON.parse(text);
    asDescribed({ method, path, status: response.status, body: received });
    return { status: response.status, headers: response.headers, body: received };
  }
  const get = (who: Who, path: string, headers?: Record<string, string>) => send(who, "GET", path, undefined, headers);
  const post = (who: Who, path: string, body: unknown, key?: string) =>
    send(who, "POST", path, body, key === undefined ? {} : { "idempotency-key": key });
  /** A task of ada's, in the state that it comes to. */
  async function call(tool: string, args: object = {}): Promise<string> {
    const { status, body } = await post("ada", `/tools/${tool}/calls`, { arguments: args });
    expect(status).toBe(201);
    await until(async () => ["input_required", "completed"].includes((await services.store.load(body.taskId))?.status ?? ""));
    return body.taskId;
  }
  return { get, post, call, services, skip };
}

const yes = { action: "accept", content: { amount: 4 } };

describe("tasks", () => {
  test("are called, listed with their questions, followed to their result, by their owner alone", async () => {
    const { get, post, call, services } = await subject();
    const taskId = await call("pay");
    const [mine] = (await get("ada", "/tasks")).body.tasks;
    expect(mine).toMatchObject({
      taskId,
      tool: "pay",
      toolTitle: "Pay a bill",
      status: "input_required",
      owner: { principal: "ada", name: "ada", isCaller: true },
      asks: [],
    });
    expect(mine.asksOfOthers).toBe(1);

    const [theirs] = (await get("eve", "/tasks?owner=others")).body.tasks;
    expect(theirs).toMatchObject({
      taskId,
      owner: { principal: "ada", isCaller: false },
      asks: [{ taskId, key: "amount", toolTitle: "Pay a bill" }],
      asksOfOthers: 0,
    });
    expect((await get("eve", "/tasks")).body).toEqual({ tasks: [] });
    expect((await get("eve", `/tasks/${taskId}`)).body).toEqual(theirs);

    await post("eve", `/asks/${taskId}/amount`, yes);
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    expect((await get("ada", `/tasks/${taskId}`)).body).toMatchObject({ status: "completed", result: { content: [{ text: "paid 4" }] } });
    expect((await get("ada", `/tasks/${taskId}/timeline`)).body).toMatchObject({
      task: { id: taskId, name: "pay", toolTitle: "Pay a bill" },
      journal: { lines: [{ name: "amount" }] },
    });
    for (const who of ["eve", "sam", "zoe"] as const) {
      for (const path of [`/tasks/${taskId}`, `/tasks/${taskId}/timeline`])
        expect((await get(who, path)).status, `${who} ${path}`).toBe(404);
      expect((await post(who, `/tasks/${taskId}/cancel`, {})).status).toBe(404);
    }
  });

  test("are cancelled by their owner, with a reason; those who are asked may not", async () => {
    const { get, post, call } = await subject();
    const taskId = await call("pay");
    expect((await post("eve", `/tasks/${taskId}/cancel`, {})).body).toMatchObject({ status: 403, code: "NOT_PERMITTED" });
    expect((await get("eve", `/tasks/${taskId}/timeline`)).status).toBe(403);
    expect((await post("ada", `/tasks/${taskId}/cancel`, { reason: "Ordered twice." })).body).toEqual({ receipt: "cancelled" });
    expect((await post("ada", `/tasks/${taskId}/cancel`, {})).body).toEqual({ receipt: "finished" });
    expect((await get("ada", `/tasks/${taskId}`)).body).toMatchObject({ status: "cancelled", statusMessage: "Ordered twice." });
    expect((await post("eve", `/asks/${taskId}/amount`, yes)).body).toMatchObject({ status: 409, receipt: "late", ask: { end: "closed" } });
  });

  test("are found by status, tool and time, page by page, each once", async () => {
    const { get, call, skip } = await subject();
    const first = await call("pay-twice");
    skip(60_000);
    const since = new Date(Date.now() + 30_000).toISOString();
    const rest = [await call("echo", { text: "hi" }), await call("pay"), await call("pay-twice")].toReversed();
    const found = async (who: Who, query: string) =>
      (await get(who, `/tasks?${query}`)).body.tasks.map((task: { taskId: string }) => task.taskId);
    expect(await found("ada", "")).toEqual([...rest, first]);
    expect(await found("ada", "status=completed")).toEqual([rest[2]]);
    expect(await found("ada", "status=completed,input_required&tool=pay-twice")).toEqual([rest[0], first]);
    expect(await found("ada", `createdAfter=${since}`)).toEqual(rest);
    expect(await found("ada", `createdBefore=${since}`)).toEqual([first]);

    async function walk(who: Who, query: string): Promise<string[]> {
      const seen: string[] = [];
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const { body } = await get(who, `/tasks?${query}&limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
        seen.push(...body.tasks.map((task: { taskId: string }) => task.taskId));
        cursor = body.nextCursor;
      }
      return seen;
    }
    expect(await walk("ada", "owner=me")).toEqual([...rest, first]);
    // A task with two questions is there once.
    expect(await walk("eve", "owner=others")).toEqual([rest[0], rest[1], first]);
    expect(await walk("eve", "owner=others&tool=pay")).toEqual([rest[1]]);
  });

  test.each([
    "?status=done",
    "?status=",
    "?owner=eve",
    "?limit=0",
    "?createdAfter=soon",
    "?cursor=x",
    "?owner=others&cursor=x",
    "?colour=red",
  ])("refuse the query %s", async (query) => {
    const { get } = await subject({ fronts: 1 });
    expect((await get("ada", `/tasks${query}`)).status).toBe(400);
  });

  test("have an ETag, also alone", async () => {
    const { get, call } = await subject();
    const taskId = await call("pay");
    for (const path of ["/tasks", `/tasks/${taskId}`]) {
      const { headers } = await get("ada", path);
      expect((await get("ada", path, { "if-none-match": String(headers.get("etag")) })).status).toBe(304);
    }
  });
});

describe("tools", () => {
  test("are listed page by page, and refused where they are not offered or the call does not fit", async () => {
    const { get, post } = await subject();
    const names: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const { body } = await get("ada", `/tools?limit=2${cursor && `&cursor=${cursor}`}`);
      names.push(...body.tools.map(({ name }: { name: string }) => name));
      cursor = body.nextCursor;
    }
    expect(names).toEqual(["echo", "guarded", "pay", "pay-twice", "thinks"]);
    expect((await get("ada", "/tools/pay")).body).toMatchObject({ name: "pay", description: "Pays.", inputSchema: { type: "object" } });
    expect((await get("ada", "/tools/none")).body).toMatchObject({ status: 404, code: "TOOL_NOT_FOUND" });
    expect((await post("ada", "/tools/none/calls", {})).status).toBe(404);
    expect((await post("ada", "/tools/echo/calls", { arguments: { text: 5 } })).body).toMatchObject({
      status: 422,
      code: "INVALID_ARGUMENTS",
      violations: [{ path: "/text" }],
    });
    expect((await post("ada", "/tools/thinks/calls", {})).body).toMatchObject({ status: 400, code: "CAPABILITY_REQUIRED" });
    for (const body of [[], "x", { arguments: [] }, { arguments: "x" }, { keepSeconds: -1 }, { args: {} }]) {
      expect((await post("ada", "/tools/echo/calls", body)).status, JSON.stringify(body)).toBe(400);
    }
  });
});

describe("a request with an Idempotency-Key", () => {
  test("that calls a tool has one task, and another call with the key is refused", async () => {
    const { get, post } = await subject();
    const call = { arguments: { text: "hi" } };
    const ids = await Promise.all([1, 2, 3].map(async () => (await post("ada", "/tools/echo/calls", call, "k")).body.taskId));
    expect(new Set(ids).size).toBe(1);
    expect((await post("ada", "/tools/echo/calls", { arguments: { text: "ho" } }, "k")).body).toMatchObject({
      status: 422,
      code: "IDEMPOTENCY_KEY_REUSED",
    });
    expect((await get("ada", "/tasks")).body.tasks).toHaveLength(1);
  });

  test("that answers or cancels is done once and replied to alike, and its key serves no other", async () => {
    const { post, call } = await subject();
    const [one, other] = [await call("pay"), await call("pay")];
    const path = `/asks/${one}/amount`;
    // What was refused may be tried again.
    expect((await post("eve", path, { action: "accept", content: { amount: 40 } }, "k")).status).toBe(422);
    for (let times = 0; times < 3; times += 1) expect((await post("eve", path, yes, "k")).body).toEqual({ receipt: "accepted" });
    expect((await post("eve", path, yes)).body).toEqual({ receipt: "duplicate" });
    for (const [to, body] of [
      [path, { ...yes, content: { amount: 5 } }],
      [`/asks/${other}/amount`, yes],
    ] as const) {
      expect((await post("eve", to, body, "k")).body).toMatchObject({ status: 422, code: "IDEMPOTENCY_KEY_REUSED" });
    }
    // Of another person, the same key is another one.
    expect((await post("bob", `/asks/${other}/amount`, yes, "k")).body).toEqual({ receipt: "accepted" });
    const third = await call("pay");
    for (let times = 0; times < 2; times += 1) {
      expect((await post("ada", `/tasks/${third}/cancel`, {}, "c")).body).toEqual({ receipt: "cancelled" });
    }
  });

  test("may have 255 characters of key, and one at least", async () => {
    const { post, call } = await subject({ fronts: 1 });
    const taskId = await call("pay");
    const path = `/tasks/${taskId}/cancel`;
    for (const key of ["", "x".repeat(256)]) expect((await post("ada", path, {}, key)).status).toBe(400);
    expect((await post("ada", path, {}, "x".repeat(255))).status).toBe(200);
  });
});

describe("a batch of answers", () => {
  test("is previewed, then applied, with a receipt for each", async () => {
    const { get, post, call } = await subject();
    const [one, two, three] = [await call("pay"), await call("pay"), await call("pay")];
    await post("bob", `/asks/${three}/amount`, { action: "decline" });
    const answers = [
      { taskId: one, key: "amount", ...yes },
      { taskId: two, key: "amount", action: "accept", content: { amount: 40 } },
      { taskId: three, key: "amount", ...yes },
      { taskId: "0-AAAAAAAAAAAAAAAAAAAAAA", key: "amount", action: "decline", reason: "No." },
    ];
    const receipts = async (body: object, who: Who = "eve") =>
      (await post(who, "/asks/batch", body)).body.receipts.map(({ receipt }: { receipt: string }) => receipt);
    expect(await receipts({ answers, preview: true })).toEqual(["valid", "invalid", "late", "unknown"]);
    expect((await get("eve", "/asks/count")).body.count).toBe(2);
    const applied = (await post("eve", "/asks/batch", { answers })).body;
    expect(applied.receipts).toMatchObject([
      { taskId: one, key: "amount", receipt: "accepted" },
      { taskId: two, receipt: "invalid", violations: [{ path: "/content/amount" }] },
      { taskId: three, receipt: "late" },
      { receipt: "unknown" },
    ]);
    expect(await receipts({ answers })).toEqual(["duplicate", "invalid", "late", "unknown"]);
    expect(await receipts({ answers: answers.slice(1, 2), preview: true }, "ada")).toEqual(["forbidden"]);
    expect(await receipts({ answers: answers.slice(1, 2) }, "ada")).toEqual(["forbidden"]);
    expect(await receipts({ answers: answers.slice(1, 2) }, "sam")).toEqual(["unknown"]);
  });

  test("is repeated with its key if nothing in it was refused", async () => {
    const { post, call } = await subject();
    const answers = [await call("pay"), await call("pay")].map((taskId) => ({ taskId, key: "amount", ...yes }));
    const { body } = await post("eve", "/asks/batch", { answers }, "b");
    expect(body.receipts).toMatchObject([{ receipt: "accepted" }, { receipt: "accepted" }]);
    expect((await post("eve", "/asks/batch", { answers }, "b")).body).toEqual(body);
    expect((await post("eve", "/asks/batch", { answers: answers.slice(1) }, "b")).status).toBe(422);
  });

  test("has a limited number of answers, each for another question", async () => {
    const { post } = await subject({ fronts: 1, settings: { repliesMax: 2 } });
    const answers = (count: number) => Array.from({ length: count }, (_, index) => ({ taskId: "0-a", key: `k${index}`, action: "cancel" }));
    expect((await post("eve", "/asks/batch", { answers: answers(3) })).body).toMatchObject({ status: 400, code: "TOO_MANY_ANSWERS" });
    expect((await post("eve", "/asks/batch", { answers: answers(2) })).status).toBe(200);
    for (const body of [
      {},
      [],
      { answers: [] },
      { answers: ["x"] },
      { answers: [...answers(1), ...answers(1)] },
      { answers: [{ ...answers(1)[0], reason: "why" }] },
      { answers: answers(1), preview: "yes" },
    ]) {
      expect((await post("eve", "/asks/batch", body)).status, JSON.stringify(body)).toBe(400);
    }
  });

  test("counts each answer towards the caller's rates, and says which were refused", async () => {
    let left = 1;
    const rates = {
      take: async (_caller, { answers = 0 }) => {
        left -= answers;
        if (left < 0) throw new ParleyError("QUOTA_EXCEEDED", "too many", { data: { retryAfterMs: 1_500 } });
      },
    } as Rates;
    const { post, call } = await subject({ fronts: 1, rates });
    const answers = [await call("pay"), await call("pay")].map((taskId) => ({ taskId, key: "amount", ...yes }));
    expect((await post("eve", "/asks/batch", { answers })).body.receipts).toMatchObject([
      { receipt: "accepted" },
      { receipt: "refused", code: "QUOTA_EXCEEDED", retryAfterSeconds: 2 },
    ]);
  });
});

describe("a preview of a batch", () => {
  test("says that an answer to a question as it was before would come too late", async () => {
    const { get, post, call } = await subject();
    const taskId = await call("pay");
    const { digest } = (await get("eve", `/asks/${taskId}/amount`)).body;
    const receipts = async (given: object) =>
      (await post("eve", "/asks/batch", { answers: [{ taskId, key: "amount", ...yes, ...given }], preview: true })).body.receipts;
    expect(await receipts({ digest })).toEqual([{ taskId, key: "amount", receipt: "valid" }]);
    expect(await receipts({ digest: "another" })).toEqual([{ taskId, key: "amount", receipt: "late" }]);
    expect(await receipts({})).toEqual([{ taskId, key: "amount", receipt: "valid" }]);
  });

  test("counts towards the caller's reads, and takes nothing from the answers", async () => {
    const taken: string[] = [];
    const rates: Rates = { take: async ({ principal }, amounts) => void taken.push(`${principal} ${JSON.stringify(amounts)}`) };
    const { post, call } = await subject({ fronts: 1, rates });
    const answers = [await call("pay"), await call("pay")].map((taskId) => ({ taskId, key: "amount", ...yes }));
    taken.length = 0;
    await post("eve", "/asks/batch", { answers, preview: true });
    expect(taken).toEqual(['eve {"reads":1}', 'eve {"reads":1}']);
    await post("bob", "/asks/batch", { answers });
    expect(taken.slice(2)).toEqual(['bob {"answers":1}', 'bob {"answers":1}']);
  });
});

describe("what became of calls that waited for approval", () => {
  const approvals = createMemoryApprovalRecord();
  const nowMs = Date.now();

  test("is told for the caller's tenant, for the days that are asked for", async () => {
    const asked = { tenant: "acme", rule: "deletes", taskId: "0-gone", askedAtMs: nowMs - 60_000 };
    await approvals.asked(asked);
    await approvals.settled({ ...asked, end: "approved", atMs: nowMs, by: ["bob"] });
    const { get, call } = await subject({ approvals });
    const taskId = await call("pay");
    await approvals.asked({ ...asked, taskId });
    const { status, body } = await get("ada", "/approvals?days=31");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      isMoreWaiting: false,
      rules: [
        {
          rule: "deletes",
          asked: 2,
          approved: 1,
          yes: 1,
          quick: 0,
          people: [{ principal: "bob", approved: 1, refused: 0 }],
          waiting: 1,
          oldest: { taskId, askedAt: new Date(asked.askedAtMs).toISOString() },
        },
      ],
    });
    expect((await get("zoe", "/approvals")).body.rules).toEqual([]);
    for (const days of ["0", "32", "x", "1.5"]) expect((await get("ada", `/approvals?days=${days}`)).status).toBe(400);
  });

  test("is told to operators only: it names the people who decided", async () => {
    const resource = protectedResource({ url: "https://parley.example/mcp", authorizationServers: [], scopePrefix: "" });
    const scopes = { ada: ["tools:call", "tasks:read", "asks:answer"], bob: ["admin:read"] } as Record<string, string[]>;
    const authenticate: Deploy["authenticate"] = ({ headers }) => {
      const who = String(headers["x-principal"]);
      return callerNamed(who, { scopes: scopes[who] ?? [] });
    };
    const { get } = await subject({ approvals, resource, authenticate });
    expect([(await get("ada", "/approvals")).status, (await get("bob", "/approvals")).status]).toEqual([403, 200]);
  });

  test("is empty where nothing is recorded", async () => {
    const { get } = await subject();
    expect((await get("ada", "/approvals")).body.rules).toEqual([]);
  });
});

describe("standing approvals", () => {
  test("are listed and revoked by those who gave them and those whose calls they let pass, and by nobody else", async () => {
    const standing = createMemoryStandingApprovals();
    const facts: object[] = [];
    const audit = { note: async (fact: object) => void facts.push(fact) };
    const nowMs = Date.now();
    const about = { rule: "deletes", title: "Deleting", tool: "delete", principal: "ada", by: "bob", grantedAtMs: nowMs, uses: 3 };
    for (const id of ["one", "two"])
      await standing.grant({ tenant: "acme", id, taskId: `0-${id}`, about: { ...about, untilMs: nowMs + 3_600_000 } });
    const { get, post } = await subject({ standing, audit });
    const idsOf = async (who: Who) => (await get(who, "/approvals/standing")).body.approvals.map(({ id }: { id: string }) => id);
    expect([await idsOf("ada"), await idsOf("bob"), await idsOf("eve"), await idsOf("zoe")]).toEqual([
      ["one", "two"],
      ["one", "two"],
      [],
      [],
    ]);
    expect((await get("ada", "/approvals/standing")).body.approvals[0]).toEqual({
      id: "one",
      rule: "deletes",
      title: "Deleting",
      tool: "delete",
      caller: "ada",
      by: "bob",
      grantedAt: new Date(nowMs).toISOString(),
      until: new Date(nowMs + 3_600_000).toISOString(),
      uses: 3,
      left: 3,
    });
    const revoke = async (who: Who, id: string) => (await post(who, `/approvals/standing/${id}/revoke`, {})).status;
    // Of others and of nobody alike.
    expect([await revoke("eve", "one"), await revoke("zoe", "one"), await revoke("ada", "none")]).toEqual([404, 404, 404]);
    expect([await revoke("ada", "one"), await revoke("ada", "one"), await revoke("bob", "two")]).toEqual([200, 404, 200]);
    expect(await idsOf("bob")).toEqual([]);
    expect(facts).toMatchObject([
      { action: "approval", did: "revoked", standing: "one", principal: "ada", door: "api" },
      { action: "approval", did: "revoked", standing: "two", principal: "bob" },
    ]);
  });

  test("of the tenant are all listed for an operator, who cannot revoke those of others", async () => {
    const standing = createMemoryStandingApprovals();
    const about = {
      rule: "r",
      title: "R",
      tool: "t",
      principal: "ada",
      by: "bob",
      grantedAtMs: Date.now(),
      untilMs: Date.now() + 60_000,
      uses: 1,
    };
    await standing.grant({ tenant: "acme", id: "one", taskId: "0-1", about });
    const authenticate: Deploy["authenticate"] = () => callerNamed("operator", { tenant: "acme", scopes: ["admin:read"] });
    const { get, post } = await subject({ standing, authenticate });
    expect((await get("sam", "/approvals/standing")).body.approvals).toHaveLength(1);
    expect((await post("sam", "/approvals/standing/one/revoke", {})).status).toBe(404);
  });
});
