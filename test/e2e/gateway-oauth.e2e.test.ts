/**
 * An upstream that requires the person's own token: the person grants it on a page, at a real provider, before the call is made. Two
 * workers, and two front ends, so that different front ends serve the page, send the person to the provider and receive them back.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient, message } from "../../bench/client.ts";
import { COUNTED, grant, type GrantProvider, startGrantProvider } from "../support/grant-provider.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type Proxy, startProxy } from "../support/proxy.ts";
import { reaches } from "../support/reaches.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { createSessionServer } from "../support/session-server.ts";
import { until } from "../support/until.ts";
import { writeUpstreams } from "../support/upstream.ts";

const SERVICE = "Bearer the-gateway's-own";

let redis: TestRedis;
let proxy: Proxy;
let fronts: readonly FrontEnd[] = [];
let workers: readonly Launched[] = [];
let upstream: Server;
let provider: GrantProvider;
let folder: string;
/** With whose token tools were called. */
let calls: { readonly tool: string; readonly authorization: string }[];
/** Whether the upstream takes a token no more. */
let isRefused: (authorization: string) => boolean = () => false;

function crm(): McpServer {
  const server = new McpServer({ name: "crm", version: "1" }, { capabilities: { tools: {}, resources: {} } });
  const called = (tool: string, headers: Readonly<Record<string, unknown>> = {}) =>
    void calls.push({ tool, authorization: String(headers["authorization"]) });
  server.registerTool("contacts", {}, async ({ requestInfo }) => {
    called("contacts", requestInfo?.headers);
    return { content: [{ type: "text", text: "Ann, Bob" }] };
  });
  server.registerTool("remove", {}, async ({ requestInfo }) => {
    called("remove", requestInfo?.headers);
    const { action } = await server.server.elicitInput({
      mode: "form",
      message: "Remove Ann?",
      requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
    });
    return { content: [{ type: "text", text: `removed: ${action}` }] };
  });
  server.registerResource("notes", "note://1", {}, async () => ({ contents: [{ uri: "note://1", text: "the service's own" }] }));
  return server;
}

/** Takes the service's own credentials, for lists, and the tokens of people. */
async function startUpstream(): Promise<Server> {
  const sessions = createSessionServer(crm);
  const server = createServer((request, response) => {
    const { authorization = "" } = request.headers;
    const isPersons = provider.issued.some((token) => authorization === `Bearer ${token}`) && !isRefused(authorization);
    if (authorization === SERVICE || isPersons) void sessions.serve(request, response);
    else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

beforeAll(async () => {
  const targets = ["", ""];
  proxy = await startProxy(targets);
  folder = await mkdtemp(join(tmpdir(), "parley-gateway-oauth-"));
  const setUp = { name: "crm", title: "CRM", resource: "https://crm.example", scopes: ["contacts:read", "contacts:write"] };
  provider = await startGrantProvider({ ...setUp, tokenSeconds: 30, publicUrl: proxy.url, folder });
  upstream = await startUpstream();
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  const oauth = { provider: "crm", scopes: ["contacts:read"] };
  const file = await writeUpstreams(folder, [{ name: "crm", url, headers: { authorization: SERVICE }, oauth }]);
  redis = openTestRedis();
  const env = {
    REDIS_URL: redis.url,
    PARLEY_PREFIX: redis.prefix,
    PARLEY_SECRET: "s".repeat(40),
    PARLEY_PUBLIC_URL: proxy.url,
    PARLEY_UPSTREAMS: file,
    ...provider.env,
  };
  const [here, there, ...backs] = await Promise.all([
    startFrontEnd(env),
    startFrontEnd(env),
    startWorkerProcess(env),
    startWorkerProcess(env),
  ]);
  fronts = [here, there];
  workers = backs;
  targets.splice(0, 2, here.url, there.url);
  for (const { url: front } of fronts) await until(async () => (await list("tools/list", front)).includes("crm_contacts"));
});

afterAll(async () => {
  await proxy?.close();
  upstream?.closeAllConnections();
  upstream?.close();
  provider?.close();
  await Promise.all([...fronts, ...workers].map((each) => each.kill()));
  await redis?.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  calls = [];
  isRefused = () => false;
});

async function list(method: string, at = proxy.url): Promise<string> {
  const { headers, body } = message(method, {}, "");
  const { "mcp-name": _, ...rest } = headers;
  return await (await fetch(`${at}/mcp`, { method: "POST", headers: rest, body })).text();
}

function client(): ReturnType<typeof createClient> {
  return createClient(`${proxy.url}/mcp`, 1);
}

/** Calls a tool, and finds the page on which its caller is asked for access. */
async function asked(tool: string): Promise<{ readonly taskId: string; readonly page: string; readonly message: string }> {
  const { taskId } = await client().call(tool, {});
  return { taskId, ...(await pageOf(taskId, "authorize")) };
}

async function pageOf(taskId: string, key: string): Promise<{ readonly page: string; readonly message: string }> {
  const { inputRequests } = await reaches(`${proxy.url}/mcp`, taskId, (task) => task.inputRequests?.[key] !== undefined);
  const { url, message: said } = (inputRequests as Record<string, { params: { url: string; message: string } }>)[key]!.params;
  return { page: url, message: said };
}

test("a call is made with the token of the person who granted it, and its question is answered with the next one", async () => {
  const { taskId, page, message: said } = await asked("crm_remove");
  expect(said).toBe("The tool remove of upstream crm works with your own account at crm. Log in there and allow it.");
  expect(calls).toEqual([]);
  expect((await grant(page, "alice")).text).toMatch(COUNTED);
  await reaches(`${proxy.url}/mcp`, taskId, ({ inputRequests }) => inputRequests?.["question-1"] !== undefined);
  const [call] = calls;
  expect(call).toEqual({ tool: "remove", authorization: expect.stringMatching(/^Bearer \S{20,}$/) });
  expect(provider.issued).toContain(call?.authorization.slice("Bearer ".length));

  // It has ended meanwhile, as tokens do while people think.
  isRefused = (authorization) => authorization === call?.authorization;
  await client().answer(taskId, { "question-1": { action: "accept", content: { sure: true } } });
  const { result } = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed");
  expect(result?.content?.[0]?.text).toBe("removed: accept");
  expect(calls).toHaveLength(1);

  // A worker logs it after a client can see it.
  await until(() => workers.some(({ logs }) => logs.some(({ msg, taskId: of }) => msg === "task finished" && of === taskId)));
  const dumped = await Promise.all((await redis.keys()).map((key) => redis.redis.dumpBuffer(key)));
  const found = [
    ...dumped.map((bytes) => bytes?.toString("latin1")),
    JSON.stringify([...fronts, ...workers].map(({ logs }) => logs)),
  ].join();
  expect(provider.issued.filter((token) => found.includes(token))).toEqual([]);
});

test("a token that is refused is renewed, and a call that was refused for it is made once", async () => {
  const { taskId, page } = await asked("crm_contacts");
  // The first renewal that is used is refused; the one after it is taken.
  const refused = new Set<string>();
  isRefused = (authorization) =>
    authorization !== SERVICE && (refused.size === 0 || refused.has(authorization)) && !!refused.add(authorization);
  await grant(page, "bob");
  const { result } = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed");
  expect(result?.content?.[0]?.text).toBe("Ann, Bob");
  expect(calls).toHaveLength(1);
  expect(refused.has(calls[0]?.authorization ?? "")).toBe(false);
});

test("a person whose tokens are all refused is asked again, twice, and then the task fails", async () => {
  const { taskId, page } = await asked("crm_contacts");
  isRefused = (authorization) => authorization !== SERVICE;
  await grant(page, "alice");
  await grant((await pageOf(taskId, "authorize#2")).page, "alice");
  await grant((await pageOf(taskId, "authorize#3")).page, "alice");
  const { error } = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "failed");
  expect(error).toMatchObject({ data: { code: "GRANT_EXPIRED" } });
  expect(calls).toEqual([]);
});

test("without a grant nothing is called, and the model receives the reason", async () => {
  const { taskId } = await asked("crm_contacts");
  await client().answer(taskId, { authorize: { action: "decline" } });
  const { result } = await reaches(`${proxy.url}/mcp`, taskId, ({ status }) => status === "completed");
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: "The tool contacts of upstream crm was not called: access was not granted (decline)." }],
  });
  expect(calls).toEqual([]);
});

test("resources are not offered: readers are not asked for access, and the service's own resources are not for everyone", async () => {
  expect(await list("resources/list")).not.toContain("note://");
});
