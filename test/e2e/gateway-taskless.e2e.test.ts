/** Calls without a task through two front ends and two workers, at a foreign server that records each call it receives. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

let directory: string;
let marks: string;
let upstream: RunningUpstream;
let deployment: Deployment;
const clients: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-taskless-"));
  marks = join(directory, "marks");
  upstream = await startUpstream("classic.ts", ["http"], { MARKS: marks });
  const file = await writeUpstreams(directory, [
    { name: "up", url: upstream.url, reuseSessions: "stateless", taskless: true, repeatable: ["plain", "hangs-once", "confirm"] },
  ]);
  deployment = await startDeployment({ env: { PARLEY_UPSTREAMS: file } });
  const client = await classic();
  await until(async () => (await client.listTools()).tools.some(({ name }) => name === "up_plain"), { everyMs: 200 });
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await deployment?.close();
  await upstream?.kill();
  await rm(directory, { recursive: true });
});

async function classic(): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { ok: true } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
  clients.push(client);
  return client;
}

const marked = async (line: string) => (await marksIn(marks)).filter((mark) => mark.startsWith(line)).length;
const tasks = async () => (await deployment.redis.keys()).filter((key) => key.includes(":task:"));

async function said(client: Client, name: string, text: string): Promise<unknown> {
  const { content } = (await client.callTool({ name, arguments: { text } })) as { content: { text: string }[] };
  return JSON.parse(content[0]!.text);
}

test("a call that asks nothing is answered as the upstream gave it, and leaves nothing in Redis", async () => {
  const client = await classic();
  const before = await tasks();
  const result = await client.callTool({ name: "up_plain", arguments: { text: "one" } });
  expect(result).toMatchObject({ structuredContent: { text: "one" }, _meta: { "example.com/result": true } });
  const modern = new V2Client({ name: "test", version: "2" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await modern.connect(new V2Transport(new URL(deployment.url)));
  clients.push(modern);
  expect(await modern.callTool({ name: "up_plain", arguments: { text: "two" } })).toMatchObject({ structuredContent: { text: "two" } });
  expect(await tasks()).toEqual(before);
  expect([await marked("called plain one"), await marked("called plain two")]).toEqual([1, 1]);
});

test("200 calls at once of four clients have their own results", async () => {
  const four = await Promise.all(Array.from({ length: 4 }, classic));
  const texts = Array.from({ length: 200 }, (_, number) => `many ${number}.`);
  const results = await Promise.all(
    texts.map(async (text, index) => (await four[index % 4]!.callTool({ name: "up_plain", arguments: { text } })).structuredContent),
  );
  expect(results).toEqual(texts.map((text) => ({ text })));
  // One that had to wait for longer than two seconds was made again by its task.
  const called = await marked("called plain many");
  expect(called).toBeGreaterThanOrEqual(200);
  expect(called).toBeLessThanOrEqual(400);
});

test("a call that asks becomes a task: its question is answered once, and later calls are tasks from the start", async () => {
  const client = await classic();
  const texts = ["first", "second", "third", "fourth", "fifth", "sixth"];
  for (const text of texts) {
    expect(await said(client, "up_confirm", text)).toEqual({ said: text, action: "accept", content: { ok: true } });
    expect(await marked(`answered ${text}`)).toBe(1);
  }
  // Each front end finds out by itself, from a call that is then made again. Which of them has which call depends on what else passes the proxy.
  expect(await marked("called confirm")).toBeLessThanOrEqual(texts.length + deployment.frontEnds.length);
});

test("a call whose worker is killed becomes a task, which another worker runs", async () => {
  const client = await classic();
  const result = client.callTool({ name: "up_hangs-once", arguments: { text: "killed" } });
  await until(async () => (await marked("called hangs-once killed")) === 1);
  await Promise.all(deployment.workers.map((worker) => worker.kill()));
  await deployment.addWorker();
  expect(await result).toMatchObject({ content: [{ type: "text", text: "here" }] });
  expect(await marked("called hangs-once killed")).toBe(2);
});

test("while content is encrypted, every call is a task, because others pass through Redis in the clear", async () => {
  const file = join(directory, "parley.upstreams.json");
  const sealed = await startDeployment({
    frontEnds: 1,
    workers: 1,
    env: { PARLEY_UPSTREAMS: file, PARLEY_CONTENT_KEYS: Buffer.alloc(32, 7).toString("base64") },
  });
  try {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(sealed.url)) as never);
    clients.push(client);
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === "up_plain"), { everyMs: 200 });
    expect(await client.callTool({ name: "up_plain", arguments: { text: "sealed" } })).toMatchObject({
      structuredContent: { text: "sealed" },
    });
    expect((await sealed.redis.keys()).filter((key) => key.includes(":task:"))).not.toEqual([]);
    expect(sealed.frontEnds[0]?.logs.map(({ msg }) => msg)).toContainEqual(
      expect.stringContaining("`taskless` of upstreams has no effect"),
    );
  } finally {
    await sealed.close();
  }
});
