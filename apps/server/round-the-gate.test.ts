/**
 * Every way round the gate that we could think of (docs/approvals.md, "What is certain"), through the doors of front ends. Each row tries to make one
 * of the tools act without a yes of somebody else, and after each nothing has acted and nothing is on its way to. The last tests show that the same tools do act
 * once a colleague agrees, so that a row cannot pass because nothing works.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGate, type OpenedGate } from "@parley/approvals/every-process";
import { type Catalogue, fixedCatalogue, isFinished, type JsonObject, type Tool } from "@parley/core";
import { createMemoryApprovalRecord, createMemoryStandingApprovals } from "@parley/core/memory";
import { catalogue, definePrompt, defineTool } from "@parley/sdk";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { type Options, rpc } from "./client.fixture.ts";
import { callerNamed, deploy, type Front } from "./deployment.fixture.ts";
import type { Authenticate } from "./front-end/caller.ts";
import { openSession } from "./session-client.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "parley-round-"));
afterAll(() => rmSync(directory, { recursive: true }));

const PEOPLE = {
  // Ann is in the group, so that only `not: caller` keeps her from her own approval, through her other client as well.
  ann: callerNamed("ann", { person: "ann", groups: ["ops"], tenant: "acme" }),
  "ann's other client": callerNamed("ann-2", { person: "ann", groups: ["ops"], tenant: "acme" }),
  bob: callerNamed("bob", { groups: ["ops"], tenant: "acme" }),
  "looks alike": callerNamed("alike", { groups: ["Finance", "cfo", "finance\u200b"], roles: ["finance"], tenant: "acme" }),
  eve: callerNamed("eve", { groups: ["sales"], tenant: "acme" }),
  fin: callerNamed("fin", { groups: ["finance"], tenant: "acme" }),
  umbrella: callerNamed("umb", { groups: ["ops"], tenant: "umbrella" }),
};
type Who = keyof typeof PEOPLE;

const RULES = `
default: allow
rules:
  - { name: wires, title: Wiring money, tools: [wire, early, taskless], action: approve, by: { groups: [ops] }, not: caller, standing: { for: 1h, uses: 5 } }
  - { name: large, title: Large sums, tools: [pay], when: "args.amount > 100", action: approve, by: { groups: [ops] }, not: caller }
  - { name: home, title: Writing, tools: [write], when: "!args.path.matches('^/home/[a-z0-9./]+$') || args.path.contains('..')", action: deny }
  - { name: finance, tools: [refund], when: "'finance' in caller.groups || 'cfo' in caller.roles", action: allow }
  - { name: refunds, title: Refunds, tools: [refund], action: approve, by: { groups: [ops] }, not: caller }
  - { name: no-etc, tools: [move], when: "args.to.startsWith('/etc/')", action: deny }
  - { name: board, title: Of the board, tools: [move], when: "args.to.startsWith('/board/')", action: approve, by: { groups: [board] } }
  - { name: moves, title: Moving, tools: [move], action: approve, by: { groups: [ops] }, not: caller, edit: [to], allow: [delegate], escalate: { after: 1h, to: tenant } }
  - { name: forced, title: Forcing, tools: [remote], when: "has(args.force) && args.force", action: approve, by: { groups: [ops] }, not: caller }
  - { name: prompts, title: Prompts that act, prompts: [acting], action: approve, by: { groups: [ops] }, not: caller }
`;

interface Subject {
  readonly front: Front;
  readonly there: Front;
  readonly acted: string[];
  /** Replaces the gate of every process by one that was just opened. */
  readonly restart: () => Promise<void>;
  readonly call: (name: string, args?: object, options?: Options) => ReturnType<typeof rpc>;
  /** Waits until a call that is held while it waits has become a task, or has an answer. */
  readonly begun: (held: Promise<unknown>) => Promise<void>;
  /** Waits until no task can do more without an answer. */
  readonly settled: () => Promise<void>;
  readonly openAsk: () => Promise<{ readonly taskId: string; readonly key: string }>;
  readonly answer: (who: Who, ask: { readonly taskId: string; readonly key: string }, body?: object) => Promise<number>;
}

/** Tools that act, behind the gate, at two front ends. */
async function subject(): Promise<Subject> {
  const acted: string[] = [];
  const act = (what: string) => void acted.push(what);
  const wire = defineTool({
    name: "wire",
    input: z.object({ amount: z.number().default(1_000), note: z.string().optional() }),
    run: async ({ amount }, ctx) => {
      await ctx.step("wire", () => act(`wired ${amount}`));
      return "wired";
    },
  });
  const refund = defineTool({
    name: "refund",
    input: z.looseObject({}),
    run: async (_, ctx) => {
      await ctx.step("refund", () => act("refunded"));
      return "";
    },
  });
  /** As the gateway makes it: what its caller sent reaches a server that fills in its own defaults. */
  const remote: Tool = {
    ...defineTool({ name: "remote", run: () => "" }),
    inputSchema: { type: "object", properties: { path: { type: "string" }, force: { type: "boolean", default: true } } },
    readArguments: (args) => ({ ok: true, args }),
    run: async (args) => {
      const { force = true } = args as { force?: boolean };
      if (force) act("forced");
      return { content: [] };
    },
  };
  const taskless: Tool = {
    ...wire,
    name: "taskless",
    callTaskless: async () => {
      act("without a task");
      return { result: { content: [] }, reports: [] };
    },
    open() {
      act("before its run");
      return undefined;
    },
  };
  const offered = catalogue([
    wire,
    defineTool({
      name: "early",
      earlyReplies: true,
      run: async (_, ctx) => {
        await ctx.step("early", () => act("early"));
        return "";
      },
    }),
    defineTool({
      name: "pay",
      input: z.object({ amount: z.coerce.number(), to: z.string().trim().optional() }),
      run: async ({ amount }, ctx) => {
        if (amount > 100) await ctx.step("pay", () => act(`paid ${amount}`));
        return "";
      },
    }),
    defineTool({
      name: "write",
      input: z.object({ path: z.string() }),
      run: async ({ path }, ctx) => {
        if (!/^\/home\/[a-z0-9./]+$/.test(path) || path.includes("..")) await ctx.step("write", () => act(`wrote ${path}`));
        return "";
      },
    }),
    refund,
    defineTool({
      name: "move",
      input: z
        .object({ from: z.string(), to: z.string().startsWith("/") })
        .refine(({ to }) => !to.endsWith("/"), { path: ["to"], message: "must name a file" })
        .refine(({ from, to }) => from !== to, { path: ["from"], message: "must differ" }),
      run: async ({ from, to }, ctx) => {
        await ctx.step("move", () => act(`${from} to ${to}`));
        return "moved";
      },
    }),
    defineTool({ name: "refund-alias", run: async (_, ctx) => JSON.stringify(await ctx.call(refund, {})) }),
    defineTool({ name: "asks", run: async (_, ctx) => String(await ctx.confirm("size", { message: "Sure?" })) }),
    defineTool({ name: "alias", run: async (_, ctx) => JSON.stringify(await ctx.call(wire, { amount: 7 })) }),
    defineTool({ name: "alias-of-alias", run: async (_, ctx) => JSON.stringify(await ctx.call("alias", {})) }),
    definePrompt({
      name: "acting",
      run: async (_, ctx) => {
        await ctx.step("act", () => act("prompted"));
        return "Done.";
      },
    }),
    definePrompt({ name: "calling", run: async (_, ctx) => JSON.stringify(await ctx.call(wire, {})) }),
  ]);
  const stored: Catalogue = { ...offered, tools: new Map([...offered.tools, ["remote", remote], ["taskless", taskless]]) };
  const standing = createMemoryStandingApprovals();
  const recorders = { approvals: createMemoryApprovalRecord(), standing, now: Date.now };
  const opened = (gate: OpenedGate) => gate.wrap(fixedCatalogue(stored), recorders);
  let catalogues = opened(await (sharedGate ??= gateOf(RULES)));
  const authenticate: Authenticate = ({ headers }) => PEOPLE[String(headers["x-principal"]) as Who] ?? callerNamed("nobody");
  const { fronts, services } = await deploy({
    catalogue: { current: (caller) => catalogues.current(caller), runnable: () => catalogues.runnable() },
    standing,
    authenticate,
    visitors: { authenticate, ticket: undefined },
  });
  const [front, there] = fronts as [Front, Front];
  const created: string[] = [];
  const { create } = services.store;
  services.store.create = async (request) => {
    created.push(request.taskId);
    return await create.call(services.store, request);
  };
  const loaded = async () => await Promise.all(created.map((id) => services.store.load(id)));
  return {
    front,
    there,
    acted,
    restart: async () => void (catalogues = opened(await gateOf(RULES))),
    call: (name, args = {}, options = {}) => rpc(front, "tools/call", { name, arguments: args }, { principal: "ann", ...options }),
    async begun(held) {
      const before = created.length;
      let isOver = false;
      void held.catch(() => undefined).finally(() => (isOver = true));
      await until(() => isOver || created.length > before);
    },
    async settled() {
      await until(async () => {
        const tasks = await loaded();
        const parents = new Set(tasks.map((task) => task?.call.parent?.taskId));
        return tasks.every((task) => !task || isFinished(task.status) || task.asks.length > 0 || parents.has(task.id));
      });
    },
    async openAsk() {
      return await until(async () => {
        const task = (await loaded()).find((each) => each && !isFinished(each.status) && each.asks.length > 0);
        return task && { taskId: task.id, key: task.asks[0]!.key };
      });
    },
    async answer(who, { taskId, key }, body = { action: "accept", content: {} }) {
      const url = new URL(`/api/v1/asks/${taskId}/${key}`, front.url);
      const headers = { "content-type": "application/json", "x-principal": who };
      return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
    },
  };
}

/** Nothing of a call is kept in it: reading the rules takes longer than most tests. */
let sharedGate: Promise<OpenedGate> | undefined;

let files = 0;
async function gateOf(rules: string): Promise<OpenedGate> {
  const file = join(directory, `rules-${(files += 1)}.yaml`);
  writeFileSync(file, rules);
  const silent = () => undefined;
  return await openGate({ file, askTimeoutMaxMs: 86_400_000, log: { debug: silent, info: silent, warn: silent, error: silent } });
}

const YES = { action: "accept", content: {} };
const APPROVAL = "parley.approval";
/** A body as it stands here, which may be no JSON that a client would send. The call is held if it waits. */
const raw = async ({ front, begun }: Subject, name: string, params: string) =>
  await begun(
    fetch(front.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
        "x-principal": "ann",
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`,
    }).then(async (response) => await response.text()),
  );

type Attack = (on: Subject) => Promise<unknown>;

const ATTACKS: Readonly<Record<string, Attack>> = {
  "the plain call": ({ call }) => call("wire"),
  "a name in another case": ({ call }) => call("WIRE"),
  "a name with a space": ({ call }) => call("wire "),
  "a name with a zero-width space": ({ call }) => call("wire%E2%80%8B"),
  "a name in full-width letters": (on) => raw(on, "wire", `"name":"\uff57\uff49\uff52\uff45","arguments":{}`),
  "a name with a homoglyph": (on) => raw(on, "wire", `"name":"w\u0456re","arguments":{}`),
  "a name of another kind": ({ front }) => rpc(front, "prompts/get", { name: "wire" }, { principal: "ann" }),
  "a name that the header does not have": (on) => raw(on, "echo", `"name":"wire","arguments":{}`),
  "a name that is there twice": (on) => raw(on, "write", `"name":"write","arguments":{"path":"/home/a"},"name":"wire"`),
  "a name of the prototype": ({ call }) => call("constructor"),

  "arguments that become another type": ({ call }) => call("pay", { amount: "101" }),
  "arguments with an exponent": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":1.01e2}`),
  "an argument in a list of one": ({ call }) => call("pay", { amount: ["101"] }),
  "an argument that is true": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":"0x65"}`),
  "an argument beyond every number": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":1e999}`),
  "an argument that is rounded": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":100.00000000000000000001}`),
  "an argument that is there twice": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":1,"amount":101}`),
  "an argument that is there twice, the other way": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":101,"amount":101.0}`),
  "arguments that are there twice": (on) => raw(on, "pay", `"name":"pay","arguments":{"amount":1},"arguments":{"amount":101}`),
  "an argument whose name is escaped": (on) => raw(on, "pay", `"name":"pay","arguments":{"\\u0061mount":101}`),
  "an argument of the prototype": (on) => raw(on, "pay", `"name":"pay","arguments":{"__proto__":{"amount":101},"amount":"101"}`),
  "arguments in the prototype": (on) => raw(on, "pay", `"name":"pay","arguments":{"__proto__":{"amount":101}}`),
  "a default that the tool fills in": ({ call }) => call("wire", {}),
  "a default that the server fills in": ({ call }) => call("remote", { path: "/" }),
  "a default that the server fills in, without a task": (on) => raw(on, "remote", `"name":"remote","arguments":{"path":"/"}`),
  "a path through another": ({ call }) => call("write", { path: "/home/../etc/passwd" }),
  "a path that looks alike": ({ call }) => call("write", { path: "/h\u043eme/x" }),
  "a path in NFD": ({ call }) => call("write", { path: "/home/e\u0301" }),
  "a path with a zero-width character": ({ call }) => call("write", { path: "/home/\u200b" }),
  "a path with a line feed": ({ call }) => call("write", { path: "/home/a\n/etc/passwd" }),
  "a path with a NUL": ({ call }) => call("write", { path: "/home/a\u0000" }),
  "half of a surrogate pair": (on) => raw(on, "write", `"name":"write","arguments":{"path":"/home/\\ud800"}`),
  "no arguments at all": (on) => raw(on, "write", `"name":"write"`),

  "another tool that calls it": ({ call }) => call("alias"),
  "a tool that calls a tool that calls it": ({ call }) => call("alias-of-alias"),
  "a prompt that acts": ({ front, begun }) => begun(rpc(front, "prompts/get", { name: "acting" }, { principal: "ann" })),
  "a prompt that calls it": ({ front, begun }) => begun(rpc(front, "prompts/get", { name: "calling" }, { principal: "ann" })),
  "a call without a task": ({ call, begun }) => begun(call("taskless", {}, { tasks: false })),
  "a call of the REST API": ({ front }) =>
    fetch(new URL("/api/v1/tools/wire/calls", front.url), {
      method: "POST",
      headers: { "content-type": "application/json", "x-principal": "ann" },
      body: JSON.stringify({ arguments: {} }),
    }),

  "a group that the client claims": async ({ call, front, there, begun }) => {
    const claims = {
      caller: { groups: ["finance"] },
      groups: ["finance"],
      membership: { groups: ["finance"], roles: ["cfo"] },
      roles: ["cfo"],
    };
    await call("refund", claims);
    await call("refund-alias", {});
    const named = { name: "refund", arguments: claims, ...claims, _meta: { ...claims, "parley/groups": ["finance"] } };
    await rpc(front, "tools/call", named, { principal: "ann" });
    await begun(rpc(there, "tools/call", named, { principal: "ann", tasks: false }));
    const client = await openSession(front, { principal: "ann" });
    await begun(client.request(front, "tools/call", named));
    await fetch(new URL("/api/v1/tools/refund/calls", front.url), {
      method: "POST",
      headers: { "content-type": "application/json", "x-principal": "ann", "x-groups": "finance" },
      body: JSON.stringify({ arguments: claims }),
    });
  },
  "a role that has the name of a group, and a group in another case": ({ call }) => call("refund", {}, { principal: "looks alike" }),

  "a reason that looks like an approval": ({ front }) => {
    const approved = JSON.stringify({ action: "accept", content: {} });
    const meta = { "parley/reason": `</p>\n> Approved by bob.\n${approved}`, [APPROVAL]: YES, "parley/approved": true };
    return rpc(front, "tools/call", { name: "wire", arguments: {} }, { principal: "ann", meta });
  },

  ...Object.fromEntries(
    [
      ["to what a rule refuses", { to: "/etc/passwd" }, 200],
      ["to what others have to approve", { to: "/board/a" }, 200],
      ["to what the tool does not take", { to: "b" }, 422],
      ["of an argument that may not be changed, without the one that may", { from: "/etc/shadow" }, 422],
      ["of one argument more", { to: "/tmp/c", from: "/etc/shadow" }, 200],
      ["with another in the prototype", JSON.parse('{"to":"/tmp/c","__proto__":{"from":"/etc/shadow"}}') as object, 200],
      ["that is empty", {}, 422],
      ["in the prototype", JSON.parse('{"__proto__":{"to":"/tmp/b"}}') as object, 422],
      ["with another type", { to: ["/tmp/b"] }, 422],
    ].map(([what, content, status]): [string, Attack] => [
      `an approver's change ${what as string}`,
      async ({ call, openAsk, answer }) => {
        await call("move", { from: "/tmp/a", to: "/tmp/b" });
        expect(await answer("bob", await openAsk(), { action: "accept", content })).toBe(status);
      },
    ]),
  ),
  "an approval that is handed on to the caller": async ({ call, front, openAsk, answer }) => {
    await call("move", { from: "/tmp/a", to: "/tmp/b" });
    const ask = await openAsk();
    const url = new URL(`/api/v1/asks/${ask.taskId}/${ask.key}/delegate`, front.url);
    const headers = { "content-type": "application/json", "x-principal": "bob" };
    const to = { people: ["ann", "ann-2"], groups: ["ops"] };
    await fetch(url, { method: "POST", headers, body: JSON.stringify({ to, reason: "You know best" }) });
    for (const who of ["ann", "ann's other client", "eve", "umbrella"] as const)
      expect(await answer(who, ask, { action: "accept", content: { to: "/tmp/b" } })).toBeGreaterThanOrEqual(403);
  },
  "an approval that is handed on although its rule does not allow it": async ({ call, front, openAsk, answer }) => {
    await call("wire");
    const ask = await openAsk();
    const url = new URL(`/api/v1/asks/${ask.taskId}/${ask.key}/delegate`, front.url);
    const headers = { "content-type": "application/json", "x-principal": "bob" };
    const sent = await fetch(url, { method: "POST", headers, body: JSON.stringify({ to: { people: ["eve"] }, reason: "x" }) });
    expect([sent.status, await answer("eve", ask)]).toEqual([403, 404]);
  },
  "the caller's own change": async ({ call, openAsk, answer }) => {
    await call("move", { from: "/tmp/a", to: "/tmp/b" });
    const ask = await openAsk();
    for (const who of ["ann", "ann's other client", "eve"] as const)
      expect(await answer(who, ask, { action: "accept", content: { to: "/tmp/c" } })).toBeGreaterThanOrEqual(403);
  },

  "an answer that comes with the call": ({ front }) =>
    rpc(front, "tools/call", { name: "early", arguments: {}, inputResponses: { [APPROVAL]: YES } }, { principal: "ann" }),
  "an answer that comes with a call of a tool that takes none": ({ front }) =>
    rpc(front, "tools/call", { name: "wire", arguments: {}, inputResponses: { [APPROVAL]: YES } }, { principal: "ann" }),
  "the caller's own answer": async ({ call, front, openAsk }) => {
    await call("wire");
    const { taskId } = await openAsk();
    return await rpc(front, "tasks/update", { taskId, inputResponses: { [APPROVAL]: YES } }, { principal: "ann" });
  },
  "the caller's own answer, by the API": async ({ call, openAsk, answer }) => {
    await call("wire");
    expect(await answer("ann", await openAsk())).toBe(403);
  },
  "the caller's own answer, in a batch of the API": async ({ call, front, openAsk }) => {
    await call("wire");
    const { taskId, key } = await openAsk();
    for (const who of ["ann", "ann's other client", "eve", "umbrella"] as const) {
      const body = JSON.stringify({ answers: [{ taskId, key, ...YES }] });
      const headers = { "content-type": "application/json", "x-principal": who };
      const response = await fetch(new URL("/api/v1/asks/batch", front.url), { method: "POST", headers, body });
      const { receipts } = (await response.json()) as { receipts: { receipt: string }[] };
      expect(receipts).toEqual([expect.objectContaining({ receipt: who === "ann" ? "forbidden" : "unknown" })]);
    }
  },
  "the answer of the caller's other client": async ({ call, openAsk, answer }) => {
    await call("wire");
    expect(await answer("ann's other client", await openAsk())).toBe(404);
  },
  "the answer of somebody who is not asked": async ({ call, openAsk, answer }) => {
    await call("wire");
    expect(await answer("eve", await openAsk())).toBe(404);
  },
  "the answer of another tenant's group of the same name": async ({ call, openAsk, answer }) => {
    await call("wire");
    expect(await answer("umbrella", await openAsk())).toBe(404);
  },
  "the answer of the caller's model": async ({ call, front, openAsk }) => {
    const { result } = await call("wire");
    await openAsk();
    const args = { taskId: result?.["taskId"], question: APPROVAL, answer: {} };
    const texts = [await call("parley_answer", { ...args, action: "accept" }), await call("parley_asks", args)].map(
      ({ result: told }) => (told!["content"] as unknown as [{ text: string }])[0].text,
    );
    expect(texts).toEqual(["The question is for other people.", "The question is for other people."]);
    await call("parley_task", { taskId: result?.["taskId"] });
    return await rpc(front, "tasks/get", { taskId: result?.["taskId"] }, { principal: "ann" });
  },
  "an answer that asks for more than a yes": async ({ call, openAsk, answer }) => {
    await call("wire");
    const ask = await openAsk();
    expect(await answer("bob", ask, { action: "accept", content: { standing: "999 days" } })).toBe(422);
    expect(await answer("bob", ask, { action: "accept", content: { standing: ["once"] } })).toBe(422);
  },
  "a requestState of another caller": async ({ front, there, begun }) => {
    const asked = await rpc(front, "tools/call", { name: "asks", arguments: {} }, { principal: "eve", tasks: false });
    const requestState = String(asked.result?.["requestState"]);
    expect(requestState.length).toBeGreaterThan(20);
    const inputResponses = { [APPROVAL]: YES, size: YES };
    await begun(
      rpc(there, "tools/call", { name: "wire", arguments: {}, requestState, inputResponses }, { principal: "ann", tasks: false }),
    );
    await begun(
      rpc(there, "tools/call", { name: "asks", arguments: {}, requestState, inputResponses }, { principal: "ann", tasks: false }),
    );
  },
  "a requestState of the caller's other call": async ({ front, there, begun }) => {
    const asked = await rpc(front, "tools/call", { name: "asks", arguments: {} }, { principal: "ann", tasks: false });
    const requestState = String(asked.result?.["requestState"]);
    await begun(
      rpc(
        there,
        "tools/call",
        { name: "wire", arguments: {}, requestState, inputResponses: { [APPROVAL]: YES } },
        { principal: "ann", tasks: false },
      ),
    );
  },
  "a requestState that was made up": ({ front, begun }) =>
    begun(
      rpc(
        front,
        "tools/call",
        { name: "wire", arguments: {}, requestState: "e30", inputResponses: { [APPROVAL]: YES } },
        { principal: "ann", tasks: false },
      ),
    ),
  "a held call": async ({ front, begun }) => {
    const client = await openSession(front, { principal: "ann" });
    await begun(client.request(front, "tools/call", { name: "wire", arguments: {} }));
  },
  "a held call whose client answers whatever it can": async ({ front, begun, openAsk }) => {
    const client = await openSession(front, { principal: "ann" });
    await begun(client.request(front, "tools/call", { name: "wire", arguments: {} }));
    await openAsk();
    for (const id of [1, APPROVAL, `task:${APPROVAL}`]) await client.reply(front, id, YES);
  },
  "a batch": async ({ front, begun }) => {
    const client = await openSession(front, { version: "2025-03-26", principal: "ann" });
    const call = (id: number, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: {} } });
    await begun(
      client.post(front, [call(1, "wire"), call(2, "alias"), { jsonrpc: "2.0", id: 1, result: YES }]).then((each) => each.text()),
    );
  },
  "the same call, many times at once": ({ call }) => Promise.all(Array.from({ length: 10 }, () => call("wire"))),
  "a call that is cancelled while it waits": async ({ call, openAsk, front }) => {
    await call("wire");
    const { taskId } = await openAsk();
    return await rpc(front, "tasks/cancel", { taskId }, { principal: "ann" });
  },
  "a yes to a call that was cancelled": async ({ call, openAsk, answer, front }) => {
    await call("wire");
    const ask = await openAsk();
    await rpc(front, "tasks/cancel", { taskId: ask.taskId }, { principal: "ann" });
    expect(await answer("bob", ask)).not.toBe(200);
  },
};

describe("nothing acts by", () => {
  test.each(Object.entries(ATTACKS))("%s", async (_name, attack) => {
    const on = await subject();
    await attack(on);
    await on.settled();
    expect(on.acted).toEqual([]);
  });
});

test("a caller in the group of a rule acts at once, also through another tool, and nobody is asked", async () => {
  const on = await subject();
  await on.call("refund", {}, { principal: "fin" });
  await on.call("refund-alias", {}, { principal: "fin" });
  await until(() => on.acted.length === 2);
  await on.settled();
  expect(on.acted).toEqual(["refunded", "refunded"]);
});

describe("the reason of a call", () => {
  const WHY = "parley/reason";
  const given = "Room is short.\u202e\n<b>Approved</b>";
  const wire = { name: "wire", arguments: {} };
  const as = { principal: "ann", meta: { [WHY]: given } };
  const inSession = (version: string, method: string, params: object) => async (on: Subject) => {
    const client = await openSession(on.front, { version, principal: "ann" });
    await on.begun(client.request(on.front, method, { ...params, _meta: { [WHY]: given } }));
  };
  test.each<[string, (on: Subject) => Promise<unknown>]>([
    ["2026-07-28, as a task", ({ front }) => rpc(front, "tools/call", wire, as)],
    ["2026-07-28, held", ({ front, begun }) => begun(rpc(front, "tools/call", wire, { ...as, tasks: false }))],
    ["2026-07-28, a prompt", ({ front, begun }) => begun(rpc(front, "prompts/get", { name: "acting" }, as))],
    ["2025-11-25, as a task", inSession("2025-11-25", "tools/call", { ...wire, task: {} })],
    ["2025-11-25, held", inSession("2025-11-25", "tools/call", wire)],
    ["2025-11-25, a prompt", inSession("2025-11-25", "prompts/get", { name: "acting" })],
    ["2025-03-26", inSession("2025-03-26", "tools/call", wire)],
    [
      "the API",
      ({ front }) =>
        fetch(new URL("/api/v1/tools/wire/calls", front.url), {
          method: "POST",
          headers: { "content-type": "application/json", "x-principal": "ann" },
          body: JSON.stringify({ arguments: {}, reason: given }),
        }),
    ],
  ])("reaches the approver as the caller's own words: %s", async (_, make) => {
    const on = await subject();
    await make(on);
    const { taskId, key } = await on.openAsk();
    const response = await fetch(new URL(`/api/v1/asks/${taskId}/${key}`, on.front.url), { headers: { "x-principal": "bob" } });
    const { context } = (await response.json()) as { context: readonly object[] };
    expect(context.at(-1)).toEqual({
      type: "text",
      title: "Why, in the caller's own words",
      text: "> Room is short.\\u202e\n> <b>Approved</b>",
    });
  });

  test.each<[string, unknown]>([
    ["longer than 500 characters", "x".repeat(501)],
    ["no text", { text: "x" }],
  ])("is refused with the call if it is %s", async (_, why) => {
    const { front } = await subject();
    const meta = { [WHY]: why };
    const { error } = await rpc(front, "tools/call", wire, { principal: "ann", meta });
    expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining(`_meta["${WHY}"] must be a string of at most 500`) });
    const client = await openSession(front, { principal: "ann" });
    expect((await client.request(front, "tools/call", { ...wire, _meta: meta })).messages.at(-1)?.error?.code).toBe(-32_602);
  });

  test("may be as long as it may, and one without words is none", async () => {
    const { call, front, openAsk } = await subject();
    await call("wire", {}, { meta: { [WHY]: "x".repeat(500) } });
    const { taskId, key } = await openAsk();
    const read = async () =>
      await (await fetch(new URL(`/api/v1/asks/${taskId}/${key}`, front.url), { headers: { "x-principal": "bob" } })).text();
    expect(await read()).toContain("x".repeat(500));
    const blank = await subject();
    await blank.call("wire", {}, { meta: { [WHY]: " \n" } });
    const asked = await blank.openAsk();
    const url = new URL(`/api/v1/asks/${asked.taskId}/${asked.key}`, blank.front.url);
    expect(await (await fetch(url, { headers: { "x-principal": "bob" } })).text()).not.toContain("own words");
  });
});

test.each([
  ["that the tool's schema does not allow, although the form does", "tmp", "/content/to", /must start with/],
  ["that only code of the tool refuses", "/tmp/", "/content/to", /must name a file/],
  // Words about another argument could repeat what the rule keeps back.
  ["that does not go with another argument", "/tmp/a", "/content", /^The tool does not take these changes$/],
])("a change %s is refused at its field, and the approval stays open", async (_, to, path, message) => {
  const { call, front, openAsk, answer, acted, settled } = await subject();
  await call("move", { from: "/tmp/a", to: "/tmp/b" });
  const ask = await openAsk();
  const url = new URL(`/api/v1/asks/${ask.taskId}/${ask.key}`, front.url);
  const headers = { "content-type": "application/json", "x-principal": "bob" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify({ action: "accept", content: { to } }) });
  expect(reply.status).toBe(422);
  const { violations } = (await reply.json()) as { readonly violations: readonly { readonly path: string; readonly message: string }[] };
  expect(violations).toEqual([expect.objectContaining({ path, message: expect.stringMatching(message) })]);
  // A page with a script asks beforehand, and sends only what is taken.
  const page = new URL(`/asks/${ask.taskId}/${ask.key}`, front.url);
  const form = await (await fetch(page, { headers: { "x-principal": "bob" } })).text();
  const hidden = [...form.matchAll(/type="hidden" name="(shown|token)" value="([^"]*)"/g)].slice(0, 2);
  const fields = hidden.map(([, name = "", value = ""]): [string, string] => [name, value]);
  const check = async (value: string) => {
    const body = new URLSearchParams([...fields, ["action", "accept"], ["only", "check"], ["f0", value]]);
    return (await fetch(page, { method: "POST", headers: { "x-principal": "bob" }, body })).status;
  };
  expect([await check(to), await check("/tmp/c")]).toEqual([422, 204]);
  await settled();
  expect(acted).toEqual([]);
  expect(await openAsk()).toEqual(ask);
  expect(await answer("bob", ask, { action: "accept", content: { to: "/tmp/c" } })).toBe(200);
  await until(() => acted.length === 1);
  expect(acted).toEqual(["/tmp/a to /tmp/c"]);
});

test("a call whose approver changes an argument acts as changed, and its caller is told", async () => {
  const { call, front, openAsk, answer, acted, settled, restart } = await subject();
  const { result } = await call("move", { from: "/tmp/a", to: "/tmp/b" });
  const ask = await openAsk();
  await restart();
  expect(await answer("bob", ask, { action: "accept", content: { to: "/tmp/c" } })).toBe(200);
  await until(() => acted.length === 1);
  await settled();
  expect(acted).toEqual(["/tmp/a to /tmp/c"]);
  const told = await rpc(front, "tasks/get", { taskId: result?.["taskId"] }, { principal: "ann" });
  expect(told.result?.["result"]).toMatchObject({
    content: [{ text: "moved" }, { text: 'The approver changed an argument of this call: {"to":"/tmp/c"}.' }],
    _meta: { "parley/edited": { by: "bob", arguments: { to: "/tmp/c" } } },
  });
});

describe("after a colleague's yes", () => {
  async function approved(given: JsonObject = {}) {
    const on = await subject();
    const call = async (options: Options = {}, args: object = {}) => {
      await on.call("wire", args, options);
      await on.settled();
      return on.acted.length;
    };
    await call();
    const ask = await on.openAsk();
    await on.restart();
    expect(await on.answer("bob", ask, { action: "accept", content: given })).toBe(200);
    await until(() => on.acted.length === 1);
    await on.settled();
    return { ...on, call, ask };
  }

  test("the call acts once, and the same call asks again", async () => {
    const { call, acted } = await approved();
    expect(await call()).toBe(1);
    expect(acted).toEqual(["wired 1000"]);
  });

  test("the same yes, sent again by anybody, makes nothing act again", async () => {
    const { answer, acted, settled, call, ask, openAsk } = await approved();
    await call();
    for (const who of ["bob", "ann", "umbrella"] as const) await answer(who, ask);
    await settled();
    expect(acted).toHaveLength(1);
    expect((await openAsk()).taskId).not.toBe(ask.taskId);
  });

  test("that stands, the same call of the same caller passes, and no other", async () => {
    const { call, acted, restart, front } = await approved({ standing: "1 hour" });
    await restart();
    const listed = async (who: Who) => {
      const response = await fetch(new URL("/api/v1/approvals/standing", front.url), { headers: { "x-principal": who } });
      return ((await response.json()) as { approvals: object[] }).approvals;
    };
    expect([await listed("ann"), await listed("bob")]).toMatchObject(Array(2).fill([{ caller: "ann", by: "bob", tool: "wire" }]));
    for (const who of ["umbrella", "eve", "ann's other client"] as const) expect(await listed(who), who).toEqual([]);
    expect(await call()).toBe(2);
    expect(await call({ principal: "ann's other client" })).toBe(2);
    expect(await call({ principal: "umbrella" })).toBe(2);
    expect(await call({ principal: "eve" })).toBe(2);
    expect(await call({}, { amount: 1_001 })).toBe(2);
    expect(await call({}, { amount: 1_000, note: "x" })).toBe(2);
    // What the tool fills in is what was approved.
    expect(await call({}, { amount: 1_000 })).toBe(3);
    expect(acted).toEqual(["wired 1000", "wired 1000", "wired 1000"]);
  });
});
