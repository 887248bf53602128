/**
 * Servers that know nothing of approvals, behind rules: reads pass, moves wait for a colleague, and what nobody may do is refused. Two front ends
 * behind a proxy, two workers, official clients of every dialect, and every worker killed while a call waits.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rpc } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { createClient } from "../../bench/client.ts";
import { tasks2025, tasks2026 } from "../dialects/clients/ext-tasks.ts";
import { blocking, experimentalTasks } from "../dialects/clients/sdk-v1.ts";
import { blockingV2, inputRequired } from "../dialects/clients/sdk-v2.ts";
import { toolsOnly } from "../dialects/clients/tools-only.ts";
import type { Dialect, Told } from "../dialects/dialect.ts";
import { openStored } from "../dialects/end-state.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { keysOf, openLook } from "../support/look.ts";
import { logged } from "../support/processes.ts";
import { startProxy } from "../support/proxy.ts";
import { until } from "../support/until.ts";
import { writeUpstreams } from "../support/upstream.ts";

const PUBLIC_URL = "http://parley.example";
const SERVERS = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
const FILESYSTEM = join(SERVERS, "server-filesystem/dist/index.js");
const EVERYTHING = join(SERVERS, "server-everything/dist/index.js");
const RULES = `
default: deny
rules:
  - { name: etc, title: Writing to etc, tools: [files_write_file], when: "args.path.contains('/etc/')", action: deny, reason: Nobody writes to etc. }
  - { name: moves, title: Moving files, tools: [files_move_file], action: approve, by: { groups: [operations] }, not: caller, diff: caller, standing: { for: 1h, uses: 1 } }
  - { name: lists, title: Listing, tools: [files_list_directory], action: approve, by: { groups: [operations] }, not: caller, tests: { share: 0.2, change: [{ path: / }] } }
  - { name: sums, title: Adding, tools: [all_get-sum], action: approve, by: { groups: [operations] }, not: caller }
  - { name: environment, title: Reading the environment, tools: [all_get-env], action: deny, reason: It has secrets. }
  - { name: misspelt, tools: [file_move], action: deny }
  - { name: rest, tools: [files_*, all_echo], action: allow }
`;

let directory: string;
let files: string;
let issuer: Issuer;
let deployment: Deployment;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), "parley-approvals-")));
  files = await realpath(await mkdtemp(join(tmpdir(), "parley-approved-")));
  issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
  const upstreams = await writeUpstreams(directory, [
    { name: "files", command: process.execPath, args: [FILESYSTEM, files] },
    { name: "all", command: process.execPath, args: [EVERYTHING, "stdio"] },
  ]);
  const rules = join(directory, "rules.yaml");
  await writeFile(rules, RULES);
  deployment = await startDeployment({
    env: { PARLEY_UPSTREAMS: upstreams, PARLEY_RULES: rules, PARLEY_OUTBOX: "true" },
    frontEndEnv: {
      PARLEY_AUTH: "required",
      PARLEY_AUTH_ISSUERS: issuer.url,
      PARLEY_AUTH_GROUPS_CLAIM: "groups",
      PARLEY_PUBLIC_URL: PUBLIC_URL,
    },
  });
  for (const [sub, groups] of Object.entries({ ann: ["operations"], bob: ["operations"], eve: ["sales"] })) {
    tokens[sub] = await issuer.token({ sub, groups, scope: "tools:call tasks:read asks:answer" });
  }
  tokens["operator"] = await issuer.token({ sub: "operator", scope: "admin:read" });
  const client = createClient(deployment.url, 1, tokens["ann"]);
  await until(async () => (await client.call("files_list_allowed_directories", {})).taskId);
  client.close();
});

afterAll(async () => {
  await deployment?.close();
  await issuer?.close();
  for (const each of [directory, files]) await rm(each, { recursive: true, force: true });
});

const headers = (who: string) => ({ authorization: `Bearer ${tokens[who]}`, "content-type": "application/json" });
const api = (path: string) => new URL(`/api/v1/asks${path}`, deployment.url);

interface Listed {
  readonly asks: readonly { readonly taskId: string; readonly key: string; readonly tool: string }[];
}

async function asksOf(who: string): Promise<Listed["asks"]> {
  const response = await fetch(api("?owner=others"), { headers: headers(who) });
  return ((await response.json()) as Listed).asks;
}

async function reply(who: string, { taskId, key }: Listed["asks"][number], action: string, content = {}): Promise<number> {
  const body = JSON.stringify({ action, ...(action === "accept" && { content }) });
  return (await fetch(api(`/${taskId}/${key}`), { method: "POST", headers: headers(who), body })).status;
}

/** What a person hears of approvals from the beginning on, without the first word. */
async function approvalsHeardBy(who: string): Promise<readonly string[]> {
  const front = { url: deployment.url } as Front;
  const all = ["asked", "given", "refused", "expired", "withdrawn", "spent", "void"].map(async (type) => {
    const params = { name: `approval.${type}`, cursor: "1.0-0" };
    const { result } = await rpc(front, "events/poll", params, { headers: { authorization: `Bearer ${tokens[who]}` } });
    return (result as unknown as { events: readonly object[] }).events.map(() => type);
  });
  return (await Promise.all(all)).flat();
}

const onlyAskOf = (who: string) => until(async () => (await asksOf(who))[0]);
const move = (name: string) => ({
  name: "files_move_file",
  arguments: { source: join(files, name), destination: join(files, `${name}.moved`) },
});
const textOf = (result: unknown) => (result as { content: [{ text: string }] }).content[0].text;

/** Without tasks, in a session: the call is held. */
async function v1Client(who: string): Promise<v1.Client> {
  const client = new v1.Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  const requestInit = { headers: { authorization: `Bearer ${tokens[who]}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(deployment.url), { requestInit }) as never);
  return client;
}

async function v2Client(who: string): Promise<V2Client> {
  const client = new V2Client({ name: "test", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  const requestInit = { headers: { authorization: `Bearer ${tokens[who]}` } };
  await client.connect(new V2Transport(new URL(deployment.url), { requestInit }));
  return client;
}

test.each<[string, (who: string) => Promise<v1.Client | V2Client>]>([
  ["SDK v1", v1Client],
  ["SDK v2", v2Client],
])("%s: a move waits for a colleague while every worker is killed, and happens once", async (name, connect) => {
  const client = await connect("ann");
  const file = `${name.replace(" ", "-")}.txt`;
  await writeFile(join(files, file), "content");
  // Fails only if the test has failed before.
  const call = client.callTool(move(file), undefined as never, { timeout: 120_000 } as never);
  const ask = await onlyAskOf("bob");
  expect(existsSync(join(files, file))).toBe(true);
  // Not by the caller, who is in the group, nor by somebody who is not asked.
  expect(await asksOf("eve")).toEqual([]);
  expect([await reply("ann", ask, "accept"), await reply("eve", ask, "accept")]).toEqual([403, 404]);
  for (const worker of deployment.workers) await worker.kill();
  await Promise.all([deployment.addWorker(), deployment.addWorker()]);
  expect(await readdir(files)).not.toContain(`${file}.moved`);
  expect(await reply("bob", ask, "accept")).toBe(200);
  expect(textOf(await call)).toMatch(/Successfully moved/);
  expect(await readdir(files)).toContain(`${file}.moved`);
  expect(existsSync(join(files, file))).toBe(false);
  await client.close();
});

test("a client with tasks sees what its call waits for, and gets a refusal that a model can act on", async () => {
  const client = createClient(deployment.url, 1, tokens["ann"]);
  await writeFile(join(files, "kept.txt"), "content");
  const { name, arguments: args } = move("kept.txt");
  const { taskId } = await client.call(name, args);
  const ask = await onlyAskOf("bob");
  const waiting = await client.get(taskId);
  expect(waiting.statusMessage).toContain("Waits for approval: Moving files. Asked: group operations.");
  expect(waiting.inputRequests ?? {}).toEqual({});
  const read = await fetch(api(`/${ask.taskId}/${ask.key}`), { headers: headers("bob") });
  const { context } = (await read.json()) as { context: readonly { type: string; before?: string; after?: string }[] };
  const compared = context.find(({ type }) => type === "diff");
  expect(compared?.before).toContain("SDK-v2.txt.moved");
  expect(compared?.after).toContain("kept.txt.moved");
  expect(await reply("bob", ask, "decline")).toBe(200);
  const ended = await until(async () => {
    const task = await client.get(taskId);
    return task.status === "completed" ? task : undefined;
  });
  expect(textOf(ended.result)).toMatch(/^The call of files_move_file was refused \(Moving files\)\. .* Do not call it again unchanged\.$/);
  expect(existsSync(join(files, "kept.txt"))).toBe(true);
  client.close();
});

test("each worker says which name of a rule fits nothing, and no other", async () => {
  for (const worker of deployment.workers) {
    const { names } = await logged(worker, "rules have names that fit no tool or prompt");
    expect(names).toEqual([expect.stringMatching(/^rule misspelt: "file_move" fits none of the known tools \(\d+\)$/)]);
  }
});

test("reads and writes pass at once, and what nobody may do is refused", async () => {
  const client = await v1Client("eve");
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
  expect(textOf(await call("files_write_file", { path: join(files, "note.txt"), content: "hello" }))).toMatch(/Successfully wrote/);
  expect(textOf(await call("files_read_text_file", { path: join(files, "note.txt") }))).toBe("hello");
  const refused = await call("files_write_file", { path: join(files, "etc/passwd"), content: "x" });
  expect(refused.isError).toBe(true);
  expect(textOf(refused)).toMatch(/Nobody writes to etc\. Calling it again with these arguments will be refused again\.$/);
  expect(await asksOf("bob")).toEqual([]);
  await client.close();
});

test("who may decide and who called hear of approvals, and others nothing", async () => {
  const heard = ["asked", "asked", "asked", "given", "given", "refused", "spent", "spent"];
  for (const who of ["ann", "bob"]) expect(await approvalsHeardBy(who), who).toEqual(heard);
  expect(await approvalsHeardBy("eve")).toEqual([]);
});

test("an operator sees how the calls of each rule were decided", async () => {
  const figures = async (who: string) => await fetch(new URL("/api/v1/approvals", deployment.url), { headers: headers(who) });
  expect((await figures("bob")).status).toBe(403);
  const { rules } = (await (await figures("operator")).json()) as { rules: object[] };
  expect(rules).toMatchObject([
    { rule: "moves", asked: 3, approved: 2, refused: 1, expired: 0, waiting: 0, people: [{ approved: 2, refused: 1 }] },
  ]);
});

test("a colleague lets the same call pass once more without a question, and it asks again then", async () => {
  const client = createClient(deployment.url, 1, tokens["ann"]);
  const { name, arguments: args } = move("again.txt");
  const standing = async (who: string) =>
    (
      (await (await fetch(new URL("/api/v1/approvals/standing", deployment.url), { headers: headers(who) })).json()) as {
        approvals: object[];
      }
    ).approvals;
  const called = async () => {
    await writeFile(join(files, "again.txt"), "content");
    await rm(join(files, "again.txt.moved"), { force: true });
    return (await client.call(name, args)).taskId;
  };
  const ended = (taskId: string) => until(async () => (await client.get(taskId)).status === "completed");

  const first = await called();
  expect(await reply("bob", await onlyAskOf("bob"), "accept", { standing: "1 hour" })).toBe(200);
  await ended(first);
  expect(await standing("bob")).toMatchObject([{ rule: "moves", tool: "files_move_file", uses: 1, left: 1 }]);
  await ended(await called());
  expect(await readdir(files)).toContain("again.txt.moved");
  expect([(await standing("ann"))[0], await standing("eve")]).toMatchObject([{ left: 0 }, []]);
  const third = await called();
  expect(await reply("bob", await onlyAskOf("bob"), "decline")).toBe(200);
  await ended(third);
  client.close();
});

test("calls are followed by tests of those who approve, which workers make, which wait, and which no caller is told of", async () => {
  const client = createClient(deployment.url, 4, tokens["ann"]);
  // Of so many, none is followed by one once in a million times.
  const calls = await Promise.all(
    Array.from({ length: 60 }, async () => (await client.call("files_list_directory", { path: files })).taskId),
  );
  const redis = openLook(deployment.redis.url);
  const made = await until(async () => {
    const keys = (await keysOf(redis, deployment.redis.prefix)).filter((key) => /:task:[^:]+$/.test(key));
    const stored = await Promise.all(keys.map(async (key) => [key, (await redis.hget(key, "call")) ?? ""] as const));
    return stored.find(([, call]) => call.includes('"files_list_directory#test"'))?.[0];
  });
  const taskId = made.split(":").at(-1) ?? "";
  expect(calls).not.toContain(taskId);
  // A minute at least, half an hour at most.
  const due = (await keysOf(redis, deployment.redis.prefix)).filter((key) => key.endsWith(":due"));
  const scores = await until(async () => {
    const all = (await Promise.all(due.map((key) => redis.zscore(key, taskId)))).filter((score) => score !== null);
    return Number(all[0]) > Date.now() + 20_000 ? all : undefined;
  });
  expect(Number(scores[0])).toBeLessThan(Date.now() + 31 * 60_000);
  redis.disconnect();
  const listed = await fetch(new URL("/api/v1/tasks?limit=100", deployment.url), { headers: headers("ann") });
  expect(await listed.text()).not.toContain(taskId);
  for (const each of calls) await client.cancel(each);
  client.close();
});

/** What each client is told, and what is stored of the calls about which a colleague was asked. */
const ENDS = {
  allowed: { text: "Echo: hello", isError: false },
  denied: {
    text: "The call of all_get-env was refused (Reading the environment). It has secrets. Calling it again with these arguments will be refused again.",
    isError: true,
    structuredContent: { denied: { tool: "all_get-env", rule: "environment", reason: "It has secrets.", again: "never" } },
  },
  accept: { text: "The sum of 19 and 23 is 42.", isError: false },
  decline: {
    text: "The call of all_get-sum was refused (Adding). The person who was asked refused it. Do not call it again unchanged.",
    isError: true,
    structuredContent: {
      denied: { tool: "all_get-sum", rule: "sums", reason: "The person who was asked refused it.", again: "changed" },
    },
  },
};

test("every dialect comes to the same ends with a server that nobody changed: a yes, a no, what passes, and what nobody may do", async () => {
  const stored = await openStored(deployment.redis);
  const proxy = await startProxy(
    deployment.frontEnds.map(({ url }) => url),
    { headers: { authorization: `Bearer ${tokens["ann"]}` } },
  );
  const waits = <Value>() => new Promise<Value>(() => undefined);
  const heard: string[] = [];
  const call = (dialect: Dialect, tool: string, args: Readonly<Record<string, string | number>>): Promise<Told> =>
    dialect.run({
      url: `${proxy.url}/mcp`,
      tool,
      args,
      meanwhile: undefined,
      // Whose user is not asked is told, in words, whose yes is missing and where it is given.
      respond({ message }) {
        heard.push(message);
        return waits();
      },
      asked: waits(),
      closed: () => waits(),
      cut: () => waits(),
      vanish: () => waits(),
      back: () => undefined,
    });
  const asked = async () => (await asksOf("bob")).find(({ tool }) => tool === "all_get-sum");
  /** The ends of a call about which bob is asked. */
  async function decided(dialect: Dialect, action: "accept" | "decline") {
    const called = call(dialect, "all_get-sum", { a: 19, b: 23 });
    const ask = await until(asked);
    expect(await reply("bob", ask, action)).toBe(200);
    const told = await called;
    const task = await until(() => stored.load(ask.taskId));
    const { answers: _, ...end } = await stored.endOf(task);
    return { told, stored: end };
  }
  const table: Record<string, unknown> = {};
  for (const dialect of [blocking, experimentalTasks, blockingV2("2025-06-18"), inputRequired, tasks2026, tasks2025, ...toolsOnly]) {
    table[dialect.name] = {
      allowed: await call(dialect, "all_echo", { message: "hello" }),
      denied: await call(dialect, "all_get-env", {}),
      accept: await decided(dialect, "accept"),
      decline: await decided(dialect, "decline"),
    };
  }
  await Promise.all([proxy.close(), stored.close()]);
  // A task of 2025-11-25 whose result is an error has failed, and its clients say so in words of their own.
  const saysItself = [experimentalTasks.name, tasks2025.name];
  const endsOf = (name: string) => {
    const refused = (told: object) => (saysItself.includes(name) ? { failed: expect.stringMatching(/refused|failed/) } : told);
    const asStored = ({ text, isError }: (typeof ENDS)["accept"]) => ({ status: "completed", outcome: { text, isError }, openAsks: [] });
    const { allowed, denied, accept, decline } = ENDS;
    return {
      allowed,
      denied: refused(denied),
      accept: { told: accept, stored: asStored(accept) },
      decline: { told: refused(decline), stored: asStored(decline) },
    };
  };
  expect(table).toEqual(Object.fromEntries(Object.keys(table).map((name) => [name, endsOf(name)])));
  expect(proxy.counts.every((count) => count > 20)).toBe(true);
  expect(heard).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(/^Adding: approve this call of "Get Sum Tool"\?/)));
}, 120_000);
