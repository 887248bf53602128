/**
 * One policy for every entry point (I13): each door × action × role of the caller × state of the task. The expectations are written out, by
 * role and state; nothing here uses core's `may`.
 */
import type { Caller, Services } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { type Message, rpc, stream } from "./client.fixture.ts";
import { callerNamed, closedLater, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { openSession, type SessionClient } from "./session-client.fixture.ts";

const PEOPLE: Record<string, Caller> = {
  owner: callerNamed("ada", { tenant: "acme" }),
  asked: callerNamed("eve", { tenant: "acme", groups: ["finance"] }),
  colleague: callerNamed("sam", { tenant: "acme" }),
  "asked, by the words, in another tenant": callerNamed("fin", { tenant: "umbrella", groups: ["finance"] }),
  // No identity provider gives the same principal to two tenants. If one did, the tenant would decide.
  "namesake in another tenant": callerNamed("ada", { tenant: "umbrella" }),
};
const ROLES = Object.keys(PEOPLE);
const isStranger = (role: string) => role !== "owner" && role !== "asked";

const yes = z.object({ ok: z.boolean() });
const own = { message: "Yours?", schema: yes };
const finance = { message: "Finance?", schema: yes, to: { groups: ["finance"] } } as const;

/** The states of a task, by the name of its tool. `asks` are the open ones. */
const STATES: Record<string, { readonly asks: readonly string[]; readonly status: string }> = {
  working: { asks: [], status: "working" },
  "asks-owner": { asks: ["own"], status: "input_required" },
  "asks-finance": { asks: ["finance"], status: "input_required" },
  "asks-two-of-finance": { asks: ["finance"], status: "input_required" },
  "asks-both": { asks: ["own", "finance"], status: "input_required" },
  completed: { asks: [], status: "completed" },
  failed: { asks: [], status: "failed" },
  cancelled: { asks: [], status: "cancelled" },
  unknown: { asks: [], status: "" },
};
const STATE_NAMES = Object.keys(STATES);

const tools = catalogue([
  defineTool({ name: "working", run: (_args, ctx) => ctx.sleep("nap", "1 hour").then(() => "slept") }),
  defineTool({ name: "asks-owner", run: (_args, ctx) => ctx.elicit("own", own).then(() => "done") }),
  defineTool({ name: "asks-finance", run: (_args, ctx) => ctx.elicit("finance", finance).then(() => "done") }),
  defineTool({
    name: "asks-two-of-finance",
    run: (_args, ctx) => ctx.elicit("finance", { ...finance, quorum: 2 }).then(() => "done"),
  }),
  defineTool({
    name: "asks-both",
    run: (_args, ctx) => Promise.all([ctx.elicit("own", own), ctx.elicit("finance", finance)]).then(() => "done"),
  }),
  defineTool({ name: "completed", run: () => "done" }),
  defineTool({ name: "failed", run: () => Promise.reject(new Error("secret of the owner")) }),
  defineTool({ name: "cancelled", run: (_args, ctx) => ctx.sleep("nap", "1 hour").then(() => "slept") }),
]);

async function subject(more: Pick<Deploy, "atEnd"> = {}) {
  const { fronts, services } = await deploy({
    ...more,
    catalogue: tools,
    fronts: 1,
    authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"])] ?? callerNamed("nobody"),
  });
  const [front] = fronts;
  if (!front) throw new Error("a front end is needed");
  /** A task of the owner in that state. */
  async function taskIn(state: string): Promise<string> {
    if (state === "unknown") return `0-${crypto.randomUUID()}`;
    const called = await rpc(front!, "tools/call", { name: state, arguments: {} }, { principal: "owner" });
    const taskId = String(called.result!["taskId"]);
    const { status, asks } = STATES[state]!;
    if (state === "cancelled") await rpc(front!, "tasks/cancel", { taskId }, { principal: "owner" });
    await until(async () => {
      const task = await services.store.load(taskId);
      return task?.status === status && task.run > (state === "cancelled" ? -1 : 0) && task.asks.length === asks.length;
    });
    return taskId;
  }
  return { front, services, taskIn };
}

interface Asked {
  readonly front: Front;
  readonly role: string;
  readonly state: string;
  readonly taskId: string;
}

const answer = { action: "accept", content: { ok: true } };
const NOT_FOUND = "no task";
const NOT_PERMITTED = "not permitted";

/** The outcome in a few words. */
function verdict({ error, result }: Message, summarise: (result: NonNullable<Message["result"]>) => string): string {
  if (!error) return summarise(result!);
  if (error.message.startsWith("no task")) return NOT_FOUND;
  return error.data?.["code"] === "NOT_PERMITTED" ? NOT_PERMITTED : `${error.data?.["code"]}`;
}

const keysOf = (requests: object | undefined) => Object.keys(requests ?? {}).join(" ");
const sessions = new WeakMap<Front, Map<string, SessionClient>>();

async function inSession({ front, role }: Asked, method: string, params: object): Promise<Message> {
  const known = sessions.get(front) ?? new Map<string, SessionClient>();
  sessions.set(front, known);
  const client = known.get(role) ?? (await openSession(front, { principal: role }));
  known.set(role, client);
  return (await client.request(front, method, params)).messages.at(-1)!;
}

/** A problem without a receipt is one of the words above. */
async function atApi(
  { front, role }: Asked,
  path: string,
  summarise: (body: Readonly<Record<string, unknown>>) => string,
  body?: object,
): Promise<string> {
  const response = await fetch(`${new URL(front.url).origin}/api/v1${path}`, {
    method: body ? "POST" : "GET",
    headers: { "x-principal": role, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const received = (await response.json()) as { readonly code?: string; readonly detail?: string; readonly receipt?: string };
  if (response.ok) return summarise(received);
  if (received.receipt !== undefined) return received.receipt;
  if (received.detail?.startsWith("no task")) return NOT_FOUND;
  return received.code === "NOT_PERMITTED" ? NOT_PERMITTED : String(received.code);
}

interface Door {
  readonly name: string;
  readonly knock: (asked: Asked) => Promise<string>;
  /** What `role` receives, according to the table in packages/core/callers/policy.ts. Strangers get NOT_FOUND. */
  readonly due: (role: string, state: string) => string;
}

const asksFinance = (state: string) => STATES[state]!.asks.includes("finance");

/** Whether `role` may know of the task. */
function isSeen(role: string, state: string): boolean {
  return state !== "unknown" && (role === "owner" || asksFinance(state));
}

/** The open questions of `role`. */
function mine(role: string, state: string): string {
  return STATES[state]!.asks.filter((key) => (role === "owner") === (key === "own")).join(" ");
}

/** The status at the doors of tasks: one whose questions are all for others needs no input from `role`. */
function statusTo(role: string, state: string): string {
  const { status } = STATES[state]!;
  return status === "input_required" && mine(role, state) === "" ? "working" : status;
}

/** The outcome at a door that acknowledges answers to unknown asks, and at one that refuses them. */
function answering(key: string, otherwise: { readonly unknown: string }): Door["due"] {
  return (role, state) => {
    if (!isSeen(role, state)) return NOT_FOUND;
    if (!STATES[state]!.asks.includes(key)) return otherwise.unknown;
    if (mine(role, state) === key) return "accepted";
    return role === "owner" ? NOT_PERMITTED : otherwise.unknown;
  };
}

const cancelling: Door["due"] = (role, state) => {
  if (!isSeen(role, state)) return NOT_FOUND;
  return role === "owner" ? "cancelled" : NOT_PERMITTED;
};

const DOORS: readonly Door[] = [
  {
    name: "2026-07-28 tasks/get",
    async knock({ front, role, taskId }) {
      return verdict(await rpc(front, "tasks/get", { taskId }, { principal: role }), (task) =>
        `${String(task["status"])} ${keysOf(task["inputRequests"])} ${task["result"] ? "result" : ""}${task["error"] ? "error" : ""}`.trim(),
      );
    },
    due(role, state) {
      if (!isSeen(role, state)) return NOT_FOUND;
      const status = statusTo(role, state);
      // A tool that threw has a result with the error.
      const outcome = state === "completed" || state === "failed" ? "result" : "";
      return `${status === "failed" ? "completed" : status} ${mine(role, state)} ${outcome}`.trim();
    },
  },
  ...["own", "finance"].map((key): Door => ({
    name: `2026-07-28 tasks/update of ${key}`,
    async knock({ front, role, taskId }) {
      const updated = await rpc(front, "tasks/update", { taskId, inputResponses: { [key]: answer } }, { principal: role });
      return verdict(updated, (result) => String(result["_meta"]?.["parley/receipts"]?.[key]));
    },
    due: answering(key, { unknown: "unknown" }),
  })),
  {
    name: "2026-07-28 tasks/cancel",
    knock: async ({ front, role, taskId }) => verdict(await rpc(front, "tasks/cancel", { taskId }, { principal: role }), () => "cancelled"),
    due: cancelling,
  },
  {
    name: "2026-07-28 subscriptions/listen",
    async knock({ front, role, taskId }) {
      const listening = await stream(front, "subscriptions/listen", { notifications: { taskIds: [taskId] } }, { principal: role });
      const { params } = await listening.next();
      listening.close();
      return JSON.stringify(params!["notifications"]?.["taskIds"] ?? []).includes(taskId) ? "followed" : NOT_FOUND;
    },
    due: (role, state) => (role === "owner" && state !== "unknown" ? "followed" : NOT_FOUND),
  },
  {
    name: "2025-11-25 tasks/get",
    async knock(asked) {
      return verdict(await inSession(asked, "tasks/get", { taskId: asked.taskId }), (task) => {
        const pending = (task["_meta"]?.["io.modelcontextprotocol/pending-elicitations"] ?? []) as unknown as { elicitationId: string }[];
        return `${String(task["status"])} ${pending.map(({ elicitationId }) => elicitationId.split(":").at(-1)).join(" ")}`.trim();
      });
    },
    due: (role, state) =>
      isSeen(role, state) ? `${state === "failed" ? "failed" : statusTo(role, state)} ${mine(role, state)}`.trim() : NOT_FOUND,
  },
  ...["own", "finance"].flatMap((key): Door[] => [
    {
      name: `2025-11-25 tasks/get that answers ${key}`,
      async knock(asked) {
        const response = { elicitationId: `${asked.taskId}:${key}`, ...answer };
        const params = { taskId: asked.taskId, _meta: { "io.modelcontextprotocol/elicitation-response": response } };
        return verdict(await inSession(asked, "tasks/get", params), () => "accepted");
      },
      due: answering(key, { unknown: "NOT_OPEN" }),
    },
    {
      name: `2025-11-25 tasks/sendInput to ${key}`,
      async knock(asked) {
        const params = { taskId: asked.taskId, elicitationId: `${asked.taskId}:${key}`, ...answer };
        return verdict(await inSession(asked, "tasks/sendInput", params), () => "accepted");
      },
      due: answering(key, { unknown: "NOT_OPEN" }),
    },
  ]),
  {
    name: "2025-11-25 tasks/sendInput without an id",
    async knock(asked) {
      return verdict(await inSession(asked, "tasks/sendInput", { taskId: asked.taskId, ...answer }), () => "accepted");
    },
    due(role, state) {
      if (!isSeen(role, state)) return NOT_FOUND;
      return mine(role, state) === "" ? "NOT_OPEN" : "accepted";
    },
  },
  {
    name: "2025-11-25 tasks/result",
    async knock(asked) {
      // The owner receives the end of the task, which a test below follows.
      if (asked.role === "owner" && !["completed", "failed"].includes(asked.state) && asked.state !== "unknown") return "held";
      return verdict(await inSession(asked, "tasks/result", { taskId: asked.taskId }), () => "result");
    },
    due(role, state) {
      if (!isSeen(role, state)) return NOT_FOUND;
      if (role !== "owner") return NOT_PERMITTED;
      return state === "completed" || state === "failed" ? "result" : "held";
    },
  },
  {
    name: "2025-11-25 tasks/cancel",
    knock: async (asked) => verdict(await inSession(asked, "tasks/cancel", { taskId: asked.taskId }), () => "cancelled"),
    due(role, state) {
      const finished = ["completed", "failed", "cancelled"].includes(state);
      return role === "owner" && finished ? "TASK_FINISHED" : cancelling(role, state);
    },
  },
  {
    name: "GET /api/v1/tasks/<task>",
    knock: async (asked) =>
      await atApi(asked, `/tasks/${asked.taskId}`, ({ status, asks, result, error }) => {
        const keys = (asks as { readonly key: string }[]).map(({ key }) => key).join(" ");
        return `${String(status)} ${keys} ${result ? "result" : ""}${error ? "error" : ""}`.trim();
      }),
    due(role, state) {
      if (!isSeen(role, state)) return NOT_FOUND;
      const isOver = state === "completed" || state === "failed";
      return `${STATES[state]!.status} ${mine(role, state)} ${isOver ? "result" : ""}`.trim();
    },
  },
  {
    name: "GET /api/v1/tasks/<task>/timeline",
    knock: async (asked) => await atApi(asked, `/tasks/${asked.taskId}/timeline`, () => "shown"),
    due(role, state) {
      if (!isSeen(role, state)) return NOT_FOUND;
      return role === "owner" ? "shown" : NOT_PERMITTED;
    },
  },
  {
    name: "POST /api/v1/tasks/<task>/cancel",
    knock: async (asked) => await atApi(asked, `/tasks/${asked.taskId}/cancel`, () => "cancelled", {}),
    due: cancelling,
  },
  ...["own", "finance"].map((key): Door => ({
    name: `POST /api/v1/asks/<task>/${key}`,
    knock: async (asked) => await atApi(asked, `/asks/${asked.taskId}/${key}`, ({ receipt }) => String(receipt), answer),
    due(role, state) {
      if (!isSeen(role, state)) return NOT_FOUND;
      if (mine(role, state) === key) return "accepted";
      if (role === "owner" && STATES[state]!.asks.includes(key)) return "forbidden";
      return "unknown";
    },
  })),
  ...["own", "finance"].flatMap((key): Door[] => {
    /** The receipt of what was done, `seen` for those who may only read the question, `late` once it is closed. */
    const around = (verb: string, body: object, dueOf: (isAsked: boolean) => string): Door => ({
      name: `POST /api/v1/asks/<task>/${key}/${verb}`,
      knock: async (asked) => await atApi(asked, `/asks/${asked.taskId}/${key}/${verb}`, ({ receipt }) => String(receipt), body),
      due(role, state) {
        const isOpen = STATES[state]?.asks.includes(key) === true;
        if (!isSeen(role, state) || !isOpen) return NOT_FOUND;
        if (mine(role, state) === key) return dueOf(true);
        return role === "owner" ? dueOf(false) : NOT_FOUND;
      },
    });
    return [around("claim", {}, (isAsked) => (isAsked ? "claimed" : "forbidden")), around("comments", { text: "Why?" }, () => "commented")];
  }),
  {
    name: "2025-11-25 tasks/list",
    async knock(asked) {
      return verdict(await inSession(asked, "tasks/list", {}), (page) =>
        JSON.stringify(page["tasks"]).includes(asked.taskId) ? "listed" : NOT_FOUND,
      );
    },
    due: (role, state) => (role === "owner" && state !== "unknown" ? "listed" : NOT_FOUND),
  },
];

/** A tool that threw ends its task with a result. */
STATES["failed"] = { asks: [], status: "completed" };

/** All doors lead to one deployment, with a task of its own for each who knocks. */
const shared = closedLater();
let at: Awaited<ReturnType<typeof subject>>;
beforeAll(async () => void (at = await subject(shared)));
afterAll(shared.close);

describe.each(DOORS)("$name", ({ knock, due }) => {
  test.each(STATE_NAMES)("%s", async (state) => {
    const { front, taskIn, services } = at;
    for (const role of ROLES) {
      const taskId = await taskIn(state);
      const before = await services.store.load(taskId);
      const expected = isStranger(role) ? NOT_FOUND : due(role, state);
      expect(`${role}: ${await knock({ front, role, state, taskId })}`).toBe(`${role}: ${expected}`);
      if (["accepted", "claimed", "commented", "cancelled"].includes(expected)) continue;
      // Nothing happened to the task, for any request.
      if (before && state !== "working") expect(await services.store.load(taskId)).toEqual(before);
    }
  });

  test("a stranger gets the same response for another caller's task as for a task that never existed", async () => {
    const { front, taskIn } = at;
    for (const role of ROLES.filter(isStranger)) {
      const [foreign, unknown] = [await taskIn("asks-both"), await taskIn("unknown")];
      const responsesTo = async (taskId: string) => {
        const texts: string[] = [];
        const original = globalThis.fetch;
        globalThis.fetch = async (...request) => {
          const response = await original(...request);
          if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
            texts.push(
              `${response.status} ${(await response.clone().text()).replaceAll(taskId, "<id>").replaceAll(/"id":\d+/g, '"id":0')}`,
            );
          return response;
        };
        try {
          await knock({ front, role, state: "asks-both", taskId });
        } finally {
          globalThis.fetch = original;
        }
        return texts.filter((text) => !text.includes("protocolVersion"));
      };
      expect(await responsesTo(foreign)).toEqual(await responsesTo(unknown));
    }
  });
});

describe("a reply to a question on a stream", () => {
  test("counts only in the session that was asked", async () => {
    const { front } = await subject();
    const client = await openSession(front, { principal: "owner" });
    const asking = await client.stream(front, "tools/call", { name: "asks-both", arguments: {} });
    let asked = await asking.next();
    while (asked.method !== "elicitation/create") asked = await asking.next();
    expect(asked.params).toMatchObject({ message: "Yours?" });
    for (const role of ROLES.toReversed()) {
      const other = await openSession(front, { principal: role });
      expect((await other.reply(front, asked.id, answer)).status).toBe(400);
      const stolen = await fetch(front.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-11-25",
          "mcp-session-id": client.sessionId,
          "x-principal": role,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: { action: "decline" } }),
      });
      expect(`${role} ${stolen.status}`).toBe(`${role} ${role === "owner" ? 202 : 404}`);
    }
    asking.close();
  });
});

describe("a call that is held open", () => {
  test("in a session asks its caller what the caller may answer, waits for the others, and ends with the result", async () => {
    const { front, services } = await subject();
    const client = await openSession(front, { principal: "owner" });
    const asking = await client.stream(front, "tools/call", { name: "asks-both", arguments: {} });
    let asked = await asking.next();
    while (asked.method !== "elicitation/create") asked = await asking.next();
    expect((await client.reply(front, asked.id, answer)).status).toBe(202);
    const taskId = await waitingTask(services);
    expect((await rpc(front, "tasks/get", { taskId }, { principal: "asked" })).result).toMatchObject({ inputRequests: { finance: {} } });
    await rpc(front, "tasks/update", { taskId, inputResponses: { finance: answer } }, { principal: "asked" });
    let last = await asking.next();
    while (last.result === undefined) last = await asking.next();
    expect(last.result).toMatchObject({ content: [{ text: "done" }] });
    asking.close();
  });
});

describe("what the owner reads of a question to others", () => {
  const WAITS = 'Waiting for an answer to "Finance?" from group finance.';

  test("is in the status of the task, in both families and on streams, without the form", async () => {
    const { front, taskIn } = await subject();
    const taskId = await taskIn("asks-both");
    const seen = { statusMessage: WAITS, inputRequests: { own: { params: { message: "Yours?" } } } };
    const { result } = await rpc(front, "tasks/get", { taskId }, { principal: "owner" });
    expect(result).toMatchObject(seen);
    expect(Object.keys(result!["inputRequests"]!)).toEqual(["own"]);
    const listening = await stream(front, "subscriptions/listen", { notifications: { taskIds: [taskId] } }, { principal: "owner" });
    await listening.next();
    const { params } = await listening.next();
    expect(params).toMatchObject({ status: "input_required", ...seen });
    expect(JSON.stringify(params)).not.toContain('finance":');
    const client = await openSession(front, { principal: "owner" });
    const got = (await client.request(front, "tasks/get", { taskId })).messages.at(-1)!.result;
    expect(got).toMatchObject({ status: "input_required", statusMessage: WAITS });
    expect(JSON.stringify(got)).not.toContain(":finance");

    // Once their own is answered nothing is needed from the owner. A person of finance still is asked.
    await rpc(front, "tasks/update", { taskId, inputResponses: { own: answer } }, { principal: "owner" });
    const { params: waiting } = await listening.next();
    expect([waiting!["status"], waiting!["statusMessage"], waiting!["inputRequests"]]).toEqual(["working", WAITS, undefined]);
    listening.close();
    const [still] = (await client.request(front, "tasks/get", { taskId })).messages;
    expect(still!.result).toMatchObject({ status: "working", statusMessage: WAITS });
    const { result: ofFinance } = await rpc(front, "tasks/get", { taskId }, { principal: "asked" });
    expect(ofFinance).toMatchObject({ status: "input_required", inputRequests: { finance: {} } });
  });

  test("is on no stream of the owner's session", async () => {
    const { front, services } = await subject();
    const client = await openSession(front, { principal: "owner" });
    const listening = await client.listen(front);
    const called = await client.request(front, "tools/call", { name: "asks-both", arguments: {}, task: {} });
    const taskId = String(called.messages.at(-1)!.result!["taskId"] ?? called.messages.at(-1)!.result!["task"]?.["taskId"]);
    let asked = await listening.next();
    while (asked.method !== "elicitation/create") asked = await listening.next();
    expect(asked.params).toMatchObject({ message: "Yours?" });
    await rpc(front, "tasks/update", { taskId, inputResponses: { finance: answer } }, { principal: "asked" });
    await client.reply(front, asked.id, answer);
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    await until(async () => listening.text.includes("completed") || (await listening.next()));
    expect(listening.text).not.toContain('Finance?","requestedSchema');
    listening.close();
  });
});

describe("a call without tasks of 2026-07-28", () => {
  test("waits while others are asked, and is retried for the rest if that takes longer than the call timeout", async () => {
    const { fronts, services } = await deploy({
      catalogue: tools,
      fronts: 1,
      times: { callTimeoutMs: 100 },
      authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"])] ?? callerNamed("nobody"),
    });
    const front = fronts[0]!;
    const call = { name: "asks-finance", arguments: {} };
    const first = (await rpc(front, "tools/call", call, { principal: "owner", tasks: false })).result!;
    expect(first).toMatchObject({ resultType: "input_required" });
    expect(first["inputRequests"] ?? {}).toEqual({});
    const taskId = await waitingTask(services);
    const stolen = await rpc(front, "tools/call", { ...call, requestState: first["requestState"] }, { principal: "asked", tasks: false });
    expect(stolen.error).toMatchObject({ data: { code: "REQUEST_STATE_INVALID" } });
    await rpc(front, "tasks/update", { taskId, inputResponses: { finance: answer } }, { principal: "asked" });
    const last = await rpc(front, "tools/call", { ...call, requestState: first["requestState"] }, { principal: "owner", tasks: false });
    expect(last.result).toMatchObject({ content: [{ text: "done" }] });
  });

  test("gets progress with each heartbeat while others are asked, if it has a progress token", async () => {
    const { fronts, services } = await deploy({
      catalogue: tools,
      fronts: 1,
      times: { keepAliveMs: 10 },
      authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"])] ?? callerNamed("nobody"),
    });
    const front = fronts[0]!;
    const call = { name: "asks-finance", arguments: {} };
    const waiting = await stream(front, "tools/call", call, { principal: "owner", tasks: false, meta: { progressToken: "p" } });
    const [first, second] = [await waiting.next(), await waiting.next()];
    expect([first, second]).toMatchObject(Array(2).fill({ method: "notifications/progress", params: { progressToken: "p" } }));
    expect(second.params?.["progress"]).toBeGreaterThan(Number(first.params?.["progress"]));
    await rpc(front, "tasks/update", { taskId: await waitingTask(services), inputResponses: { finance: answer } }, { principal: "asked" });
    expect((await waiting.rest()).at(-1)).toMatchObject({ result: { content: [{ text: "done" }] } });
  });
});

test("an answer that its sender repeats is a duplicate; the same answer of another person is late", async () => {
  const { front, taskIn } = await subject();
  const taskId = await taskIn("asks-finance");
  const update = (role: string, given: object = answer) =>
    rpc(front, "tasks/update", { taskId, inputResponses: { finance: given } }, { principal: role });
  const receipt = async (role: string, given?: object) =>
    verdict(await update(role, given), ({ _meta }) => String(_meta!["parley/receipts"]!["finance"]));
  expect(await receipt("asked")).toBe("accepted");
  expect(await receipt("asked")).toBe("duplicate");
  expect(await receipt("asked", { action: "decline" })).toBe(NOT_FOUND);
  expect(await receipt("owner")).toBe("late");
  expect(await receipt("colleague")).toBe(NOT_FOUND);
});

test("an early reply answers no question to others", async () => {
  const early = defineTool({ name: "early", earlyReplies: true, run: (_args, ctx) => ctx.elicit("finance", finance).then(() => "done") });
  const { fronts, services } = await deploy({ catalogue: catalogue([early]), fronts: 1, authenticate: () => PEOPLE["owner"]! });
  const called = await rpc(fronts[0]!, "tools/call", { name: "early", arguments: {}, inputResponses: { finance: answer } });
  const taskId = String(called.result!["taskId"]);
  await until(async () => (await services.store.load(taskId))?.asks.length === 1);
});

async function waitingTask({ store }: Services): Promise<string> {
  const [waiting] = await store.overdue({ partition: 0, nowMs: Number.MAX_SAFE_INTEGER, limit: 1 });
  if (!waiting) throw new Error("no task waits");
  return waiting.taskId;
}
