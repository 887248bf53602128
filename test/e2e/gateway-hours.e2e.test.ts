/**
 * A question of a classic upstream is answered two hours later, through another door than its caller's. The deployment's time is moved, and
 * the upstream counts what it did. There is one worker: of two, the first to notice that time has moved would declare the other dead.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client as TasksClient, createClient, type TaskState } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { parley } from "../support/parley.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, writeUpstreams } from "../support/upstream.ts";

const HOUR_MS = 3_600_000;
const CLOCK = pathToFileURL(join(import.meta.dirname, "../support/moved-time.mjs")).href;

let directory: string;
let movedTime: string;
let marks: string;
let classic: RunningUpstream;
let deployment: Deployment;
/** One at each front end. */
let clients: readonly [TasksClient, TasksClient];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-hours-"));
  movedTime = join(directory, "moved-time");
  marks = join(directory, "marks");
  classic = await startUpstream("classic.ts", ["http"], { MARKS: marks });
  const file = await writeUpstreams(directory, [
    { name: "up", url: classic.url },
    { name: "hourly", url: classic.url, questionTimeout: "1h", include: ["confirm"] },
  ]);
  deployment = await startDeployment({
    frontEnds: 2,
    workers: 1,
    env: { PARLEY_UPSTREAMS: file, NODE_OPTIONS: `--import=${CLOCK}`, MOVED_TIME: movedTime },
  });
  clients = deployment.frontEnds.map(({ url }) => createClient(`${url}/mcp`, 2)) as [TasksClient, TasksClient];
  for (const client of clients) {
    for (const tool of ["up_plain", "hourly_confirm"]) await until(() => client.call(tool, { text: "there?" }));
  }
});

afterAll(async () => {
  for (const client of clients ?? []) client.close();
  await deployment?.close();
  await classic?.kill();
  await rm(directory, { recursive: true });
});

const reached = (taskId: string, statuses: readonly string[]): Promise<TaskState> =>
  until(
    async () => {
      const task = await clients[1].get(taskId);
      return statuses.includes(task.status) && task;
    },
    { everyMs: 50 },
  );
const said = (task: Pick<TaskState, "result">) => JSON.parse(task.result?.content?.[0]?.text ?? "null") as unknown;
const accepted = (text: string) => ({ said: text, action: "accept", content: { ok: true } });
const marked = async (line: string) => (await marksIn(marks)).filter((mark) => mark.startsWith(line)).length;

async function parleyAnswer(taskId: string): Promise<void> {
  const { url, prefix } = deployment.redis;
  const env = { REDIS_URL: url, PARLEY_PREFIX: prefix, PARLEY_URL: deployment.url, HOME: directory, XDG_CONFIG_HOME: directory };
  expect(await parley(["answer", taskId, "question-1", "--set", "ok=true"], { env, cwd: directory })).toMatchObject({
    code: 0,
    stderr: "answered\n",
  });
}

/** A caller of 2026-07-28 that has tasks and cannot be asked. */
async function callWithoutElicitation(name: string, text: string): Promise<string> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const response = await fetch(deployment.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: { text }, _meta } }),
  });
  return ((await response.json()) as { result: { taskId: string } }).result.taskId;
}

test("two hours later the answer reaches the held call: from a terminal, another client, and for callers that cannot be asked", async () => {
  const session = new Client({ name: "test", version: "1" }, { capabilities: {} });
  await session.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
  try {
    const call = async (tool: string, text: string) => (await clients[0].call(tool, { text })).taskId;
    const { task } = await session.request(
      { method: "tools/call", params: { name: "up_confirm", arguments: { text: "session" }, task: { ttl: 24 * HOUR_MS } } },
      CreateTaskResultSchema,
    );
    const waiting = {
      terminal: await call("up_confirm", "terminal"),
      "other client": await call("up_confirm", "other client"),
      "cannot be asked": await callWithoutElicitation("up_confirm", "cannot be asked"),
      session: task.taskId,
    };
    const hourly = await call("hourly_confirm", "hourly");
    for (const taskId of [...Object.values(waiting), hourly]) await reached(taskId, ["input_required"]);

    await writeFile(movedTime, String(2 * HOUR_MS));
    // Time has passed for the worker: the question that waits for an hour is over. And for both front ends.
    expect(await reached(hourly, ["failed"])).toMatchObject({ error: { message: expect.stringContaining("nobody answered in time") } });
    await until(
      async () => {
        const made = await Promise.all(clients.map((client) => client.call("up_plain", { text: "late" })));
        return made.every(({ createdAt }) => Date.parse(createdAt) > Date.now() + HOUR_MS);
      },
      { everyMs: 250 },
    );

    for (const taskId of Object.values(waiting)) expect((await clients[1].get(taskId)).status).toBe("input_required");
    for (const door of ["terminal", "cannot be asked", "session"] as const) await parleyAnswer(waiting[door]);
    await clients[1].answer(waiting["other client"], { "question-1": { action: "accept", content: { ok: true } } });
    for (const [text, taskId] of Object.entries(waiting)) {
      expect(said(await reached(taskId, ["completed", "failed"]))).toEqual(accepted(text));
      expect(await marked(`called confirm ${text}`), "made once").toBe(1);
      expect(await marked(`answered ${text}`), "answered once").toBe(1);
    }
    const result = await session.request({ method: "tasks/result", params: { taskId: task.taskId } }, CallToolResultSchema);
    expect(said({ result: result as { content: { text: string }[] } })).toEqual(accepted("session"));
  } finally {
    await session.close();
  }
});
