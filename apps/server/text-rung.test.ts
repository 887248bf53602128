/** Clients that know nothing but tools: what their model reads while a person is asked, and how it gets to the answer. Both families. */
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type AuditFact, cancelTask, ParleyError } from "@parley/core";
import type { MemoryWakeUps } from "@parley/core/memory";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { type Options, rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import type { Authenticate } from "./front-end/caller.ts";
import { openSession } from "./session-client.fixture.ts";
import { held } from "./tools.fixture.ts";

const size = z.object({ n: z.number().int().min(1).max(20) });
const seats = z.object({ seats: z.number() });

const asking = catalogue([
  defineTool({ name: "echo", input: z.object({ text: z.string() }), run: ({ text }) => text }),
  defineTool({
    name: "dinner",
    async run(_args, ctx) {
      const { n } = await ctx.elicit("size", { message: "How many will come?", schema: size, timeout: "2 days" });
      return `${n} will come`;
    },
  }),
  defineTool({
    name: "two-questions",
    async run(_args, ctx) {
      const one = await ctx.elicit("one", { message: "The first?", schema: size });
      const two = await ctx.elicit("two", { message: "The second?", schema: size });
      return `${one.n} and ${two.n}`;
    },
  }),
  defineTool({
    name: "table",
    output: seats,
    run: async (_args, ctx) => ({ seats: (await ctx.elicit("size", { message: "How many?", schema: size })).n }),
  }),
  defineTool({ name: "sure", run: async (_args, ctx) => String(await ctx.confirm("sure", { message: "Delete all?" })) }),
  defineTool({ name: "vault", run: async (_args, ctx) => ((await ctx.secret("key", { message: "The key?" })) ? "opened" : "") }),
  defineTool({
    name: "wipe",
    annotations: { destructiveHint: true },
    run: async (_args, ctx) => `wiped ${(await ctx.elicit("which", { message: "Which?", schema: z.object({ disk: z.string() }) })).disk}`,
  }),
  defineTool({
    name: "many",
    async run(_args, ctx) {
      await Promise.all(
        ["a", "b", "c", "d", "e"].map((key) =>
          ctx.elicit(key, { message: key.repeat(1_500), context: [{ type: "text", text: key.repeat(1_500) }], schema: size }),
        ),
      );
      return "";
    },
  }),
  defineTool({
    name: "pay",
    run: async (_args, ctx) =>
      (await ctx.elicit("pay", { message: "How much?", schema: size, to: { groups: ["finance"] }, not: "caller" })) ? "paid" : "",
  }),
  defineTool({
    name: "hold",
    run: (_args, ctx) =>
      new Promise<string>((resolve) => {
        held.release = () => resolve("released");
        ctx.signal.addEventListener("abort", () => resolve("stopped"));
      }),
  }),
  defineTool({
    name: "long",
    run: (_args, ctx) => {
      ctx.status("Half of it\nis done.");
      return new Promise<string>((resolve) => (held.release = () => resolve("all of it is done")));
    },
  }),
  defineTool({
    name: "think",
    run: async (_args, ctx) => ((await ctx.sample("thought", { messages: [], maxTokens: 9 })) ? "thought" : ""),
  }),
]);

interface Result {
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: { readonly taskId: string; readonly state: string };
  readonly isError?: boolean;
}

interface ToolsOnly {
  call(name: string, args?: object, at?: Front): Promise<Result>;
  tools(at?: Front): Promise<readonly string[]>;
}

const silent: Options = { tasks: false, capabilities: {} };

/** Clients that declare nothing, one of each family. */
const CLIENTS: { readonly [name: string]: (front: Front, principal?: string) => Promise<ToolsOnly> } = {
  "2026-07-28": async (front, principal) => ({
    async call(name, args = {}, at = front) {
      const { result, error } = await rpc(at, "tools/call", { name, arguments: args }, { ...silent, ...(principal && { principal }) });
      if (!result) throw new Error(error?.message);
      return result as unknown as Result;
    },
    tools: async (at = front) => names((await rpc(at, "tools/list", {}, silent)).result),
  }),
  "2025-11-25": async (front, principal) => {
    const client = await openSession(front, { capabilities: {}, ...(principal && { principal }) });
    const ask = async (at: Front, method: string, params: object) => {
      const { result, error } = (await client.request(at, method, params)).messages.at(-1)!;
      if (!result) throw new Error(error?.message);
      return result;
    };
    return {
      call: async (name, args = {}, at = front) => (await ask(at, "tools/call", { name, arguments: args })) as unknown as Result,
      tools: async (at = front) => names(await ask(at, "tools/list", {})),
    };
  },
};

function names(result: unknown): readonly string[] {
  return (result as { readonly tools: readonly { readonly name: string }[] }).tools.map(({ name }) => name);
}

const textOf = ({ content: [first] }: Result) => first?.text ?? "";

function idIn(result: Result): string {
  return /taskId "([^"]+)"/.exec(textOf(result))?.[1] ?? "";
}

interface Started extends Deployment {
  readonly here: Front;
  readonly there: Front;
  readonly client: ToolsOnly;
}

async function start(family: string, options: Partial<Deploy> = {}, principal?: string): Promise<Started> {
  const deployment = await deploy({ catalogue: asking, ...options });
  const [here, there] = deployment.fronts;
  return { ...deployment, here: here!, there: there!, client: await CLIENTS[family]!(here!, principal) };
}

const FAMILIES = Object.keys(CLIENTS);
const loggedIn: Authenticate = ({ headers }) =>
  callerNamed(String(headers["x-principal"] ?? "ann"), {
    authenticatedBy: "oidc",
    groups: headers["x-principal"] === "bob" ? ["finance"] : [],
  });
const LOGIN = { authenticate: loggedIn, visitors: { authenticate: loggedIn, ticket: undefined }, publicUrl: "https://parley.example" };

describe.each(FAMILIES)("a client of %s that knows tools only", (family) => {
  test("reads what is open, for whom, until when and where, and waits for the result at another front end", async () => {
    const { client, services, there } = await start(family);
    const called = await client.call("dinner");
    const taskId = idIn(called);
    const { asks } = (await services.store.load(taskId))!;
    const until_ = new Date(asks[0]!.deadlineMs).toISOString().slice(0, 16).replace("T", " ");
    expect(textOf(called)).toMatch(/^NOT FINISHED: dinner waits for an answer\./);
    expect(textOf(called)).toContain("Question: How many will come?\nWho answers: the user\n");
    expect(textOf(called)).toContain(`Open until: ${until_} UTC`);
    expect(textOf(called)).toMatch(new RegExp(`Page: http://\\S+/asks/${taskId}/size\\?k=`));
    expect(called.structuredContent).toEqual({ taskId, state: "input_required" });

    const polled = client.call("parley_task", { taskId }, there);
    await until(() => there.waiting > 0);
    expect(textOf(await client.call("parley_asks", { taskId, question: "size", answer: { n: 4 } }))).toBe("The answer was taken.");
    expect(textOf(await polled)).toBe("4 will come");
    expect(textOf(await client.call("parley_task", { taskId }))).toBe("4 will come");
  });

  test("gets the result as ever of a tool that asks nothing", async () => {
    const { client, services } = await start(family);
    expect(textOf(await client.call("echo", { text: "hi" }))).toBe("hi");
    expect((await services.store.list({ principal: "anonymous", limit: 9 })).tasks).toHaveLength(1);
  });

  test("reads the address that opens the page of a question that only a person may answer", async () => {
    const { client } = await start(family);
    const called = await client.call("sure");
    const [, url = ""] = /Page: (\S+)/.exec(textOf(called)) ?? [];
    const page = await (await fetch(url)).text();
    expect(page).toContain("Delete all?");
    expect(textOf(called)).not.toContain("parley_asks");
  });

  test.each([
    ["was answered elsewhere", "4 will come"],
    ["was cancelled with its call", "dinner was cancelled. There is no result."],
  ] as const)("is told on the page and in words that a question %s between the text and the click", async (how, end) => {
    const { client, services } = await start(family);
    const called = await client.call("dinner");
    const taskId = idIn(called);
    const [, address = ""] = /Page: (\S+)/.exec(textOf(called)) ?? [];
    const opened = await (await fetch(address)).text();
    const hidden = [...opened.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name = "", value = ""]): [string, string] => [name, value],
    );
    const answer = async (n: number) => await client.call("parley_asks", { taskId, question: "size", answer: { n } });
    if (how === "was answered elsewhere") await answer(4);
    else await cancelTask(services, { taskId, caller: callerNamed("anonymous", {}) });
    await until(async () => (await services.store.load(taskId))?.asks.length === 0);
    const clicked = await fetch(address, { method: "POST", body: new URLSearchParams([...hidden, ["action", "accept"], ["f0", "5"]]) });
    const [, title] = /<h1>([^<]*)/.exec(await clicked.text()) ?? [];
    expect([clicked.status, title]).toEqual([410, "No longer open"]);
    const passedOn = await answer(5);
    expect([passedOn.isError, textOf(passedOn)]).toEqual([true, "Too late: somebody else has answered, or the question is over."]);
    expect(textOf(await client.call("parley_task", { taskId }))).toBe(end);
  });

  test("is told at once a question that was asked between the text and the poll", async () => {
    const { client, services } = await start(family);
    const called = await client.call("two-questions");
    const [taskId, seen] = [idIn(called), Number(/ and seen (\d+)/.exec(textOf(called))?.[1])];
    await client.call("parley_asks", { taskId, question: "one", answer: { n: 1 } });
    await until(async () => (await services.store.load(taskId))!.asks[0]?.key === "two");
    const polled = await client.call("parley_task", { taskId, seen });
    expect(textOf(polled)).toContain("Question: The second?");
    expect(Number(/ and seen (\d+)/.exec(textOf(polled))?.[1])).toBeGreaterThan(seen);
  });

  test("is told the next question while it waits", async () => {
    const { client, here } = await start(family);
    const taskId = idIn(await client.call("two-questions"));
    const polled = client.call("parley_task", { taskId });
    await until(() => here.waiting > 0);
    await client.call("parley_asks", { taskId, question: "one", answer: { n: 1 } });
    expect(textOf(await polled)).toContain("Question: The second?");
    await client.call("parley_asks", { taskId, question: "two", answer: { n: 2 } });
    expect(textOf(await client.call("parley_task", { taskId }))).toBe("1 and 2");
  });

  test("reads an error where its tool promises a structure, since clients refuse a result without it", async () => {
    const { client } = await start(family);
    const called = await client.call("table");
    expect(called).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^NOT FINISHED/) }] });
    expect(called.structuredContent).toBeUndefined();
    const taskId = idIn(called);
    await client.call("parley_asks", { taskId, question: "size", answer: { n: 3 } });
    expect((await client.call("parley_task", { taskId })).structuredContent).toEqual({ seats: 3 });
  });

  test("reads what is wrong with an answer that does not fit, and the question stays open", async () => {
    const { client } = await start(family);
    const taskId = idIn(await client.call("dinner"));
    const refused = await client.call("parley_asks", { taskId, question: "size", answer: { n: 40 } });
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/not taken: N must be between 1 and 20\. Ask the user again/s) }],
    });
    expect(textOf(await client.call("parley_asks"))).toContain("How many will come?");
    await client.call("parley_asks", { taskId, question: "size", answer: { n: 4 } });
    expect(await client.call("parley_asks", { taskId, question: "size", answer: { n: 5 } })).toMatchObject({ isError: true });
    expect(textOf(await client.call("parley_asks"))).toBe("No question is open for the user.");
  });

  test.each([
    ["sure", "sure", { confirm: true }],
    ["vault", "key", { value: "hunter2" }],
    ["wipe", "which", { disk: "all" }],
  ])("cannot pass on an answer that only a person may give: %s", async (name, question, answer) => {
    const { client, services } = await start(family);
    const taskId = idIn(await client.call(name));
    expect(textOf(await client.call("parley_asks"))).toContain("The user answers on the page only.");
    expect(await client.call("parley_asks", { taskId, question, answer })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("must not pass on") }],
    });
    expect((await services.store.load(taskId))!.asks.map(({ key }) => key)).toEqual([question]);
  });

  test("reads of whom others are asked, with the plain address where people log in, and cannot answer for them", async () => {
    const { client, here, services } = await start(family, LOGIN, "ann");
    const called = await client.call("pay");
    const taskId = idIn(called);
    expect(textOf(called)).toContain("Who answers: group finance, but not from the caller");
    expect(textOf(called)).toContain(`Page: https://parley.example/asks/${taskId}/pay (a person logs in there)`);
    expect(textOf(called)).toContain("Tell the user whose answer is missing.");
    const answer = { taskId, question: "pay", answer: { n: 9 } };
    expect(await client.call("parley_asks", answer)).toMatchObject({ isError: true });
    const bob = await CLIENTS[family]!(here, "bob");
    expect(textOf(await bob.call("parley_asks"))).toContain("The user answers on the page only.");
    expect(await bob.call("parley_task", { taskId })).toMatchObject({ isError: true });
    expect((await services.store.load(taskId))!.asks).toHaveLength(1);
  });

  test("learns nothing of the calls of others", async () => {
    const { client, here } = await start(family, LOGIN, "ann");
    const taskId = idIn(await client.call("dinner"));
    const eve = await CLIENTS[family]!(here, "eve");
    const [foreign, unknown] = [await eve.call("parley_task", { taskId }), await eve.call("parley_task", { taskId: "0-none" })];
    expect(textOf(foreign).replace(taskId, "…")).toBe(textOf(unknown).replace("0-none", "…"));
    const given = { question: "size", answer: { n: 1 } };
    const answers = [await eve.call("parley_asks", { taskId, ...given }), await eve.call("parley_asks", { taskId: "0-none", ...given })];
    expect(textOf(answers[0]!).replace(taskId, "…")).toBe(textOf(answers[1]!).replace("0-none", "…"));
    expect(textOf(await eve.call("parley_asks"))).toBe("No question is open for the user.");
  });

  test("reads three questions of a call, and how many more are open", async () => {
    const { client } = await start(family);
    const text = textOf(await client.call("many"));
    expect(text).toMatch(/^NOT FINISHED: many waits for 5 answers\./);
    // And the sign that something was cut off.
    expect([...text.matchAll(/^Question: (.*?)^Who/gms)].map(([, question = ""]) => question.trim().length)).toEqual([2_001, 2_001, 2_001]);
    expect(text).toContain("\n2 more questions are open.\n");
  });

  test("reads in whose call a question of somebody else asks, by name", async () => {
    const { client, here, services } = await start(family, LOGIN, "ann");
    const taskId = idIn(await client.call("pay"));
    await until(async () => (await services.store.load(taskId))?.status === "input_required");
    const asked = await CLIENTS[family]!(here, "bob");
    expect(textOf(await asked.call("parley_asks"))).toContain("pay asks, in a call of ann:\nQuestion: How much?");
    await client.call("dinner");
    expect(textOf(await client.call("parley_asks"))).toContain("\n\ndinner asks:\nQuestion: ");
  });

  test.each([
    [
      "long",
      /^NOT FINISHED: long is still working\.\nStatus: Half of it is done\.\nDo this now:\n1\. Call parley_task/,
      "all of it is done",
    ],
    ["hold", /^released$/, "released"],
  ])("is told after 50 seconds that a call goes on which says its status, as %s does, and waits for any other", async (name, told, end) => {
    const { client, services } = await start(family);
    const [before, after] = [held.release, vi.spyOn(services.clock, "after")];
    const called = client.call(name);
    const timer = await until(() => held.release !== before && after.mock.calls.find(([ms]) => ms === 50_000));
    const { tasks } = await services.store.list({ principal: "anonymous", limit: 1 });
    const taskId = tasks[0]!.id;
    if (name === "long") await until(async () => (await services.store.load(taskId))?.message !== undefined);
    timer[1]();
    if (name === "long") expect(textOf(await called)).toMatch(told);
    held.release();
    if (name !== "long") expect(textOf(await called)).toMatch(told);
    expect(textOf(await client.call("parley_task", { taskId }))).toBe(end);
  });

  test("gets an error at once for what only a client could answer", async () => {
    const { client } = await start(family);
    expect(await client.call("think")).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("sampling") }] });
  });

  test("is offered the tools, which a deployment renames or removes, and which never hide one of its own", async () => {
    const { client } = await start(family);
    expect((await client.tools()).slice(-2)).toEqual(["parley_task", "parley_asks"]);
    const renamed = await start(family, { ladder: { taskTool: "wait", asksTool: undefined } });
    expect((await renamed.client.tools()).slice(-2)).toEqual(["think", "wait"]);
    const said = textOf(await renamed.client.call("dinner"));
    expect([said.includes("Call wait with taskId"), said.includes("parley_")]).toEqual([true, false]);
    const taken = await start(family, { ladder: { taskTool: "echo" } });
    expect((await taken.client.tools()).filter((name) => name === "echo")).toHaveLength(1);
    expect(textOf(await taken.client.call("echo", { text: "mine" }))).toBe("mine");
  });

  test("takes a place among the held calls while it polls, and is refused when there is none", async () => {
    const { client, here } = await start(family, { limits: { ownWaitsMax: 1 } });
    const taskId = idIn(await client.call("dinner"));
    const polled = client.call("parley_task", { taskId });
    await until(() => here.waiting > 0);
    await expect(client.call("parley_task", { taskId })).rejects.toThrow(/PARLEY_QUOTA_WAITS/);
    await expect(client.call("parley_asks")).rejects.toThrow(/PARLEY_QUOTA_WAITS/);
    // The answer comes from elsewhere: the only place is taken.
    const [answering] = [await rpc(here, "tasks/update", { taskId, inputResponses: { size: { action: "accept", content: { n: 4 } } } })];
    expect(answering.status).toBe(200);
    expect(textOf(await polled)).toBe("4 will come");
  });
});

test("lists for clients that can be asked, or that take tasks, are as they were", async () => {
  const { here } = await start("2026-07-28");
  const of = async (options: Options) => names((await rpc(here, "tools/list", {}, options)).result);
  expect(await of({ tasks: false })).not.toContain("parley_task");
  expect(await of({ capabilities: {} })).not.toContain("parley_task");
  expect(await of(silent)).toContain("parley_task");
  const able = await openSession(here);
  expect(names((await able.request(here, "tools/list")).messages[0]?.result)).not.toContain("parley_task");
});

test("a deployment that forbids handles declares no tasks, and asks during the call", async () => {
  const { here } = await start("2026-07-28", { ladder: { rungs: new Set(["input_required", "held", "text"] as const) } });
  const { capabilities } = (await rpc(here, "server/discover", {})).result!;
  expect(JSON.stringify(capabilities)).not.toContain("io.modelcontextprotocol/tasks");
  expect((await rpc(here, "tools/call", { name: "dinner", arguments: {} })).result).toMatchObject({ resultType: "input_required" });
  const client = await openSession(here);
  expect(client.initialized.result!["capabilities"]).not.toHaveProperty("tasks");
  const call = await client.stream(here, "tools/call", { name: "dinner", arguments: {}, task: {} });
  expect(await call.next()).toMatchObject({ method: "elicitation/create" });
  call.close();
});

test("a deployment that forbids to ask during a call tells its questions in words, also to clients that could be asked", async () => {
  const { here } = await start("2026-07-28", { ladder: { rungs: new Set(["task", "text"] as const) } });
  const called = await rpc(here, "tools/call", { name: "dinner", arguments: {} }, { tasks: false });
  expect(textOf(called.result as unknown as Result)).toMatch(/^NOT FINISHED/);
  const client = await openSession(here);
  const { messages } = await client.request(here, "tools/call", { name: "dinner", arguments: {} });
  expect(messages.map(({ method }) => method)).toEqual([undefined]);
  expect(textOf(messages[0]!.result as unknown as Result)).toMatch(/^NOT FINISHED/);
});

test("a call in words that its client gives up before it is told anything is cancelled in 2026-07-28", async () => {
  const { here, services } = await start("2026-07-28");
  const leave = new AbortController();
  const before = held.release;
  const called = rpc(here, "tools/call", { name: "hold", arguments: {} }, { ...silent, signal: leave.signal });
  await until(() => held.release !== before);
  leave.abort();
  await expect(called).rejects.toThrow();
  await until(async () => (await services.store.list({ principal: "anonymous", limit: 1 })).tasks[0]?.status === "cancelled");
});

test("the SDK's client with checked structures takes every result", async () => {
  const { here } = await start("2025-11-25");
  const client = new ClientV1({ name: "plain", version: "1" }, { capabilities: {} });
  await client.connect(new TransportV1(new URL(here.url)));
  await client.listTools();
  for (const [name, key, content, text] of [
    ["dinner", "size", { n: 4 }, "4 will come"],
    ["table", "size", { n: 3 }, '{"seats":3}'],
  ] as const) {
    const taskId = idIn((await client.callTool({ name, arguments: {} })) as unknown as Result);
    await client.callTool({ name: "parley_asks", arguments: { taskId, question: key, answer: content } });
    expect(textOf((await client.callTool({ name: "parley_task", arguments: { taskId } })) as unknown as Result)).toBe(text);
  }
  await client.close();
});

test.each([
  [{}, 5_000],
  [{ seen: 9 }, 50_000],
])("a poll waits 50 seconds, or 5 for a model that does not say what it has seen: %j", async (seen, timeoutMs) => {
  const { here, services, client } = await start("2026-07-28");
  const taskId = idIn(await client.call("dinner"));
  const after = vi.spyOn(services.clock, "after");
  const polled = client.call("parley_task", { taskId, ...seen });
  const timer = await until(() => after.mock.calls.find(([ms]) => ms === timeoutMs));
  expect(here.waiting).toBe(1);
  timer[1]();
  expect(textOf(await polled)).toContain("Question: How many will come?");
});

test("a model that always says the same old number is answered every five seconds, and is told what is new at once", async () => {
  const { services, client, skip } = await start("2026-07-28");
  const taskId = idIn(await client.call("two-questions"));
  expect(textOf(await client.call("parley_task", { taskId, seen: 0 }))).toContain("Question: The first?");
  skip(5_001);
  const after = vi.spyOn(services.clock, "after");
  const polled = client.call("parley_task", { taskId, seen: 0 });
  const timer = await until(() => after.mock.calls.find(([ms]) => ms === 5_000));
  timer[1]();
  expect(textOf(await polled)).toContain("Question: The first?");
  const again = client.call("parley_task", { taskId, seen: 0 });
  await client.call("parley_asks", { taskId, question: "one", answer: { n: 1 } });
  expect(textOf(await again)).toContain("Question: The second?");
});

test("a call in words of 2026-07-28 that takes too long says so, and its result is there later", async () => {
  const { client } = await start("2026-07-28", { times: { callTimeoutMs: 50 } });
  const before = held.release;
  const called = await client.call("hold");
  expect(textOf(called)).toMatch(/^NOT FINISHED: hold is still working\./);
  await until(() => held.release !== before);
  held.release();
  expect(textOf(await client.call("parley_task", { taskId: idIn(called) }))).toBe("released");
});

test("a client of 2026-07-28 that lends its model is told that its call goes on once Redis has noted that it is asked no more", async () => {
  const { here, services } = await start("2026-07-28");
  const [before, after] = [held.release, vi.spyOn(services.clock, "after")];
  const reveal = vi.spyOn(services.store, "reveal").mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));
  const called = rpc(here, "tools/call", { name: "long", arguments: {} }, { tasks: false, capabilities: { sampling: {} } });
  const timer = await until(() => held.release !== before && after.mock.calls.find(([ms]) => ms === 50_000));
  const { tasks } = await services.store.list({ principal: "anonymous", limit: 1 });
  const taskId = tasks[0]!.id;
  await until(async () => (await services.store.load(taskId))?.message !== undefined);
  timer[1]();
  await until(() => reveal.mock.settledResults.length === 1);
  (services.wakeUps as MemoryWakeUps).changed(taskId);
  expect(idIn((await called).result as unknown as Result)).toBe(taskId);
  held.release();
  expect(reveal.mock.settledResults.map(({ type }) => type)).toEqual(["rejected", "fulfilled"]);
});

test("that a model tried to answer for other people is recorded for auditors", async () => {
  const facts: AuditFact[] = [];
  const { client } = await start("2026-07-28", { ...LOGIN, audit: { note: async (fact) => void facts.push(fact) } }, "ann");
  const taskId = idIn(await client.call("pay"));
  const told = await client.call("parley_asks", { taskId, question: "pay", answer: { n: 1 } });
  expect(textOf(told)).toBe("The question is for other people.");
  const tried = { action: "answer", principal: "ann", taskId, tool: "tool pay", ask: "pay", verdict: "forbidden" };
  expect(facts.filter(({ action }) => action === "answer")).toEqual([expect.objectContaining(tried)]);
});
