/** Clients whose host shows views of servers (MCP Apps) and that can be asked in no other way: what they are offered, told, and may answer. Both families. */
import { gzipSync } from "node:zlib";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { catalogue, defineTool } from "@parley/sdk";
import { ASK_VIEW } from "@parley/web";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import type { Authenticate } from "./front-end/caller.ts";
import { openSession } from "./session-client.fixture.ts";

const URI = "ui://parley/ask";
const MIME_TYPE = "text/html;profile=mcp-app";
const APPS = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [MIME_TYPE] } } };

const size = z.object({ n: z.number().int().min(1).max(20) });
/** A form whose schema has so many characters of JSON. */
function formOf(chars: number) {
  const described = (length: number) => z.object({ n: z.string().describe("d".repeat(length)) });
  const { type, properties, required } = z.toJSONSchema(described(1));
  return described(chars - JSON.stringify({ type, properties, required }).length + 1);
}

const asking = catalogue([
  defineTool({ name: "echo", task: "never", input: z.object({ text: z.string() }), run: ({ text }) => text }),
  defineTool({ name: "own", meta: { ui: { resourceUri: "ui://own/view" } }, run: () => "shown" }),
  defineTool({
    name: "dinner",
    title: "Book dinner",
    async run(_args, ctx) {
      const { n } = await ctx.elicit("size", { message: "How many will come?", schema: size, timeout: "2 days" });
      const { at } = await ctx.elicit("at", { message: "When?", schema: z.object({ at: z.string() }) });
      return `${n} at ${at}`;
    },
  }),
  defineTool({
    name: "table",
    output: z.object({ seats: z.number() }),
    run: async (_args, ctx) => ({ seats: (await ctx.elicit("size", { message: "How many?", schema: size })).n }),
  }),
  defineTool({
    name: "who",
    async run(_args, ctx) {
      await ctx.elicit("n", { message: "How many?", schema: size });
      return String(ctx.answeredBy("n")?.assurance);
    },
  }),
  defineTool({ name: "sure", run: async (_args, ctx) => String(await ctx.confirm("sure", { message: "Delete all?" })) }),
  defineTool({ name: "vault", run: async (_args, ctx) => ((await ctx.secret("key", { message: "The key?" })) ? "opened" : "") }),
  defineTool({
    name: "wipe",
    annotations: { destructiveHint: true },
    run: async (_args, ctx) => `wiped ${(await ctx.elicit("which", { message: "Which?", schema: z.object({ disk: z.string() }) })).disk}`,
  }),
  defineTool({
    name: "pay",
    run: async (_args, ctx) =>
      (await ctx.elicit("pay", { message: "How much?", schema: size, to: { groups: ["finance"] }, not: "caller" })) ? "paid" : "",
  }),
  defineTool({
    name: "forms",
    async run(_args, ctx) {
      await Promise.all([
        ctx.elicit("fits", { message: "f".repeat(4_000), schema: formOf(20_000) }),
        ctx.elicit("long", { message: "l".repeat(4_001), schema: formOf(20_000) }),
        ctx.elicit("large", { message: "Much", schema: formOf(20_001) }),
        ctx.elicit("fourth", { message: "Four", schema: formOf(20_000) }),
      ]);
      return "";
    },
  }),
  defineTool({
    name: "novel",
    run: async (_args, ctx) => String((await ctx.elicit("n", { message: "long ".repeat(2_000), schema: size })).n),
  }),
]);

interface Result {
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: Told;
  readonly isError?: boolean;
  readonly _meta?: { readonly "parley/waiting": Told };
}
interface Told {
  readonly taskId: string;
  readonly seen: number;
  readonly asks: readonly {
    readonly key: string;
    readonly form?: object;
    readonly page?: string;
    readonly who: string;
    readonly question: string;
  }[];
  readonly receipt?: string;
}

interface Host {
  call(name: string, args?: object, at?: Front): Promise<Result>;
  ask(method: string, params?: object): Promise<{ readonly [member: string]: unknown }>;
}

const CLIENTS: { readonly [name: string]: (front: Front, principal?: string) => Promise<Host> } = {
  "2026-07-28": async (front, principal) => {
    const send = async (at: Front, method: string, params: object) => {
      const { result, error } = await rpc(at, method, params, { tasks: false, capabilities: APPS, ...(principal && { principal }) });
      if (!result) throw new Error(error?.message);
      return result;
    };
    return hostOf(front, send);
  },
  "2025-11-25": async (front, principal) => {
    const client = await openSession(front, { capabilities: APPS, ...(principal && { principal }) });
    return hostOf(front, async (at, method, params) => {
      const { result, error } = (await client.request(at, method, params)).messages.at(-1)!;
      if (!result) throw new Error(error?.message);
      return result;
    });
  },
};

function hostOf(front: Front, send: (at: Front, method: string, params: object) => Promise<unknown>): Host {
  return {
    call: async (name, args = {}, at = front) => (await send(at, "tools/call", { name, arguments: args })) as Result,
    ask: async (method, params = {}) => (await send(front, method, params)) as { readonly [member: string]: unknown },
  };
}

const loggedIn: Authenticate = ({ headers }) =>
  callerNamed(String(headers["x-principal"] ?? "ann"), {
    authenticatedBy: "oidc",
    groups: headers["x-principal"] === "bob" ? ["finance"] : [],
  });
const LOGIN = { authenticate: loggedIn, visitors: { authenticate: loggedIn, ticket: undefined }, publicUrl: "https://parley.example" };

async function start(family: string, options: Partial<Deploy> = {}): Promise<Deployment & { host: Host; here: Front; there: Front }> {
  const deployment = await deploy({ catalogue: asking, ...options });
  const [here, there] = deployment.fronts;
  return { ...deployment, here: here!, there: there!, host: await CLIENTS[family]!(here!) };
}

type Listed = {
  readonly name: string;
  readonly _meta?: { readonly ui?: { readonly resourceUri?: string; readonly visibility?: readonly string[] } };
};
const toolsOf = async (host: Host) => (await host.ask("tools/list"))["tools"] as readonly Listed[];

describe.each(Object.keys(CLIENTS))("a client of %s whose host shows views", (family) => {
  test("is offered the view for tools that may ask and have none of their own, and the tools that it calls", async () => {
    const { host } = await start(family);
    const tools = new Map((await toolsOf(host)).map((tool) => [tool.name, tool._meta?.ui]));
    expect(tools.get("dinner")).toEqual({ resourceUri: URI });
    expect(tools.get("echo")).toBeUndefined();
    expect(tools.get("own")).toEqual({ resourceUri: "ui://own/view" });
    expect(tools.get("parley_answer")).toEqual({ visibility: ["app"] });
    expect([...tools.keys()].slice(-3)).toEqual(["parley_task", "parley_asks", "parley_answer"]);
  });

  test("reads the view, which is one small file that may load and call nothing", async () => {
    const { host } = await start(family);
    const resources = (await host.ask("resources/list"))["resources"] as readonly { readonly uri: string; readonly mimeType: string }[];
    expect(resources).toEqual([expect.objectContaining({ uri: URI, mimeType: MIME_TYPE })]);
    const [content] = (await host.ask("resources/read", { uri: URI }))["contents"] as readonly {
      readonly text: string;
      readonly _meta: object;
    }[];
    expect(content).toMatchObject({
      uri: URI,
      mimeType: MIME_TYPE,
      _meta: { ui: { csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] } } },
    });
    expect(gzipSync(content!.text).length).toBeLessThan(60_000);
    expect(content!.text).not.toMatch(/<(link|img|iframe)\b|src=|@import|url\(/);
    expect(content!.text).toMatch(/content="default-src 'none'; script-src 'sha256-[^ ]+'; style-src 'sha256-[^ ]+';/);
  });

  test("is told in words and in the view's data, and answers question by question, at any front end", async () => {
    const { host, there, services } = await start(family);
    const called = await host.call("dinner");
    expect(called.content[0]!.text).toMatch(/^NOT FINISHED: dinner waits for an answer\./);
    expect(called.content[0]!.text).toContain("The user also sees it in the view of this call.");
    const { taskId, seen, asks } = called.structuredContent!;
    expect(called.structuredContent).toMatchObject({
      state: "input_required",
      called: "Book dinner",
      more: 0,
      tools: { answer: "parley_answer", wait: "parley_task" },
    });
    expect(asks).toEqual([
      {
        taskId,
        key: "size",
        question: "How many will come?",
        who: "you",
        deadline: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        page: expect.stringContaining(`/asks/${taskId}/size`),
        form: { schema: expect.objectContaining({ properties: { n: expect.anything() } }) },
      },
    ]);
    // The task is like that of any other client.
    expect((await services.store.load(taskId))!.call).toMatchObject({ hidden: false });
    expect((await services.store.load(taskId))!.call.capabilities).toEqual({});
    const polled = host.call("parley_task", { taskId, seen }, there);
    await until(() => there.waiting > 0);
    const answered = await host.call("parley_answer", { taskId, question: "size", action: "accept", answer: { n: 4 } });
    expect(answered.structuredContent).toEqual({ receipt: "accepted" });
    const next = (await polled).structuredContent!;
    expect(next.asks.map(({ key }) => key)).toEqual(["at"]);
    await host.call("parley_answer", { taskId, question: "at", action: "accept", answer: { at: "noon" } }, there);
    expect((await host.call("parley_task", { taskId, seen: next.seen })).content[0]!.text).toBe("4 at noon");
  });

  test("gives an answer that tells the tool that the host of a model gave it", async () => {
    const { host, services } = await start(family);
    const { taskId } = (await host.call("who")).structuredContent!;
    await host.call("parley_answer", { taskId, question: "n", action: "accept", answer: { n: 4 } });
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    expect(JSON.stringify((await services.store.load(taskId))?.outcome)).toContain('"model"');
  });

  test("is told what is wrong with an answer, by field, and the question stays open", async () => {
    const { host } = await start(family);
    const { taskId } = (await host.call("dinner")).structuredContent!;
    const refused = await host.call("parley_answer", { taskId, question: "size", action: "accept", answer: { n: 40 } });
    expect(refused).toMatchObject({ isError: true, structuredContent: { receipt: "invalid", violations: [{ path: "/content/n" }] } });
    const taken = await host.call("parley_answer", { taskId, question: "size", action: "accept", answer: { n: 4 } });
    expect(taken.structuredContent).toEqual({ receipt: "accepted" });
  });

  test("is told who was first where its answer is late, and the same answer again is acknowledged", async () => {
    const { host } = await start(family);
    const { taskId } = (await host.call("dinner")).structuredContent!;
    const answer = { taskId, question: "size", action: "accept", answer: { n: 4 } };
    await host.call("parley_answer", answer);
    expect((await host.call("parley_answer", answer)).structuredContent).toEqual({ receipt: "duplicate" });
    const late = await host.call("parley_answer", { ...answer, answer: { n: 5 } });
    expect(late).toMatchObject({ isError: true, structuredContent: { receipt: "late", end: { end: "accepted", by: { isCaller: true } } } });
    const never = await host.call("parley_answer", { ...answer, question: "other" });
    expect(never.structuredContent).toEqual({ receipt: "unknown" });
  });

  test("declines", async () => {
    const { host, services } = await start(family);
    const { taskId } = (await host.call("dinner")).structuredContent!;
    expect((await host.call("parley_answer", { taskId, question: "size", action: "decline" })).structuredContent).toEqual({
      receipt: "accepted",
    });
    await until(async () => (await services.store.load(taskId))?.outcome?.type === "result");
    expect((await host.call("parley_task", { taskId })).isError).toBe(true);
  });

  test("gets its data beside the structure that its tool promises", async () => {
    const { host } = await start(family);
    const called = await host.call("table");
    expect(called).toMatchObject({ isError: true, _meta: { "parley/waiting": { asks: [{ key: "size", form: {} }] } } });
    expect(called.structuredContent).toBeUndefined();
  });

  test.each([
    ["sure", "sure", { confirm: true }],
    ["vault", "key", { value: "hunter2" }],
    ["wipe", "which", { disk: "all" }],
  ])("answers on the page only what a model must not answer: %s", async (name, question, answer) => {
    const { host, services } = await start(family);
    const { taskId, asks } = (await host.call(name)).structuredContent!;
    expect(asks[0]).toMatchObject({ key: question, page: expect.stringContaining("/asks/") });
    expect(asks[0]!.form).toBeUndefined();
    for (const action of ["accept", "decline"]) {
      const refused = await host.call("parley_answer", { taskId, question, action, answer });
      expect(refused).toMatchObject({ isError: true, structuredContent: { receipt: "for_page" } });
    }
    expect((await services.store.load(taskId))!.asks.map(({ key }) => key)).toEqual([question]);
  });

  test("sees of whom others are asked, and answers neither for them nor as one of them", async () => {
    const { here, services } = await start(family, LOGIN);
    const [ann, bob] = [await CLIENTS[family]!(here, "ann"), await CLIENTS[family]!(here, "bob")];
    const { taskId, asks } = (await ann.call("pay")).structuredContent!;
    expect(asks).toEqual([
      {
        taskId,
        key: "pay",
        question: "How much?",
        who: "group finance, but not from the caller",
        deadline: expect.any(String),
        page: `https://parley.example/asks/${taskId}/pay`,
      },
    ]);
    const answer = { taskId, question: "pay", action: "accept", answer: { n: 9 } };
    expect((await ann.call("parley_answer", answer)).isError).toBe(true);
    expect((await bob.call("parley_answer", answer)).isError).toBe(true);
    expect((await services.store.load(taskId))!.asks).toHaveLength(1);
  });

  test.each([
    ["nothing", {}],
    ["an id that is no text", { taskId: 7 }],
    ["an id without end", { taskId: "0".repeat(100_000) }],
    ["a question that is no text", { question: { size: 1 } }],
    ["a question that has another name", { question: "__proto__" }],
    ["no action", { action: undefined }],
    ["an action that there is not", { action: "cancel" }],
    ["an answer that is a list", { answer: [4] }],
    ["an answer that is a text", { answer: '{"n":4}' }],
    ["no answer", { answer: undefined }],
    ["a number that is none", { answer: { n: "four" } }],
    ["more than is stored", { answer: { n: 4, more: "x".repeat(300_000) } }],
  ])("that posts garbage is told so, and the question stays open: %s", async (what, garbage) => {
    const { host, services } = await start(family);
    const { taskId } = (await host.call("dinner")).structuredContent!;
    const good = { taskId, question: "size", action: "accept", answer: { n: 4 } };
    const refused = await host.call("parley_answer", what === "nothing" ? {} : { ...good, ...garbage });
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^.{10,300}$/s) }] });
    expect((await services.store.load(taskId))!.asks.map(({ key }) => key)).toEqual(["size"]);
    expect((await host.call("parley_answer", good)).structuredContent).toEqual({ receipt: "accepted" });
  });

  test("answers no question of somebody else, and learns nothing of it", async () => {
    const { here, services } = await start(family, LOGIN);
    const [ann, eve] = [await CLIENTS[family]!(here, "ann"), await CLIENTS[family]!(here, "eve")];
    const { taskId } = (await ann.call("dinner")).structuredContent!;
    const given = { question: "size", action: "accept", answer: { n: 4 } };
    const [foreign, unknown] = [
      await eve.call("parley_answer", { taskId, ...given }),
      await eve.call("parley_answer", { taskId: "0-none", ...given }),
    ];
    expect(foreign.isError).toBe(true);
    expect(JSON.stringify(foreign).replace(taskId, "…")).toBe(JSON.stringify(unknown).replace("0-none", "…"));
    expect((await services.store.load(taskId))!.asks.map(({ key }) => key)).toEqual(["size"]);
  });

  test("is given no more than a host takes, whatever is asked: forms of 20,000 characters and questions of 4,000, three of them", async () => {
    const { host } = await start(family);
    const { structuredContent, content } = await host.call("forms");
    const shown = structuredContent!.asks.map(({ key, form, question }) => [key, form !== undefined, question.length]);
    expect(shown).toEqual([
      ["fits", true, 4_000],
      ["long", false, 4_001],
      ["large", false, 4],
    ]);
    expect(JSON.stringify((structuredContent!.asks[0]!.form as { schema: object }).schema).length).toBe(20_000);
    expect(JSON.stringify(structuredContent).length).toBeLessThan(3 * 25_000);
    expect(content[0]!.text.length).toBeLessThan(8_000);
  });

  test("shows a question that is too long on its page", async () => {
    const { host } = await start(family);
    const [ask] = (await host.call("novel")).structuredContent!.asks;
    expect(ask!.form).toBeUndefined();
    expect(ask!.question.length).toBeLessThan(4_010);
  });

  test("has no form where the deployment takes no answers from models, and cannot answer", async () => {
    const { host } = await start(family, { ladder: { asksTool: undefined } });
    expect((await toolsOf(host)).map(({ name }) => name)).not.toContain("parley_answer");
    const { taskId, asks } = (await host.call("dinner")).structuredContent!;
    expect(asks[0]!.form).toBeUndefined();
    await expect(host.call("parley_answer", { taskId, question: "size", action: "accept", answer: { n: 1 } })).rejects.toThrow(/no tool/);
  });

  test("is told in words alone where the deployment forbids views", async () => {
    const { host } = await start(family, { ladder: { rungs: new Set(["task", "text"] as const) } });
    expect((await host.call("dinner")).structuredContent).not.toHaveProperty("asks");
    expect((await toolsOf(host)).map(({ name }) => name)).not.toContain("parley_answer");
    await expect(host.ask("resources/read", { uri: URI })).rejects.toThrow();
  });
});

test("clients that can be asked otherwise, or show no views, are offered no view", async () => {
  const { here } = await start("2026-07-28");
  const listed = async (capabilities: object, tasks: boolean) =>
    JSON.stringify((await rpc(here, "tools/list", {}, { capabilities, tasks })).result);
  expect(await listed(APPS, false)).toContain(URI);
  expect(await listed(APPS, true)).not.toContain(URI);
  expect(await listed({ ...APPS, elicitation: {} }, false)).not.toContain(URI);
  expect(await listed({ extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] } } }, false)).not.toContain(URI);
  expect(await listed({ extensions: { "io.modelcontextprotocol/ui": {} } }, false)).not.toContain(URI);
});

test.each([
  [
    "1",
    async (url: URL) => {
      const client = new ClientV1({ name: "host", version: "1" }, { capabilities: APPS });
      await client.connect(new TransportV1(url));
      return client;
    },
  ],
  [
    "2",
    async (url: URL) => {
      const client = new ClientV2({ name: "host", version: "1" }, { capabilities: APPS });
      await client.connect(new TransportV2(url));
      return client;
    },
  ],
] as const)("a host with SDK %s, which checks capabilities and structures, gets from the list to the result", async (_name, connected) => {
  const { here } = await start("2025-11-25");
  const client = await connected(new URL(here.url));
  expect(client.getServerCapabilities()).toHaveProperty("resources");
  const { tools } = await client.listTools();
  const table = tools.find(({ name }) => name === "table") as Listed;
  const uri = table._meta!.ui!.resourceUri!;
  expect((await client.readResource({ uri })).contents[0]).toMatchObject({ text: ASK_VIEW, _meta: { ui: { csp: {} } } });
  const called = (await client.callTool({ name: "table", arguments: {} })) as unknown as Result;
  const { taskId, seen } = called._meta!["parley/waiting"];
  await client.callTool({ name: "parley_answer", arguments: { taskId, question: "size", action: "accept", answer: { n: 3 } } });
  expect(await client.callTool({ name: "parley_task", arguments: { taskId, seen } })).toMatchObject({ structuredContent: { seats: 3 } });
  await client.close();
});
