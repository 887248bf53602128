/** Tasks of an upstream of 2025-11-25 with the official SDK, over HTTP. A new worker makes each poll, and shares nothing with the one before. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ElicitResultSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSessionServer } from "../../../test/support/session-server.ts";
import { until } from "../../../test/support/until.ts";
import { readListing } from "../lists/listing.ts";
import { type Leading, startCall } from "../call/upstream-call.ts";
import type { Given, UpstreamEvent } from "../wire/upstream-event.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createConnector } from "./upstream-session.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";
import { aRequest, FORM, leading, someDeps } from "../upstream.fixture.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

let sessions: Map<string, StreamableHTTPServerTransport>;
let stores: InMemoryTaskStore[];
let calls: number;
let upstream: Upstream;

/** Asks the given number of questions, one after the other, and ends with the answers. */
function build(): Server {
  const taskStore = new InMemoryTaskStore();
  stores.push(taskStore);
  const server = new Server(
    { name: "tasks", version: "1" },
    {
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } }, cancel: {} } },
      taskStore,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
      defaultTaskPollInterval: 1,
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      { name: "ask", inputSchema: { type: "object" as const }, execution: { taskSupport: "required" as const } },
      { name: "plain", inputSchema: { type: "object" as const } },
    ],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendRequest, taskStore: tasks }) => {
    calls += 1;
    if (!params.task || !tasks) return { content: [{ type: "text", text: "no task" }] };
    const { taskId, ...rest } = await tasks.createTask({ ttl: params.task.ttl ?? null, pollInterval: 1 });
    const work = async () => {
      const answers: unknown[] = [];
      for (let number = 1; number <= Number(params.arguments?.["questions"]); number += 1) {
        await tasks.updateTaskStatus(taskId, "input_required", `asks ${number}`);
        const asked = { mode: "form", message: `question ${number}`, requestedSchema: FORM } as const;
        const options = { relatedTask: { taskId }, timeout: 60_000 };
        answers.push(await sendRequest({ method: "elicitation/create", params: asked }, ElicitResultSchema, options));
        await tasks.updateTaskStatus(taskId, "working");
      }
      if (params.arguments?.["page"] === true) {
        const page = { mode: "url", message: "Log in", url: "https://up.example.com/login", elicitationId: "login" } as const;
        await tasks.updateTaskStatus(taskId, "input_required");
        const related = { relatedTask: { taskId } };
        answers.push(
          await sendRequest({ method: "elicitation/create", params: page }, ElicitResultSchema, { ...related, timeout: 60_000 }),
        );
        await tasks.updateTaskStatus(taskId, "working");
        await server.notification({ method: "notifications/elicitation/complete", params: { elicitationId: "login" } }, related);
        await server.notification({ method: "notifications/elicitation/complete", params: { elicitationId: "another" } }, related);
      }
      const isError = params.arguments?.["fails"] === true;
      await tasks.storeTaskResult(taskId, isError ? "failed" : "completed", {
        content: [{ type: "text", text: JSON.stringify(answers) }],
        isError,
      });
    };
    // A cancelled task accepts no result.
    void work().catch(() => undefined);
    return { task: { taskId, ...rest } };
  });
  return server;
}

beforeEach(async () => {
  stores = [];
  calls = 0;
  const server = createSessionServer(build);
  ({ sessions } = server);
  const http = createServer((request, response) => void server.serve(request, response)).listen(0, "127.0.0.1");
  await once(http, "listening");
  closers.push(() => {
    for (const store of stores) store.cleanup();
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  [upstream] = parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "up", url, callTimeout: "20s" }] })) as [Upstream];
});

function worker() {
  const { fetch, close } = createUpstreamFetch();
  closers.push(close);
  return createConnector({ fetch, version: "1", deployment: "d" });
}

interface Lead {
  readonly args?: { readonly questions?: number; readonly fails?: boolean; readonly page?: boolean };
  readonly given?: readonly Given[];
  /** The outcome of the previous call. */
  readonly before?: Required;
  readonly rate?: () => Promise<number>;
  readonly report?: Leading["report"];
}

type Required = Extract<UpstreamEvent, { type: "required" }>;

function lead({ args = {}, given = [], before, rate }: Lead = {}) {
  const asked = given.map(({ question }) => question.id);
  const responses = Object.fromEntries(
    given.filter(({ question }) => before?.questions.includes(question)).map(({ question, answer }) => [question.id, answer]),
  );
  const round = before?.task && { responses, task: { id: before.task.id, asked } };
  return startCall(
    "1",
    aRequest({ upstream, tool: "ask", asTask: true, args, given, askedBefore: given.length, ...(round && { round }) }),
    someDeps(worker(), { ...(rate && { rate }) }),
  );
}

/** Polls until the upstream's task asks or has ended, from a new worker each time. */
async function untilSettled(of: Lead): Promise<UpstreamEvent> {
  let { before } = of;
  const { report = () => undefined } = of;
  for (let isFirst = true; ; isFirst = false) {
    const event = await lead({ ...of, ...(before && { before }), ...(!isFirst && { given: of.given ?? [] }) }).next([], {
      ...leading(),
      report,
    });
    if (event.type !== "required" || event.questions.length > 0) return event;
    // The first poll sent the answers.
    before = { ...event, questions: [] };
  }
}

const ACCEPTED = { action: "accept", content: { ok: true } } as const;

test("its tools declare that they run as tasks", async () => {
  const session = await worker().open(upstream, { capabilities: {} });
  const { tools } = await readListing(session, upstream);
  expect(tools).toMatchObject([{ name: "ask", execution: { taskSupport: "required" } }, { name: "plain" }]);
  expect(tools[1]).not.toHaveProperty("execution");
  await session.close();
});

test("its questions are asked, each once, and its result is received, with nothing held in between", async () => {
  const args = { questions: 2 };
  let event = await untilSettled({ args });
  const given: Given[] = [];
  for (const message of ["question 1", "question 2"]) {
    if (event.type !== "required") throw new Error(`${event.type} came in place of a question: ${JSON.stringify(event)}`);
    expect(event.questions).toMatchObject([{ request: { type: "form", message } }]);
    expect(event.task?.id).toContain([...sessions.keys()][0]);
    expect(event.task?.message).toBe(message.replace("question", "asks"));
    given.push({ question: event.questions[0]!, answer: ACCEPTED });
    event = await untilSettled({ args, given: [...given], before: event });
  }
  expect(event).toEqual({
    type: "result",
    result: { content: [{ type: "text", text: JSON.stringify([ACCEPTED, ACCEPTED]) }], isError: false, _meta: {} },
  });
  expect(calls).toBe(1);
  await until(() => sessions.size === 0);
});

test("it tells when a page was completed, and a worker that did not ask for the visit knows which", async () => {
  const args = { page: true };
  const asked = await untilSettled({ args });
  if (asked.type !== "required") throw new Error("a question was to come");
  const reported: unknown[] = [];
  const given = [{ question: structuredClone(asked.questions[0]!), answer: { action: "accept" } as const }];
  const event = await untilSettled({
    args,
    before: { ...asked, questions: [given[0]!.question] },
    given,
    report: (item) => void reported.push(item),
  });
  expect(event).toMatchObject({ type: "result" });
  expect(reported).toEqual([{ type: "visited", key: "question-1" }]);
});

test("one that asks nothing, and one that fails, end with their result and their session", async () => {
  for (const fails of [false, true]) {
    expect(await untilSettled({ args: { questions: 0, fails } })).toMatchObject({ type: "result", result: { isError: fails } });
  }
  await until(() => sessions.size === 0);
});

test("one whose caller cancels it is cancelled at the upstream, by a worker that never saw it", async () => {
  const asked = await untilSettled({ args: { questions: 1 } });
  if (asked.type !== "required") throw new Error("a question was to come");
  const call = lead({ before: asked, given: [] });
  expect(await call.next([], leading())).toMatchObject({ type: "required", task: { id: asked.task?.id } });
  await call.close();
  const tasks = await Promise.all(stores.map((store) => store.listTasks()));
  expect(tasks.flatMap((list) => list.tasks.map(({ status }) => status))).toEqual(["cancelled"]);
  expect(sessions.size).toBe(0);
});

test("one whose session is forgotten fails with an error that names the reason", async () => {
  const asked = await untilSettled({ args: { questions: 1 } });
  if (asked.type !== "required") throw new Error("a question was to come");
  sessions.clear();
  const event = await lead({ before: asked, given: [{ question: asked.questions[0]!, answer: ACCEPTED }] }).next([], leading());
  expect(event).toEqual({ type: "error", error: { code: -32000, message: "the upstream has forgotten the session of its task" } });
  expect(calls).toBe(1);
});

test("a tool that does not run as a task is called without one", async () => {
  const call = startCall("1", aRequest({ upstream, tool: "plain" }), someDeps(worker()));
  expect(await call.next([], leading())).toMatchObject({ type: "result", result: { content: [{ text: "no task" }] } });
});

test("one whose question is refused is cancelled at the upstream, which would wait for its answer in vain", async () => {
  const refused = await untilSettled({ args: { questions: 1 }, rate: async () => 1_500 });
  expect(refused).toMatchObject({ type: "error", error: { message: expect.stringContaining("PARLEY_ELICITATIONS_RATE") } });
  const statuses = async () =>
    (await Promise.all(stores.map((store) => store.listTasks()))).flatMap(({ tasks }) => tasks.map(({ status }) => status));
  await expect.poll(() => statuses()).toEqual(["cancelled"]);
  await until(() => sessions.size === 0);
});
