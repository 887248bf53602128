/** Foreign MCP servers behind real front ends and workers: their blocking questions become durable. The servers record what they did. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TaskState } from "../../bench/client.ts";
import { PREPARED_EACH_MAX } from "../../packages/gateway/connection/prepared-sessions.ts";
import { freePorts } from "../support/free-ports.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import type { Launched } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { marksIn, type RunningUpstream, startUpstream, UPSTREAMS, writeUpstreams } from "../support/upstream.ts";

const SERVERS = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");
const EVERYTHING = join(SERVERS, "server-everything/dist/index.js");
const THINKING = join(SERVERS, "server-sequential-thinking/dist/index.js");
const FILESYSTEM = join(SERVERS, "server-filesystem/dist/index.js");

let directory: string;
let marks: string;
let classic: RunningUpstream;
let stateless: RunningUpstream;
let deployment: Deployment;
let workers: Launched[];
/** Sessions at the classic upstream of workers that were killed, which nobody closes. */
let orphaned = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-gateway-"));
  marks = join(directory, "marks");
  [classic, stateless] = await Promise.all([
    startUpstream("classic.ts", ["http"], { MARKS: marks }),
    startUpstream("stateless.ts", ["0"], { MARKS: marks }),
  ]);
  const file = await writeUpstreams(directory, [
    { name: "classic", url: classic.url, headers: { "x-key": "${KEY}" } },
    { name: "strict", url: classic.url, callTimeout: "2s", include: ["never"] },
    { name: "quick", url: classic.url, questionTimeout: "1s", include: ["confirm"] },
    { name: "stateless", url: stateless.url },
    {
      name: "pipe",
      command: process.execPath,
      args: [join(UPSTREAMS, "classic.ts"), "stdio"],
      include: ["plain", "pid", "confirm", "die"],
    },
    { name: "again", url: classic.url, reuseSessions: "stateless", include: ["confirm", "visit"] },
    {
      name: "held",
      command: process.execPath,
      args: [join(UPSTREAMS, "classic.ts"), "stdio"],
      reuseSessions: "stateless",
      include: ["pid", "confirm"],
    },
    { name: "everything", command: process.execPath, args: [EVERYTHING, "stdio"], prefix: "any." },
    { name: "thinking", command: process.execPath, args: [THINKING], reuseSessions: true },
    { name: "files", command: process.execPath, args: [FILESYSTEM, directory] },
    { name: "away", url: "http://127.0.0.1:1/mcp" },
  ]);
  deployment = await startDeployment({
    tools: [join(import.meta.dirname, "tools/greet.ts")],
    env: { PARLEY_UPSTREAMS: file },
    workerEnv: { KEY: "a secret of the gateway", PARLEY_ELICITATIONS_CALL_MAX: "5", PARLEY_DRAIN_TIMEOUT: "8s" },
  });
  workers = [...deployment.workers];
  await offered([
    "classic_plain",
    "stateless_deploy",
    "pipe_plain",
    "again_confirm",
    "held_pid",
    "thinking_sequentialthinking",
    "any.echo",
    "files_list_directory",
  ]);
});

afterAll(async () => {
  await deployment?.close();
  await Promise.all([classic?.kill(), stateless?.kill()]);
  await rm(directory, { recursive: true });
});

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: { form: {}, url: {} },
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};

/** A client with tasks, in its requests. */
async function send<Result>(method: string, name: string, params: object): Promise<Result> {
  const response = await fetch(deployment.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } }),
  });
  const { result, error } = (await response.json()) as { result?: Result; error?: { message: string } };
  if (result === undefined) throw new Error(error?.message ?? "no result");
  return result;
}

const client = {
  call: (name: string, args: object) => send<TaskState>("tools/call", name, { name, arguments: args }),
  get: (taskId: string) => send<TaskState>("tasks/get", taskId, { taskId }),
  answer: (taskId: string, inputResponses: object) =>
    send<{ _meta: { "parley/receipts": object } }>("tasks/update", taskId, { taskId, inputResponses }),
  cancel: (taskId: string) => send<object>("tasks/cancel", taskId, { taskId }),
};

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
  until(
    async () => {
      const tools = new Set((await listed()).map(({ name }) => name));
      return names.every((name) => tools.has(name));
    },
    { everyMs: 200 },
  );

const settled = (taskId: string, pace: { everyMs?: number } = {}) =>
  until(async () => {
    const task = await client.get(taskId);
    return task.status === "working" ? undefined : task;
  }, pace);
const ended = (taskId: string, pace: { everyMs?: number } = {}) =>
  until(async () => {
    const task = await client.get(taskId);
    return ["completed", "failed", "cancelled"].includes(task.status) ? task : undefined;
  }, pace);
const said = (task: TaskState) => JSON.parse(task.result?.content?.[0]?.text ?? "null") as unknown;
const accept = (ok: boolean, key = "question-1") => ({ [key]: { action: "accept", content: { ok } } });
const sessions = async () => Number(await (await fetch(new URL("/sessions", classic.url))).text());
const marked = async (line: string) => (await marksIn(marks)).filter((mark) => mark.startsWith(line)).length;

describe("the list", () => {
  test("has the tools of all upstreams, unchanged except for their names, and the deployment's own, but not the examples", async () => {
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
    expect(tools.has("greet")).toBe(true);
    expect(tools.has("research")).toBe(false);
    expect([...tools.keys()].filter((name) => name.startsWith("pipe_"))).toEqual(["pipe_plain", "pipe_pid", "pipe_confirm", "pipe_die"]);
  });
});

describe("a call without questions", () => {
  test.each(["classic_plain", "pipe_plain"])("%s comes back as the upstream gave it", async (tool) => {
    const { taskId } = await client.call(tool, { text: "hello" });
    const task = await ended(taskId);
    expect(task.result).toMatchObject({ structuredContent: { text: "hello" }, _meta: { "example.com/result": true } });
  });

  test("has its own process, or that of an earlier call if the file allows it", async () => {
    const pids = async (tool: string) => {
      const found = new Set();
      for (let call = 0; call < 10; call += 1) found.add(said(await ended((await client.call(tool, {})).taskId)));
      return found.size;
    };
    expect(await pids("pipe_pid")).toBe(10);
    expect(await pids("held_pid")).toBeLessThanOrEqual(deployment.workers.length);
  });

  test("finds what earlier calls left at a server with state, on either worker; when its worker is gone, its caller is told once", async () => {
    const think = async (number: number) => {
      const thought = { thought: `${number}`, thoughtNumber: number, totalThoughts: 9, nextThoughtNeeded: true };
      return await ended((await client.call("thinking_sequentialthinking", thought)).taskId);
    };
    for (let number = 1; number <= 8; number += 1) expect(said(await think(number))).toMatchObject({ thoughtHistoryLength: number });
    await replaceWorkers(2);
    const told = await think(9);
    expect(told).toMatchObject({ status: "failed", error: { data: { code: "UPSTREAM_STATE_LOST", upstream: "thinking" } } });
    expect(told.error?.message).toContain("the state that earlier calls left there is lost, because the worker that kept it has ended");
    for (let number = 1; number <= 2; number += 1) expect(said(await think(number))).toMatchObject({ thoughtHistoryLength: number });
  });
});

describe("a question of a classic upstream", () => {
  test.each(["classic_confirm", "pipe_confirm", "again_confirm", "held_confirm", "held_confirm"])(
    "of %s waits as a task, and its answer goes to it",
    async (tool) => {
      const { taskId } = await client.call(tool, { text: "go" });
      const asked = await settled(taskId);
      expect(asked).toMatchObject({
        status: "input_required",
        inputRequests: { "question-1": { method: "elicitation/create", params: { message: `${tool.split("_")[0]} asks: Really go?` } } },
      });
      await client.answer(taskId, accept(true));
      expect(said(await ended(taskId))).toEqual({ said: "go", action: "accept", content: { ok: true } });
    },
  );

  test("is declined, cancelled or not answered in time, each reported as such", async () => {
    const declined = await client.call("classic_confirm", { text: "declined" });
    await settled(declined.taskId);
    await client.answer(declined.taskId, { "question-1": { action: "decline" } });
    expect(said(await ended(declined.taskId))).toEqual({ said: "declined", action: "decline" });

    const cancelled = await client.call("classic_confirm", { text: "cancelled" });
    await settled(cancelled.taskId);
    await client.answer(cancelled.taskId, { "question-1": { action: "cancel" } });
    expect(said(await ended(cancelled.taskId))).toEqual({ said: "cancelled", action: "cancel" });

    const late = await client.call("quick_confirm", { text: "late" });
    const task = await ended(late.taskId);
    expect(task).toMatchObject({ status: "failed", error: { code: -32000, message: expect.stringContaining("nobody answered in time") } });
  });

  test("may be a page to visit", async () => {
    const { taskId } = await client.call("classic_visit", { text: "page" });
    expect(await settled(taskId)).toMatchObject({
      inputRequests: {
        "question-1": { params: { mode: "url", url: "https://example.com/page", message: "classic asks: Visit for page" } },
      },
    });
    await client.answer(taskId, { "question-1": { action: "accept" } });
    expect(said(await ended(taskId))).toEqual({ said: "page", action: "accept" });
    const refused = await client.call("classic_visit", { text: "other" });
    await settled(refused.taskId);
    await client.answer(refused.taskId, { "question-1": { action: "decline" } });
    expect(said(await ended(refused.taskId))).toEqual({ said: "other", action: "decline" });
  });

  test("may be one of several at once, answered in any order", async () => {
    const { taskId } = await client.call("classic_two", { text: "both" });
    const both = await until(async () => {
      const task = await client.get(taskId);
      return Object.keys(task.inputRequests ?? {}).length === 2 ? task : undefined;
    });
    const keyOf = (message: string) =>
      Object.entries(both.inputRequests ?? {}).find(
        ([, request]) => (request as { params: { message: string } }).params.message === `classic asks: ${message}`,
      )![0];
    await client.answer(taskId, accept(false, keyOf("second both")));
    await client.answer(taskId, accept(true, keyOf("first both")));
    expect(said(await ended(taskId))).toEqual([true, false]);
  });

  test("that its upstream gives up is withdrawn, and the task ends with the upstream's result", async () => {
    const { taskId } = await client.call("classic_impatient", { text: "now" });
    const asked = await settled(taskId);
    expect(asked.status).toBe("input_required");
    const task = await ended(taskId);
    expect(said(task)).toEqual({ gaveUp: expect.stringContaining("timed out") });
    const { _meta } = await client.answer(taskId, accept(true));
    expect(_meta["parley/receipts"]).toEqual({ "question-1": "late" });
  });

  test("ends when its task is cancelled, and the upstream is notified", async () => {
    const { taskId } = await client.call("classic_confirm", { text: "stopped" });
    await settled(taskId);
    await client.cancel(taskId);
    await until(async () => (await marked("cancelled confirm stopped")) === 1);
    expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
  });

  test("is refused if MCP does not allow it or no one should be asked it, and the upstream receives the reason", async () => {
    for (const [tool, why] of [
      ["classic_nested", "/requestedSchema/properties/a must be a string"],
      ["classic_secret", "seems to ask for a secret"],
      ["classic_ask-large", "the limit is 65536"],
    ] as const) {
      const { taskId } = await client.call(tool, {});
      expect(said(await ended(taskId))).toEqual({ refused: expect.stringContaining(why) });
    }
  });

  test("is one of as many as a call may ask, and the next is refused", async () => {
    const { taskId } = await client.call("classic_ask-loop", {});
    for (let number = 1; number <= 5; number += 1) {
      await until(async () => Object.keys((await client.get(taskId)).inputRequests ?? {})[0] === `question-${number}`);
      await client.answer(taskId, accept(true, `question-${number}`));
    }
    expect(said(await ended(taskId))).toEqual({ asked: 5, error: expect.stringContaining("PARLEY_ELICITATIONS_CALL_MAX") });
  });

  test.each(["classic_confirm", "again_confirm"])(
    "of %s reaches its own task among 200 at once, answered in random order, and leaves nothing behind",
    async (tool) => {
      const numbers = Array.from({ length: 200 }, (_, number) => number);
      const tasks = await Promise.all(numbers.map(async (number) => (await client.call(tool, { text: `many-${number}` })).taskId));
      const waiting = await Promise.all(tasks.map((taskId) => settled(taskId, { everyMs: 500 })));
      expect(waiting.filter(({ status }) => status !== "input_required").map(({ error }) => error)).toEqual([]);
      for (const [number, task] of waiting.entries()) {
        expect(task.inputRequests).toMatchObject({
          "question-1": { params: { message: `${tool.split("_")[0]} asks: Really many-${number}?` } },
        });
      }
      const shuffled = numbers.toSorted(() => Math.random() - 0.5);
      await Promise.all(shuffled.map((number) => client.answer(tasks[number]!, accept(number % 3 === 0))));
      const results = await Promise.all(tasks.map((taskId) => ended(taskId, { everyMs: 500 })));
      expect(results.map(said)).toEqual(
        numbers.map((number) => ({ said: `many-${number}`, action: "accept", content: { ok: number % 3 === 0 } })),
      );
      // Those that read the lists, of four upstreams in the file that are this one, and those that are kept for the next calls.
      const kept = 4 + PREPARED_EACH_MAX * workers.length;
      await until(async () => (await sessions()) - orphaned <= kept);
      await until(async () => (await deployment.redis.keys()).filter((key) => key.endsWith(":holder")).length === 0);
      const left = await Promise.all(
        (await deployment.redis.keys()).filter((key) => key.includes(":gateway:calls:")).map((key) => deployment.redis.redis.hlen(key)),
      );
      expect(left.every((count) => count === 0)).toBe(true);
    },
  );
});

describe("callers of other dialects", () => {
  async function blocking(capabilities: object, respond: (message: string) => object): Promise<v1.Client> {
    const connected = new v1.Client({ name: "test", version: "1" }, { capabilities });
    if ("elicitation" in capabilities)
      connected.setRequestHandler(ElicitRequestSchema, async ({ params }) => respond(params.message) as never);
    await connected.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    return connected;
  }

  test("that hold their call open are asked on its stream", async () => {
    const connected = await blocking({ elicitation: {} }, () => ({ action: "accept", content: { ok: true } }));
    try {
      const { content } = (await connected.callTool({ name: "classic_confirm", arguments: { text: "held" } })) as {
        content: { text: string }[];
      };
      expect(JSON.parse(content[0]!.text)).toEqual({ said: "held", action: "accept", content: { ok: true } });
    } finally {
      await connected.close();
    }
  });

  test("that were sent to a page are notified when the upstream reports the visit, by the id that they know", async () => {
    const connected = new v1.Client({ name: "test", version: "1" }, { capabilities: { elicitation: { url: {} } } });
    const asked: string[] = [];
    const completed: string[] = [];
    connected.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      if (params.mode === "url") asked.push(params.elicitationId);
      return { action: "accept" } as const;
    });
    connected.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => void completed.push(params.elicitationId));
    await connected.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    try {
      await connected.callTool({ name: "classic_visit", arguments: { text: "told" } });
      expect(asked).toHaveLength(1);
      expect(completed).toEqual(asked);
    } finally {
      await connected.close();
    }
  });

  test("that answer input_required call again with the answer", async () => {
    const connected = new V2Client(
      { name: "test", version: "2" },
      { capabilities: { elicitation: { form: {}, url: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    connected.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { ok: true } }));
    await connected.connect(new V2Transport(new URL(deployment.url)));
    try {
      for (const [tool, text] of [
        ["classic_confirm", "again"],
        ["stateless_deploy", "again"],
      ] as const) {
        const { content } = await connected.callTool({ name: tool, arguments: { text } });
        expect(JSON.parse((content[0] as { text: string }).text)).toMatchObject({ said: "again", content: { ok: true } });
      }
    } finally {
      await connected.close();
    }
  });

  test("whose model or folders the upstream wants to know of are asked for them", async () => {
    const connected = new v1.Client({ name: "test", version: "1" }, { capabilities: { sampling: {}, roots: {} } });
    connected.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => ({
      model: "m",
      role: "assistant",
      content: { type: "text", text: `heard ${JSON.stringify(params.messages[0]?.content)}` },
    }));
    connected.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///work" }] }));
    await connected.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    try {
      const called = async (name: string) => JSON.stringify(await connected.callTool({ name, arguments: { text: "hi there" } }));
      expect(await called("classic_sampled")).toContain("hi there");
      expect(await called("classic_rooted")).toContain("file:///work");
    } finally {
      await connected.close();
    }
  });

  test("restrict an upstream to their roots, at their first call", async () => {
    const mine = join(directory, "mine");
    await mkdir(mine, { recursive: true });
    const connected = new v1.Client({ name: "test", version: "1" }, { capabilities: { roots: {} } });
    connected.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: pathToFileURL(mine).href }] }));
    await connected.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    try {
      const listing = async (path: string) =>
        JSON.stringify(await connected.callTool({ name: "files_list_directory", arguments: { path } }));
      expect(await listing(directory)).toContain("Access denied");
      expect(await listing(mine)).not.toContain("Access denied");
    } finally {
      await connected.close();
    }
  });

  test("show the upstream what can be asked of them, and nothing else", async () => {
    for (const [capabilities, shown] of [
      // What a client does not show it is told in words, or led to by a page, and another client of its owner can answer.
      [{}, { elicitation: { form: {}, url: {} } }],
      [{ elicitation: {} }, { elicitation: { form: {}, url: {} } }],
      [
        { elicitation: { form: {}, url: {} }, roots: {} },
        { elicitation: { form: {}, url: {} }, roots: {} },
      ],
    ] as const) {
      const connected = await blocking(capabilities, () => ({ action: "decline" }));
      const { content } = (await connected.callTool({ name: "classic_capabilities" })) as { content: { text: string }[] };
      expect(JSON.parse(content[0]!.text)).toEqual(shown);
      await connected.close();
    }
    const { taskId } = await client.call("classic_capabilities", {});
    expect(said(await ended(taskId))).toEqual({ elicitation: { form: {}, url: {} } });
  });
});

describe("prompts", () => {
  const about = { name: "classic_about", arguments: { topic: "tea" } };
  const asking = { name: "classic_asking", arguments: { topic: "tea" } };
  const saidBy = ({ messages }: { messages: readonly { content: unknown }[] }) =>
    JSON.parse((messages[0]!.content as { text: string }).text) as unknown;

  test("of an upstream are listed and read in every family of revisions, unchanged except for their names", async () => {
    const [now, before] = [await modern(), new v1.Client({ name: "test", version: "1" })];
    await before.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    try {
      for (const { prompts } of [await now.listPrompts(), await before.listPrompts()]) {
        expect(prompts.find(({ name }) => name === "classic_about")).toMatchObject({
          title: "About",
          description: "Says about.",
          arguments: [{ name: "topic", description: "About what.", required: true }],
        });
        // One that is away has taken nothing along.
        expect(prompts.map(({ name }) => name)).toEqual(expect.arrayContaining(["any.simple-prompt"]));
      }
      expect(saidBy(await now.getPrompt(about))).toEqual({ topic: "tea" });
      expect(await before.getPrompt(about)).toMatchObject({ description: "About a topic" });
    } finally {
      await Promise.all([now.close(), before.close()]);
    }
  });

  test("may ask, and their answers go to them", async () => {
    const connected = new v1.Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
    connected.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { ok: true } }) as const);
    await connected.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    try {
      expect(saidBy(await connected.getPrompt(asking))).toEqual({ topic: "tea", action: "accept", content: { ok: true } });
    } finally {
      await connected.close();
    }
  });
});

describe("resources", () => {
  test("of an upstream are listed under separate uris, read by their templates, and completed, in every family of revisions", async () => {
    const [now, before] = [await modern(), new v1.Client({ name: "test", version: "1" })];
    await before.connect(new StreamableHTTPClientTransport(new URL(deployment.url)) as never);
    try {
      for (const connected of [now, before]) {
        expect(connected.getServerCapabilities()).toMatchObject({ resources: { listChanged: true }, completions: {} });
        const { resources } = (await connected.listResources()) as { resources: { uri: string }[] };
        const document = resources.find(({ uri }) => uri === "everything+demo://resource/static/document/features.md");
        expect(document).toMatchObject({ name: expect.stringMatching(/^any\./), mimeType: "text/markdown" });
        const { contents } = await connected.readResource({ uri: document!.uri });
        expect(contents).toEqual([{ uri: document!.uri, mimeType: "text/markdown", text: expect.stringContaining("Everything Server") }]);
        const { resourceTemplates } = (await connected.listResourceTemplates()) as { resourceTemplates: { uriTemplate: string }[] };
        expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain("everything+demo://resource/dynamic/text/{resourceId}");
        const read = await connected.readResource({ uri: "everything+demo://resource/dynamic/text/7" });
        expect(JSON.stringify(read.contents)).toContain("Resource 7");
        await expect(connected.readResource({ uri: "everything+demo://elsewhere" })).rejects.toThrow("not found");
      }
      const { completion } = await now.complete({
        ref: { type: "ref/prompt", name: "any.completable-prompt" },
        argument: { name: "department", value: "E" },
      });
      expect(completion.values).toContain("Engineering");
    } finally {
      await Promise.all([now.close(), before.close()]);
    }
  });
});

describe("an upstream that holds nothing", () => {
  test("is called again with the answer and its own state, also by another worker", async () => {
    const { taskId } = await client.call("stateless_deploy", { text: "v2" });
    expect(await settled(taskId)).toMatchObject({ inputRequests: { "question-1": { params: { message: "stateless asks: Deploy v2?" } } } });
    await replaceWorkers();
    await client.answer(taskId, accept(true));
    expect(said(await ended(taskId))).toEqual({
      said: "v2",
      state: "state of v2",
      response: { action: "accept", content: { ok: true } },
      content: { ok: true },
    });
    expect(await marked("called deploy v2")).toBe(2);
  });

  test("that requires a page visit is called again once the person agreed", async () => {
    const { taskId } = await client.call("classic_url-first", { text: "account" });
    expect(await settled(taskId)).toMatchObject({
      inputRequests: { "question-1": { params: { mode: "url", url: "https://example.com/account?visit=1" } } },
    });
    await client.answer(taskId, { "question-1": { action: "accept" } });
    expect((await ended(taskId)).result?.content?.[0]?.text).toBe("visited");

    const slow = await client.call("classic_url-first", { text: "slow-account" });
    await settled(slow.taskId);
    await client.answer(slow.taskId, { "question-1": { action: "accept" } });
    expect((await ended(slow.taskId)).result?.content?.[0]?.text).toBe("visited");

    const refused = await client.call("classic_url-first", { text: "no-account" });
    await settled(refused.taskId);
    await client.answer(refused.taskId, { "question-1": { action: "decline" } });
    // 2026-07-28 must not send -32042.
    expect(await ended(refused.taskId)).toMatchObject({ status: "failed", error: { code: -32603 } });
  });
});

/** No process that holds a call is left. */
async function replaceWorkers(count = 1): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  orphaned = await sessions();
  workers.push(...(await Promise.all(Array.from({ length: count }, () => deployment.addWorker()))));
}

describe("a worker that is killed while it holds a call", () => {
  test("leaves a call that may be repeated: it is made again, once, and the same question is already answered", async () => {
    const { taskId } = await client.call("classic_confirm-again", { text: "repeated" });
    await settled(taskId);
    await replaceWorkers();
    expect(await client.get(taskId)).toMatchObject({ status: "input_required" });
    await client.answer(taskId, accept(true));
    expect(said(await ended(taskId))).toEqual({ said: "repeated", action: "accept", content: { ok: true } });
    expect(await marked("called confirm-again repeated")).toBe(2);
    expect(await marked("answered repeated")).toBe(1);
  });

  test("leaves a call that may not be repeated: its task fails with that reason, and the upstream is not called again", async () => {
    const { taskId } = await client.call("classic_confirm", { text: "lost" });
    await settled(taskId);
    await replaceWorkers();
    expect(await ended(taskId)).toMatchObject({ status: "failed", error: { data: { code: "UPSTREAM_LOST", upstream: "classic" } } });
    expect(await marked("called confirm lost")).toBe(1);
    expect(await marked("answered lost")).toBe(0);
  });

  test("in the middle of the upstream's work: the same, within its lease", async () => {
    const { taskId } = await client.call("classic_slow", { text: "2500" });
    await until(async () => (await marked("called slow 2500")) === 1);
    await replaceWorkers();
    expect(await ended(taskId)).toMatchObject({ status: "failed", error: { data: { code: "UPSTREAM_LOST" } } });
    expect(await marked("called slow 2500")).toBe(1);
  });
});

describe("a worker that is asked to stop while it holds calls", () => {
  test("waits for answers for a while, and then its tasks report what happened", async () => {
    const [answered, left] = await Promise.all(
      ["answered", "left"].map(async (text) => {
        const { taskId } = await client.call("classic_confirm", { text });
        await settled(taskId);
        return taskId;
      }),
    );
    const stopping = workers.splice(0);
    workers.push(await deployment.addWorker());
    const stopped = Promise.all(stopping.map((worker) => worker.stop()));
    await client.answer(answered!, accept(true));
    expect(said(await ended(answered!))).toMatchObject({ said: "answered", content: { ok: true } });
    expect(await ended(left!)).toMatchObject({ status: "failed", error: { data: { code: "UPSTREAM_LOST" } } });
    await stopped;
    expect(stopping.map(({ logs }) => logs.at(-1)?.msg)).toContain(
      "worker stopped, and ended calls at upstreams whose questions were not answered in time",
    );
    expect(await marked("called confirm left")).toBe(1);
  });

  test("leaves the question of a call that may be repeated open: its answer goes to the call that another worker makes", async () => {
    const { taskId } = await client.call("classic_confirm-again", { text: "rolled" });
    await settled(taskId);
    const stopping = workers.splice(0);
    workers.push(await deployment.addWorker());
    await Promise.all(stopping.map((worker) => worker.stop()));
    expect(await client.get(taskId)).toMatchObject({ status: "input_required" });
    await client.answer(taskId, accept(true));
    expect(said(await ended(taskId))).toEqual({ said: "rolled", action: "accept", content: { ok: true } });
    expect(await marked("called confirm-again rolled")).toBe(2);
    expect(await marked("answered rolled")).toBe(1);
  });
});

describe("an upstream in trouble", () => {
  test.each([
    ["strict_never", "UPSTREAM_TIMEOUT"],
    ["pipe_die", "UPSTREAM_LOST"],
  ])("%s ends as %s", async (tool, code) => {
    const { taskId } = await client.call(tool, {});
    expect(await ended(taskId)).toMatchObject({ status: "failed", error: { data: { code } } });
  });

  test("that fails with its own message passes it on unchanged", async () => {
    const { taskId } = await client.call("classic_fails", {});
    expect((await ended(taskId)).result).toMatchObject({ isError: true, content: [{ text: "it did not work" }] });
  });

  test("that sends more than a message or a task may hold fails only the call", async () => {
    for (const [chars, code] of [
      [9_000_000, "UPSTREAM_LOST"],
      [1_000_000, "TOO_LARGE"],
    ] as const) {
      const { taskId } = await client.call("classic_large", { text: String(chars) });
      expect(await ended(taskId)).toMatchObject({ status: "failed", error: { data: { code } } });
    }
  });

  test("says that its list has changed again and again: the new list is offered soon", async () => {
    for (let round = 1; round <= 50; round += 1) await (await fetch(new URL(`/late/${round}`, classic.url))).text();
    await offered(["classic_late-50"]);
  });

  test("is killed before, during and after a call: its calls fail, its tools stay listed, others are unharmed", async () => {
    const held = await client.call("classic_confirm", { text: "mortal" });
    await settled(held.taskId);
    await classic.kill();
    expect(await ended(held.taskId)).toMatchObject({ status: "failed", error: { data: { code: "UPSTREAM_LOST" } } });
    const { taskId } = await client.call("classic_plain", { text: "anybody?" });
    expect(await ended(taskId)).toMatchObject({ status: "failed", error: { data: { code: "UPSTREAM_UNAVAILABLE" } } });
    expect((await listed()).some(({ name }) => name === "classic_plain")).toBe(true);
    const other = await client.call("stateless_echo", { text: "here" });
    expect((await ended(other.taskId)).result?.content?.[0]?.text).toBe("here");

    classic = await startUpstream("classic.ts", ["http", String(classic.port)], { MARKS: marks });
    const again = await client.call("classic_plain", { text: "back" });
    expect((await ended(again.taskId)).result?.content?.[0]?.text).toBe("back");
  });
});

describe("server-everything", () => {
  test("asks through its own form, and receives the input", async () => {
    await offered(["any.trigger-elicitation-request"]);
    const { taskId } = await client.call("any.trigger-elicitation-request", {});
    const asked = await settled(taskId);
    expect(asked.status).toBe("input_required");
    await client.answer(taskId, { "question-1": { action: "accept", content: { name: "Ada" } } });
    expect(JSON.stringify((await ended(taskId)).result)).toContain("Ada");
  });
});

describe("another deployment", () => {
  test("that is its own upstream lists nothing of itself; one that passes on no questions declares that to its upstreams", async () => {
    const own = await mkdtemp(join(tmpdir(), "parley-gateway-"));
    const [port = 0] = await freePorts(1);
    const file = await writeUpstreams(own, [
      { name: "itself", url: `http://127.0.0.1:${port}/mcp` },
      { name: "classic", url: classic.url, include: ["capabilities"] },
    ]);
    const other = await startDeployment({
      frontEnds: 1,
      workers: 1,
      env: { PARLEY_UPSTREAMS: file, PARLEY_ELICITATION: "false" },
      frontEndEnv: { PARLEY_PORT: String(port) },
    });
    try {
      const refused = await until(() => other.workers[0]!.logs.find(({ msg }) => msg === "upstream could not be listed"));
      expect(refused).toMatchObject({ upstream: "itself" });
      const client = new v1.Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
      await client.connect(new StreamableHTTPClientTransport(new URL(other.url)) as never);
      const names = async () => (await client.listTools()).tools.map(({ name }) => name);
      await until(async () => (await names()).includes("classic_capabilities"));
      expect((await names()).filter((name) => name.startsWith("itself_"))).toEqual([]);
      const { content } = (await client.callTool({ name: "classic_capabilities" })) as { content: { text: string }[] };
      expect(JSON.parse(content[0]!.text)).toEqual({});
      await client.close();
    } finally {
      await other.close();
      await rm(own, { recursive: true });
    }
  });

  test("that is behind this one and has this one behind it lists only its own items, each time", async () => {
    const own = await mkdtemp(join(tmpdir(), "parley-gateway-"));
    const ports = await freePorts(2);
    const names = ["left", "right"] as const;
    const started: Deployment[] = [];
    try {
      for (const [index, name] of names.entries()) {
        const inside = join(own, name);
        await mkdir(inside);
        const file = await writeUpstreams(inside, [
          { name: names[1 - index], url: `http://127.0.0.1:${ports[1 - index]}/mcp`, refresh: "1s" },
        ]);
        started.push(
          await startDeployment({
            frontEnds: 1,
            workers: 1,
            tools: [join(import.meta.dirname, "tools/greet.ts")],
            env: { PARLEY_UPSTREAMS: file },
            frontEndEnv: { PARLEY_PORT: String(ports[index]) },
          }),
        );
      }
      const leftOut = () =>
        started.map(({ workers: [worker] }) =>
          worker!.logs.flatMap(({ msg, leftOut: why }) => (msg === "upstream listed" ? (why as string[]) : [])),
        );
      await until(() => leftOut().every((why) => why.some((each) => each.includes("comes back to the gateway"))));
      for (const { url } of started) {
        const client = new v1.Client({ name: "test", version: "1" });
        await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
        const listedNames = (await client.listTools()).tools.map((tool) => tool.name);
        expect(listedNames.some((name) => /^(left|right)_[a-z]/.test(name))).toBe(true);
        expect(listedNames.filter((name) => /(left|right)_(left|right)_(left|right)_/.test(name))).toEqual([]);
        await client.close();
      }
    } finally {
      await Promise.all(started.map((each) => each.close()));
      await rm(own, { recursive: true });
    }
  });
});
