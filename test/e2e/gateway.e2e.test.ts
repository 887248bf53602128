/**
 * Foreign MCP servers behind real front ends and workers: their blocking questions become durable ones. What they did is counted at them, by
 * the marks that they leave.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, type TaskState } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, UPSTREAMS, writeUpstreams } from "../support/upstream.ts";

const EVERYTHING = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js");

let directory: string;
let marks: string;
let classic: RunningUpstream;
let stateless: RunningUpstream;
let deployment: Deployment;
let client: Client;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-gateway-"));
  marks = join(directory, "marks");
  [classic, stateless] = await Promise.all([
    startUpstream("classic.ts", ["http"], { MARKS: marks }),
    startUpstream("stateless.ts", ["0"], { MARKS: marks }),
  ]);
  const file = await writeUpstreams(directory, [
    { name: "classic", url: classic.url, callTimeout: "3s", headers: { "x-key": "${KEY}" } },
    { name: "stateless", url: stateless.url },
    { name: "pipe", command: process.execPath, args: [join(UPSTREAMS, "classic.ts"), "stdio"], include: ["plain", "confirm", "die"] },
    { name: "everything", command: process.execPath, args: [EVERYTHING, "stdio"], prefix: "any." },
    { name: "away", url: "http://127.0.0.1:1/mcp" },
  ]);
  deployment = await startDeployment({ env: { PARLEY_UPSTREAMS: file }, workerEnv: { KEY: "a secret of the gateway" } });
  client = createClient(deployment.url, 50);
  await offered(["classic_plain", "stateless_deploy", "pipe_plain", "any.echo"]);
});

afterAll(async () => {
  client?.close();
  await deployment?.close();
  await Promise.all([classic?.kill(), stateless?.kill()]);
  await rm(directory, { recursive: true });
});

async function modern(): Promise<V2Client> {
  const connected = new V2Client({ name: "test", version: "2" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await connected.connect(new V2Transport(new URL(deployment.url)));
  return connected;
}

async function listed() {
  const connected = await modern();
  try {
    return (await connected.listTools()).tools;
  } finally {
    await connected.close();
  }
}

const offered = (names: readonly string[]) =>
  until(async () => {
    const tools = new Set((await listed()).map(({ name }) => name));
    return names.every((name) => tools.has(name));
  });

const settled = (taskId: string) =>
  until(
    async () => {
      const task = await client.get(taskId);
      return task.status === "working" ? undefined : task;
    },
    { timeoutMs: 30_000 },
  );
const ended = (taskId: string) =>
  until(
    async () => {
      const task = await client.get(taskId);
      return ["completed", "failed", "cancelled"].includes(task.status) ? task : undefined;
    },
    { timeoutMs: 30_000 },
  );
const said = (task: TaskState) => JSON.parse(task.result?.content?.[0]?.text ?? "null") as unknown;
const accept = (ok: boolean, key = "question-1") => ({ [key]: { action: "accept", content: { ok } } });
const marked = async (line: string) => (await marksIn(marks)).filter((mark) => mark.startsWith(line)).length;

describe("the list", () => {
  test("has the tools of all upstreams, untouched but for their names, and the deployment's own", async () => {
    const tools = new Map((await listed()).map((tool) => [tool.name, tool]));
    expect(tools.get("classic_plain")).toMatchObject({
      title: "Plain",
      description: "Does plain.",
      annotations: { readOnlyHint: true },
      icons: [{ src: "https://example.com/plain.png", mimeType: "image/png" }],
      _meta: { "example.com/kept": { as: "it is" } },
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
      outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    });
    expect(tools.has("research")).toBe(true);
    expect([...tools.keys()].filter((name) => name.startsWith("pipe_"))).toEqual(["pipe_plain", "pipe_confirm", "pipe_die"]);
  });
});

describe("a call without questions", () => {
  test.each(["classic_plain", "pipe_plain"])("%s comes back as the upstream gave it", async (tool) => {
    const { taskId } = await client.call(tool, { text: "hello" });
    const task = await ended(taskId);
    expect(task.result).toMatchObject({ structuredContent: { text: "hello" }, _meta: { "example.com/result": true } });
  });
});

describe("a question of a classic upstream", () => {
  test.each(["classic_confirm", "pipe_confirm"])("of %s waits as a task, and its answer goes to it", async (tool) => {
    const { taskId } = await client.call(tool, { text: "go" });
    const asked = await settled(taskId);
    expect(asked).toMatchObject({
      status: "input_required",
      inputRequests: { "question-1": { method: "elicitation/create", params: { message: "Really go?" } } },
    });
    await client.answer(taskId, accept(true));
    expect(said(await ended(taskId))).toEqual({ said: "go", action: "accept", content: { ok: true } });
  });
});
