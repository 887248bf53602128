/**
 * How somebody must be identified for their answer to count: each door × what a question requires × who answers. The expectations are written out;
 * nothing here uses core's `meets`.
 */
import type { Caller } from "@parley/core";
import { catalogue, defineTool, type AboutOptions } from "@parley/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, closedLater, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import type { Authenticate } from "./front-end/caller.ts";
import { openSession } from "./session-client.fixture.ts";

const PUBLIC = "https://parley.example";

const REQUIRED = {
  nothing: undefined,
  token: "token",
  login: "login",
  recent: { within: "15 minutes" },
  gold: { acr: ["gold", "platinum"] },
  mfa: { amr: ["pwd", "mfa"] },
} as const satisfies { readonly [name: string]: AboutOptions["assurance"] | undefined };
type Required = keyof typeof REQUIRED;
const EACH = Object.keys(REQUIRED) as Required[];

const schema = z.object({ n: z.number().int() });
const asking = catalogue(
  EACH.flatMap((name) => {
    const assurance = REQUIRED[name];
    const asked = { message: "How many?", schema, ...(assurance !== undefined && { assurance }) };
    const run =
      (to: "caller" | { groups: string[] }, quorum?: number) =>
      async (_args: unknown, ctx: Parameters<Parameters<typeof defineTool>[0]["run"]>[1]) =>
        String((await ctx.ask("q", { ...asked, to, ...(quorum !== undefined && { quorum }) })).action);
    return [
      defineTool({ name, run: run("caller") }),
      defineTool({ name: `${name}-of-finance`, run: run({ groups: ["finance"] }) }),
      defineTool({ name: `${name}-of-two`, run: run({ groups: ["finance"] }, 2) }),
      defineTool({
        name: `${name}-key`,
        run: async (_args, ctx) =>
          String((await ctx.secret("q", { message: "The key?", ...(assurance !== undefined && { assurance }) })) !== undefined),
      }),
    ];
  }),
);

const MINUTE = 60_000;
/** What a provider states of a login; `undefined`: the person has not logged in with a browser. */
const LOGINS: { readonly [name: string]: (nowMs: number) => Caller["login"] | undefined } = {
  "by a token": () => undefined,
  "a login of which nothing is stated": () => ({}),
  "a login a moment ago": (nowMs) => ({ atMs: nowMs }),
  "a login 14 minutes ago": (nowMs) => ({ atMs: nowMs - 14 * MINUTE }),
  "a login 16 minutes ago": (nowMs) => ({ atMs: nowMs - 16 * MINUTE }),
  "a login by a clock that is 30 seconds ahead": (nowMs) => ({ atMs: nowMs + MINUTE / 2 }),
  "a login by a clock that is a day ahead": (nowMs) => ({ atMs: nowMs + 1_440 * MINUTE }),
  "a gold login": () => ({ acr: "platinum" }),
  "a silver login": () => ({ acr: "silver" }),
  "a login with two methods": () => ({ amr: ["mfa", "pwd", "otp"] }),
  "a login with one of the methods": () => ({ amr: ["pwd"] }),
};
/** Which of them each requirement takes, on a page. */
const TAKEN: { readonly [required in Required]: readonly string[] } = {
  nothing: Object.keys(LOGINS),
  token: Object.keys(LOGINS),
  login: Object.keys(LOGINS).filter((name) => name !== "by a token"),
  recent: ["a login a moment ago", "a login 14 minutes ago", "a login by a clock that is 30 seconds ahead"],
  gold: ["a gold login"],
  mfa: ["a login with two methods"],
};

const authenticate: Authenticate = ({ headers }) => {
  const name = String(headers["x-principal"] ?? "ann");
  return callerNamed(name, { authenticatedBy: "oidc", groups: name === "ann" ? [] : ["finance"] });
};

async function deployed(more: Pick<Deploy, "atEnd"> = {}) {
  const visit: Authenticate = async (request) => {
    const login = LOGINS[String(request.headers["x-login"] ?? "by a token")]?.(Date.now());
    return { ...(await authenticate(request)), ...(login && { assurance: "login", login }) };
  };
  const again = (required: object, back: string) =>
    `/login?${new URLSearchParams({ back, required: JSON.stringify(required) }).toString()}`;
  const { fronts, services, logged } = await deploy({
    ...more,
    catalogue: asking,
    fronts: 1,
    authenticate,
    publicUrl: PUBLIC,
    visitors: { authenticate: visit, ticket: undefined, again },
  });
  const [front] = fronts as [Front];
  return { front, services, logged };
}

async function subject(tool: string, { principal = "ann", on }: { principal?: string; on?: Awaited<ReturnType<typeof deployed>> } = {}) {
  const { front, services, logged } = on ?? (await deployed());
  const { result } = await rpc(front, "tools/call", { name: tool, arguments: {} }, { principal: "ann" });
  const taskId = String(result!["taskId"]);
  await until(async () => (await services.store.load(taskId))?.status === "input_required");
  return { front, services, logged, taskId, principal };
}
type Subject = Awaited<ReturnType<typeof subject>>;

const given = { action: "accept", content: { n: 2 } };
/** The receipt, and the sentence of a refusal. */
type Became = readonly [receipt: string, sentence: string];

const APPS = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };

async function byTool({ front, taskId, principal }: Subject, name: string, args: object): Promise<Became> {
  const called = await rpc(
    front,
    "tools/call",
    { name, arguments: { taskId, question: "q", answer: given.content, ...args } },
    { tasks: false, capabilities: APPS, principal },
  );
  const [text] = called.result!["content"] as readonly { readonly text: string }[];
  return [called.result!["isError"] === true ? "refused" : "accepted", text!.text];
}

async function inSession({ front, taskId, principal }: Subject, method: string, params: object): Promise<Became> {
  const client = await openSession(front, { principal });
  const { result, error } = (await client.request(front, method, { taskId, ...params })).messages.at(-1)!;
  return [result ? "accepted" : String(error!.data?.["code"]), error?.message ?? ""];
}

async function atApi({ front, principal }: Subject, path: string, body: object) {
  const response = await fetch(`${new URL(front.url).origin}/api/v1${path}`, {
    method: "POST",
    headers: { "x-principal": principal, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as {
    readonly receipt?: string;
    readonly detail?: string;
    readonly receipts?: readonly { readonly receipt: string }[];
  };
}

/** Doors at which nobody logs in, and who answers there: a program with a token, or a model. */
const DOORS: readonly { readonly name: string; readonly by: "token" | "model"; knock(at: Subject): Promise<Became> }[] = [
  {
    name: "2026-07-28 tasks/update",
    by: "token",
    async knock({ front, taskId, principal }) {
      const { result, error } = await rpc(front, "tasks/update", { taskId, inputResponses: { q: given } }, { principal });
      return [result ? String(result["_meta"]?.["parley/receipts"]?.["q"]) : String(error!.data?.["code"]), error?.message ?? ""];
    },
  },
  {
    name: "2025-11-25 tasks/sendInput",
    by: "token",
    knock: async (at) => await inSession(at, "tasks/sendInput", { elicitationId: `${at.taskId}:q`, ...given }),
  },
  {
    name: "2025-11-25 tasks/get with an answer",
    by: "token",
    async knock(at) {
      const answer = { elicitationId: `${at.taskId}:q`, ...given };
      return await inSession(at, "tasks/get", { _meta: { "io.modelcontextprotocol/elicitation-response": answer } });
    },
  },
  {
    name: "REST",
    by: "token",
    async knock(at) {
      const { receipt, detail } = await atApi(at, `/asks/${at.taskId}/q`, given);
      return [String(receipt), detail ?? ""];
    },
  },
  {
    name: "a batch by REST",
    by: "token",
    async knock(at) {
      const { receipts } = await atApi(at, "/asks/batch", { answers: [{ taskId: at.taskId, key: "q", ...given }] });
      return [String(receipts?.[0]?.receipt), ""];
    },
  },
  {
    name: "a preview by REST",
    by: "token",
    async knock(at) {
      const { receipts } = await atApi(at, "/asks/batch", { preview: true, answers: [{ taskId: at.taskId, key: "q", ...given }] });
      return [String(receipts?.[0]?.receipt), ""];
    },
  },
  { name: "the tool for models", by: "model", knock: async (at) => await byTool(at, "parley_asks", {}) },
  { name: "the view in a host", by: "model", knock: async (at) => await byTool(at, "parley_answer", { action: "accept" }) },
];

describe.each(DOORS)("$name", ({ name, by, knock }) => {
  const shared = closedLater();
  let on: Awaited<ReturnType<typeof deployed>>;
  beforeAll(async () => void (on = await deployed(shared)));
  afterAll(shared.close);

  test.each(EACH)("takes an answer that needs %s, or names the door that would", async (required) => {
    const isTaken = required === "nothing" || (required === "token" && by === "token");
    const at = await subject(required, { on });
    const before = await at.services.store.load(at.taskId);
    const [receipt, sentence] = await knock(at);
    if (isTaken) return expect([receipt, sentence]).toEqual([name.startsWith("a preview") ? "valid" : "accepted", expect.any(String)]);
    expect(receipt).toMatch(/^(NOT_PERMITTED|login_required|refused)$/);
    if (!name.includes("by REST")) expect(sentence).toContain(`${PUBLIC}/asks/${at.taskId}/q`);
    expect(await at.services.store.load(at.taskId)).toEqual(before);
  });
});

async function onPage(
  { front, taskId, principal }: Subject,
  login: string,
  fields?: Readonly<Record<string, string>>,
): Promise<{ status: number; text: string }> {
  const headers = { "x-principal": principal, "x-login": login };
  const url = `${new URL(front.url).origin}/asks/${taskId}/q`;
  const page = await (await fetch(url, { headers })).text();
  if (!fields) return { status: 200, text: page };
  // As a form that was shown before, to somebody who could answer then.
  const shown = await (await fetch(url, { headers: { ...headers, "x-login": FITTING } })).text();
  const hidden = [...shown.matchAll(/type="hidden" name="(shown|token)" value="([^"]*)"/g)]
    .slice(0, 2)
    .map(([, name = "", value = ""]): [string, string] => [name, value]);
  const body = new URLSearchParams([...hidden, ...Object.entries(fields)]).toString();
  const response = await fetch(url, { method: "POST", headers: { ...headers, "content-type": "application/x-www-form-urlencoded" }, body });
  return { status: response.status, text: await response.text() };
}

const FITTING = "a login that fits everything";
Object.assign(LOGINS, { [FITTING]: (nowMs: number) => ({ atMs: nowMs, acr: "gold", amr: ["pwd", "mfa"] }) });
for (const required of EACH) Object.assign(TAKEN, { [required]: [...TAKEN[required], FITTING] });

describe("a page", () => {
  test.each(EACH)("takes an answer that needs %s from those who logged in so, and sends all others to their login", async (required) => {
    const on = await deployed();
    for (const login of Object.keys(LOGINS)) {
      const at = await subject(required, { on });
      const isTaken = TAKEN[required].includes(login);
      const { text: page } = await onPage(at, login);
      expect([login, page.includes('name="f0"'), page.includes("Log in again")]).toEqual([login, isTaken, !isTaken]);
      if (!isTaken) expect(page).toContain(`back=%2Fasks%2F${at.taskId}%2Fq`);
      for (const only of ["check", undefined]) {
        const { status, text } = await onPage(at, login, { f0: "2", action: "accept", ...(only && { only }) });
        expect([login, only, status]).toEqual([login, only, isTaken ? (only ? 204 : 200) : 403]);
        if (!isTaken) expect(text).toContain("Log in again");
      }
      expect([login, (await at.services.store.load(at.taskId))?.status === "input_required"]).toEqual([login, !isTaken]);
    }
  });

  test("collects a secret only from those who logged in as it needs, and a decline needs it as well", async () => {
    const at = await subject("recent-key");
    for (const fields of [{ secret: "hunter2", action: "accept" }, { action: "decline" }]) {
      const { status, text } = await onPage(at, "a login 16 minutes ago", fields);
      expect([status, text.includes("Log in again")]).toEqual([403, true]);
    }
    expect((await onPage(at, "a login 16 minutes ago")).text).not.toContain('name="secret"');
    expect((await at.services.store.load(at.taskId))?.status).toBe("input_required");
    expect((await onPage(at, "a login 14 minutes ago", { secret: "hunter2", action: "accept" })).status).toBe(200);
  });

  test("of a question to several counts only the acceptances of those who logged in as it needs", async () => {
    const at = await subject("recent-of-two", { principal: "bob" });
    expect((await onPage(at, "a login 16 minutes ago", { f0: "2", action: "accept" })).status).toBe(403);
    expect((await onPage(at, FITTING, { f0: "2", action: "accept" })).status).toBe(200);
    expect((await onPage({ ...at, principal: "cid" }, "by a token", { f0: "2", action: "accept" })).status).toBe(403);
    expect((await at.services.store.load(at.taskId))?.asks[0]?.accepted?.acceptances).toHaveLength(1);
  });

  test("lets those who must log in first comment and claim", async () => {
    const at = await subject("recent-of-finance", { principal: "bob" });
    expect((await onPage(at, "a login 16 minutes ago", { action: "comment", text: "Why?" })).status).toBe(200);
    expect((await at.services.store.load(at.taskId))?.asks[0]?.thread?.comments).toBe(1);
  });
});

describe("the inbox", () => {
  test("shows the login in place of the form, and answers a batch without what needs another login", async () => {
    const at = await subject("recent-of-finance", { principal: "bob" });
    const get = async (path: string, login: string) =>
      await (await fetch(`${new URL(at.front.url).origin}${path}`, { headers: { "x-principal": "bob", "x-login": login } })).text();
    const id = `${at.taskId}/q`;
    const chosen = `/inbox?${new URLSearchParams({ ask: id }).toString()}`;
    const old = await get(chosen, "a login 16 minutes ago");
    expect([old.includes('name="f0"'), old.includes(`back=${encodeURIComponent(encodeURI(chosen)).slice(0, 20)}`)]).toEqual([false, true]);
    expect(await get(chosen, FITTING)).toContain('name="f0"');
    expect(await get(`/inbox?${new URLSearchParams({ batch: id }).toString()}`, "a login 16 minutes ago")).toContain("needs another login");
  });
});

describe("what a client reads of a question that its person answers elsewhere", () => {
  test.each(["caller", "finance"])("is no form, but where it is answered (%s)", async (of) => {
    const principal = of === "caller" ? "ann" : "bob";
    const at = await subject(of === "caller" ? "recent" : "recent-of-finance", { principal });
    const { result } = await rpc(at.front, "tasks/get", { taskId: at.taskId }, { principal });
    expect(result).not.toHaveProperty("inputRequests.q");
    const sentence = `Waiting for your answer to "How many?": the answer needs a login in a browser, at most 15 minutes ago: answer on the page ${PUBLIC}/asks/${at.taskId}/q, after logging in there.`;
    expect(result!["statusMessage"]).toContain(sentence);
    const client = await openSession(at.front, { principal });
    const read = (await client.request(at.front, "tasks/get", { taskId: at.taskId })).messages.at(-1)!.result!;
    expect(JSON.stringify(read)).toContain(JSON.stringify(sentence).slice(1, -1));
  });

  test("is what it needs, in a list and by itself", async () => {
    const at = await subject("recent-of-finance", { principal: "bob" });
    const get = async (path: string) =>
      (await (await fetch(`${new URL(at.front.url).origin}/api/v1${path}`, { headers: { "x-principal": "bob" } })).json()) as {
        readonly asks?: readonly object[];
      };
    const needs = { assurance: { by: "login", withinSeconds: 900 } };
    expect((await get("/asks")).asks).toMatchObject([needs]);
    expect(await get(`/asks/${at.taskId}/q`)).toMatchObject({ state: "open", ...needs });
  });

  test("is shown to models with the page, and without a way to pass on an answer", async () => {
    const at = await subject("login");
    const listed = await rpc(at.front, "tools/call", { name: "parley_asks", arguments: {} }, { tasks: false, principal: "ann" });
    const told = JSON.stringify(listed.result);
    expect([told.includes("The user answers on the page only."), told.includes(`${PUBLIC}/asks/`)]).toEqual([true, true]);
    const waiting = await rpc(
      at.front,
      "tools/call",
      { name: "parley_task", arguments: { taskId: at.taskId, seen: 0 } },
      { tasks: false, principal: "ann" },
    );
    expect(JSON.stringify(waiting.result)).toContain("Who answers: the user");
    expect(JSON.stringify(waiting.result)).not.toContain("pass on exactly what they said");
  });

  test("keeps a held call waiting, and the answer on the page ends it", async () => {
    const at = await subject("nothing");
    const client = await openSession(at.front, { principal: "ann", capabilities: { elicitation: { form: {}, url: {} } } });
    const held = await client.stream(at.front, "tools/call", { name: "login", arguments: {} });
    const isOfCall = async () => {
      const due = await at.services.store.overdue({ partition: 0, nowMs: Number.MAX_SAFE_INTEGER, limit: 10 });
      const tasks = await Promise.all(due.map(({ taskId }) => at.services.store.load(taskId)));
      return tasks.find((task) => task?.call.name === "login" && task.status === "input_required");
    };
    await until(async () => (await isOfCall()) !== undefined);
    const taskId = (await isOfCall())!.id;
    expect((await onPage({ ...at, taskId }, "a login a moment ago", { f0: "2", action: "accept" })).status).toBe(200);
    let last = await held.next();
    while (last.result === undefined) {
      expect(last.method).not.toBe("elicitation/create");
      last = await held.next();
    }
    expect(last.result).toMatchObject({ content: [{ text: "accept" }] });
    held.close();
  });
});
