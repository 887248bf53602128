/**
 * The messages that the test kit predicts (`seenBy` of @parley/protocol/testing) are those that a running front end sends, one by one, in
 * every revision. Ids, times and sealed values differ; everything else must be equal.
 */
import { SUPPORTED_VERSIONS } from "@parley/protocol";
import { seenBy } from "@parley/protocol/testing";
import { catalogue, defineTool, ToolError } from "@parley/sdk";
import { cancel, decline, type Reply, startTool, type TestTask } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { type Message, rpc } from "./client.fixture.ts";
import { deploy, type Front } from "./deployment.fixture.ts";
import { type EventStream, openSession } from "./session-client.fixture.ts";

const book = defineTool({
  name: "book",
  output: z.object({ size: z.int(), menu: z.string() }),
  async run(_args, ctx) {
    ctx.status("Looking for a table");
    ctx.progress(1, 2, "half");
    ctx.log("debug", { table: 7 }, "tables");
    ctx.log("error", "one table is broken");
    const [size, menu] = await Promise.all([
      ctx.number("size", { message: "How many?", min: 1, max: 9, step: 1, default: 2 }),
      ctx.select("menu", { message: "Which menu?", options: ["soup", { value: "fish", title: "Fish" }] }),
    ]);
    if (size > 8) throw new ToolError("No table is as large.");
    ctx.progress(2, 2);
    return { size, menu };
  },
});
const parts = defineTool({
  name: "parts",
  async run(_args, ctx) {
    await ctx.confirm("sure", { message: "Sure?" });
    return {
      content: [
        { type: "text", text: "a" },
        { type: "resource_link", uri: "file:///a", name: "a" },
      ],
    };
  },
});
const broken = defineTool({
  name: "broken",
  run() {
    throw new TypeError("a bug");
  },
});
const tools = catalogue([book, parts, broken]);

type Answers = { readonly [key: string]: Reply };
const COURSES: readonly [tool: typeof book | typeof parts, answers: Answers][] = [
  [book, { size: 4, menu: "fish" }],
  [book, { size: 9, menu: "soup" }],
  [book, { size: decline, menu: cancel }],
  [parts, { sure: true }],
  [broken, {}],
];

const DAY_MS = 24 * 60 * 60 * 1_000;
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Removes what differs by front end and by task. */
function normalised(messages: readonly object[], taskId: string): unknown {
  const text = JSON.stringify(messages.map(({ ...message }) => ({ ...message, eventId: undefined })));
  const own = text.replaceAll(taskId, "TASK").replaceAll(TIME, "TIME").replaceAll(UUID, "UUID");
  return (JSON.parse(own, anonymous) as Message[]).map((message) =>
    message.method === "elicitation/create" ? { ...message, id: "ID" } : message,
  );
}

function anonymous(name: string, value: unknown): unknown {
  if (name === "requestState") return "SEALED";
  // The poll interval grows with the time since the last change of the task.
  if (name === "ttl" || name === "ttlMs") return typeof value === "number" && value >= DAY_MS && value < DAY_MS + 60_000 ? "A DAY" : value;
  if (name === "io.modelcontextprotocol/serverInfo") return "SERVER";
  return name === "pollInterval" || name === "pollIntervalMs" ? "INTERVAL" : value;
}

const replies = (played: TestTask, answers: Answers) =>
  Object.fromEntries(
    played.task.asks.map(({ key }) => [key, answers[key]]).filter((entry): entry is [string, Reply] => entry[1] !== undefined),
  );

/** The answer as a client sends it, with the name of the form's only field. */
function sent(reply: Reply): object {
  if (reply === decline || reply === cancel) return { action: reply === decline ? "decline" : "cancel" };
  return { action: "accept", content: { value: reply } };
}

/** A question whose sibling ends the call is withdrawn, unless its own answer arrives first. */
async function nextInto(all: Message[], stream: EventStream): Promise<void> {
  const message = await stream.next();
  if (message.method !== "notifications/cancelled") all.push(message);
}

async function inTheKit(tool: (typeof COURSES)[number][0]): Promise<TestTask> {
  return await startTool(tool, {}, { showErrors: false });
}

const cases = COURSES.map(
  ([tool, answers]) =>
    [
      tool.name,
      JSON.stringify(answers, (_, value: unknown) => (typeof value === "symbol" ? value.description : value)),
      tool,
      answers,
    ] as const,
);

test.each(cases)("2026-07-28, a client that calls: %s with %s", async (name, _shown, tool, answers) => {
  const { fronts, services } = await deploy({ catalogue: tools, fronts: 1 });
  const front = fronts[0] as Front;
  const meta = { progressToken: "call", "io.modelcontextprotocol/logLevel": "debug" };
  const call = (more: object = {}) =>
    rpc(front, "tools/call", { name, arguments: {}, ...more }, { tasks: false, meta, capabilities: CAPABILITIES });
  const played = await inTheKit(tool);
  const created: string[] = [];
  const { create } = services.store;
  services.store.create = async (request) => (created.push(request.taskId), await create(request));

  const first = await call();
  const messages = (received: typeof first) => [
    ...received.notifications,
    { jsonrpc: "2.0", id: "call", ...(received.error ? { error: received.error } : { result: received.result }) },
  ];
  expect(normalised(messages(first), created[0]!)).toEqual(normalised(seenBy("2026-07-28", played), played.task.id));
  if (played.task.asks.length === 0) return;

  const inputResponses = Object.fromEntries(Object.entries(replies(played, answers)).map(([key, reply]) => [key, sent(reply)]));
  const second = await call({ requestState: first.result!["requestState"], inputResponses });
  await played.answer(replies(played, answers));
  // Earlier notifications were part of the first reply.
  expect(normalised([...first.notifications, ...messages(second)], created[0]!)).toEqual(
    normalised(seenBy("2026-07-28", played), played.task.id),
  );
});

test.each(cases)("2026-07-28, a client of a task: %s with %s", async (name, _shown, tool, answers) => {
  const { fronts } = await deploy({ catalogue: tools, fronts: 1 });
  const front = fronts[0] as Front;
  const played = await inTheKit(tool);
  const created = await rpc(front, "tools/call", { name, arguments: {} }, { capabilities: CAPABILITIES });
  const taskId = String(created.result!["taskId"]);
  const get = async () => (await rpc(front, "tasks/get", { taskId }, { capabilities: CAPABILITIES })).result;
  const equal = async () => {
    await until(async () => (await get())!["status"] === played.task.status);
    const found = normalised([{ jsonrpc: "2.0", id: "tasks/get", result: await get() }], taskId);
    expect(found).toEqual(normalised(seenBy("2026-07-28", played, { as: "task" }), played.task.id));
  };
  await equal();
  if (played.task.asks.length === 0) return;
  const inputResponses = Object.fromEntries(Object.entries(replies(played, answers)).map(([key, reply]) => [key, sent(reply)]));
  await rpc(front, "tasks/update", { taskId, inputResponses }, { capabilities: CAPABILITIES });
  await played.answer(replies(played, answers));
  await equal();
});

const SESSIONS = SUPPORTED_VERSIONS.filter((version) => version < "2026");

test.each(SESSIONS.flatMap((version) => cases.map((each) => [version, ...each] as const)))(
  "%s, a client that calls: %s with %s",
  async (version, name, _shown, tool, answers) => {
    const { fronts, services } = await deploy({ catalogue: tools, fronts: 1 });
    const front = fronts[0] as Front;
    const created: string[] = [];
    const { create } = services.store;
    services.store.create = async (request) => (created.push(request.taskId), await create(request));
    const client = await openSession(front, { version, capabilities: CAPABILITIES });
    await client.request(front, "logging/setLevel", { level: "debug" });
    const played = await inTheKit(tool);
    const wanted = seenBy(version, played);
    const params = { name, arguments: {}, _meta: { progressToken: "call" } };
    if (played.task.asks.length === 0) {
      // A call that ends at once needs no stream.
      const { messages } = await client.request(front, "tools/call", params, "call");
      return expect(normalised(messages, created[0]!)).toEqual(normalised(wanted, played.task.id));
    }
    const call = await client.stream(front, "tools/call", params, "call");
    const found: Message[] = [];
    while (found.length < wanted.length) found.push(await call.next());
    expect(normalised(found, created[0]!)).toEqual(normalised(wanted, played.task.id));
    const questions = found.filter(({ method }) => method === "elicitation/create");

    for (const [index, { key }] of played.task.asks.entries()) await client.reply(front, questions[index]?.id, sent(answers[key] as Reply));
    await played.answer(replies(played, answers));
    const end = seenBy(version, played);
    const all = found.filter(({ method }) => method !== "elicitation/create");
    while (all.length < end.length) await nextInto(all, call);
    expect(normalised(all, created[0]!)).toEqual(normalised(end, played.task.id));
  },
);

test.each(cases)("2025-11-25, a client of a task: %s with %s", async (name, _shown, tool, answers) => {
  const { fronts, services } = await deploy({ catalogue: tools, fronts: 1 });
  const front = fronts[0] as Front;
  const client = await openSession(front, { capabilities: CAPABILITIES });
  await client.request(front, "logging/setLevel", { level: "debug" });
  const played = await inTheKit(tool);
  const created = await client.request(front, "tools/call", { name, arguments: {}, task: {}, _meta: { progressToken: "call" } }, "create");
  const { taskId } = created.messages.at(-1)!.result!["task"]! as unknown as { taskId: string };
  const get = async () => (await client.request(front, "tasks/get", { taskId }, "tasks/get")).messages.at(-1)!;
  await until(async () => (await services.store.load(taskId))?.status === played.task.status);
  const wanted = seenBy("2025-11-25", played, { as: "task" });
  expect(normalised([await get()], taskId)).toEqual(normalised(wanted.slice(0, 1), played.task.id));

  const params = { taskId, _meta: { progressToken: "call" } };
  if (played.task.asks.length === 0) {
    const { messages } = await client.request(front, "tasks/result", params, "tasks/result");
    return expect(normalised(messages, taskId)).toEqual(normalised(wanted.slice(1), played.task.id));
  }
  const result = await client.stream(front, "tasks/result", params, "tasks/result");
  const found: Message[] = [];
  while (found.length < wanted.length - 1) found.push(await result.next());
  expect(normalised(found, taskId)).toEqual(normalised(wanted.slice(1), played.task.id));

  const questions = found.filter(({ method }) => method === "elicitation/create");
  for (const [index, { key }] of played.task.asks.entries()) await client.reply(front, questions[index]?.id, sent(answers[key] as Reply));
  await played.answer(replies(played, answers));
  const end = seenBy("2025-11-25", played, { as: "task" });
  const all = found.filter(({ method }) => method !== "elicitation/create");
  while (all.length < end.length - 1) await nextInto(all, result);
  expect(normalised(all, taskId)).toEqual(normalised(end.slice(1), played.task.id));
});
