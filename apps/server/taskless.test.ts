/** Calls that a front end answers without a task, in both families of revisions, and those that need one after all. */
import { type FeedItem, type Runnable, RpcFailure, type Tool } from "@parley/core";
import { describe, expect, test, vi } from "vitest";
import { post, rpc } from "./client.fixture.ts";
import { deploy, type Front } from "./deployment.fixture.ts";
import { openSession, type SessionClient } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

type CallTaskless = NonNullable<Runnable["callTaskless"]>;

const REPORTS: readonly FeedItem[] = [
  { type: "log", level: "info", data: "looked it up" },
  { type: "progress", progress: 2, total: 2 },
];
const DONE: CallTaskless = async () => ({ result: { content: [{ type: "text", text: "done" }] }, reports: REPORTS });

/** `find` answers without a task as `callTaskless` says; as a task, it asks. */
async function deployed(callTaskless: CallTaskless, { fronts: count = 1 } = {}) {
  const greet = offered.tools.get("greet") as Tool;
  const called = vi.fn(callTaskless);
  const find: Tool = { ...greet, name: "find", callTaskless: called };
  const { fronts, services, sessions } = await deploy({
    catalogue: { ...offered, tools: new Map([...offered.tools, ["find", find]]) },
    fronts: count,
  });
  const created = vi.spyOn(services.store, "create");
  const forgotten = ({ sessionId }: SessionClient) => expect.poll(async () => (await sessions.calls(sessionId)).size).toBe(0);
  return { fronts, front: fronts[0] as Front, services, sessions, called, created, forgotten };
}

const QUESTION = { method: "elicitation/create" };

describe.each(["2025-11-25", "2025-06-18", "2025-03-26"])("a call of %s", (version) => {
  test("is answered without a task, after the logs that it caused", async () => {
    const { front, created } = await deployed(DONE);
    const client = await openSession(front, { version });
    const { messages } = await client.request(front, "tools/call", { name: "find", arguments: {} });
    expect(messages).toMatchObject([
      { method: "notifications/message", params: { level: "info", data: "looked it up" } },
      { result: { content: [{ text: "done" }] } },
    ]);
    expect(created).not.toHaveBeenCalled();
  });

  test("shows its last progress to a client that wants it", async () => {
    const { front, created } = await deployed(DONE);
    const client = await openSession(front, { version });
    const { messages } = await client.request(front, "tools/call", { name: "find", arguments: {}, _meta: { progressToken: 7 } });
    expect(messages).toMatchObject([
      { method: "notifications/message" },
      { method: "notifications/progress", params: { progressToken: 7, progress: 2, total: 2 } },
      { result: { content: [{ text: "done" }] } },
    ]);
    expect(created).not.toHaveBeenCalled();
  });

  test("becomes a task if it needs one", async () => {
    const { front, called } = await deployed(async () => undefined);
    const client = await openSession(front, { version, capabilities: { elicitation: {} } });
    const stream = await client.stream(front, "tools/call", { name: "find", arguments: {} });
    const asked = await stream.next();
    expect(asked).toMatchObject(QUESTION);
    await client.reply(front, asked.id, { action: "accept", content: { name: "Ann" } });
    expect(await stream.next()).toMatchObject({ result: { content: [{ text: "Hello, Ann!" }] } });
    expect(called).toHaveBeenCalledTimes(1);
  });

  test("throws the error of what it calls", async () => {
    const { front, created } = await deployed(async () => {
      throw new RpcFailure(-32_050, "no such thing", { thing: 1 });
    });
    const client = await openSession(front, { version });
    const { messages } = await client.request(front, "tools/call", { name: "find", arguments: {} });
    expect(messages).toMatchObject([{ error: { code: -32_050, message: "no such thing", data: { thing: 1 } } }]);
    expect(created).not.toHaveBeenCalled();
  });
});

test.each([
  ["has an idempotency key", { _meta: { "parley/idempotencyKey": "once" } }],
  ["asks for a task", { task: {} }],
])("a call that %s is a task", async (_what, more) => {
  const { front, called, created } = await deployed(DONE);
  const client = await openSession(front);
  const stream = await client.stream(front, "tools/call", { name: "find", arguments: {}, ...more });
  await expect.poll(() => created.mock.calls.length).toBe(1);
  stream.close();
  expect(called).not.toHaveBeenCalled();
});

describe("a call of 2026-07-28", () => {
  test.each([true, false])("is answered without a task, whether its client has tasks (%s) or not", async (tasks) => {
    const { front, called, created } = await deployed(DONE);
    const { result, notifications } = await rpc(front, "tools/call", { name: "find", arguments: {} }, { tasks });
    expect(result).toMatchObject({ resultType: "complete", content: [{ text: "done" }] });
    expect(notifications).toEqual([]);
    expect(created).not.toHaveBeenCalled();
    expect(called.mock.calls[0]?.[0]).toMatchObject({ hidden: !tasks, capabilities: { elicitation: { form: true, url: true } } });
  });

  test("shows logs to a client that wants them", async () => {
    const { front } = await deployed(DONE);
    const meta = { "io.modelcontextprotocol/logLevel": "info" };
    const { notifications } = await rpc(front, "tools/call", { name: "find", arguments: {} }, { tasks: false, meta });
    expect(notifications).toMatchObject([{ params: { data: "looked it up" } }]);
  });

  test.each([
    [true, { resultType: "task" }],
    [false, { resultType: "input_required" }],
  ])("becomes a task if it needs one, for a client that has tasks (%s) or not", async (tasks, expected) => {
    const { front } = await deployed(async () => undefined);
    const { result } = await rpc(front, "tools/call", { name: "find", arguments: {} }, { tasks });
    expect(result).toMatchObject(expected);
  });

  test("with replies is a task, as its retry is", async () => {
    const { front, called } = await deployed(DONE);
    const inputResponses = { who: { action: "accept", content: { name: "Ann" } } };
    await rpc(front, "tools/call", { name: "find", arguments: {}, inputResponses }, { tasks: false });
    expect(called).not.toHaveBeenCalled();
  });

  test("whose client leaves is given up, and no task is created", async () => {
    const left = new AbortController();
    const { front, called, created } = await deployed(
      ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined))),
    );
    const response = post(front, "tools/call", { name: "find", arguments: {} }, { tasks: false, signal: left.signal });
    await expect.poll(() => called.mock.calls.length).toBe(1);
    left.abort();
    await expect(response).rejects.toThrow();
    await expect(called.mock.results[0]?.value).resolves.toBeUndefined();
    // The front end has handled what came before.
    await rpc(front, "tools/list", {});
    expect(created).not.toHaveBeenCalled();
  });
});

describe("a call of a session that is cancelled", () => {
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "the-call" } };

  test.each([0, 1])("while it has no task gets none, at the front end of the call and at another one (%s)", async (told) => {
    const needsTask = Promise.withResolvers<undefined>();
    const { fronts, called, created, forgotten } = await deployed(() => needsTask.promise, { fronts: 2 });
    const client = await openSession(fronts[0] as Front);
    const response = client.request(fronts[0] as Front, "tools/call", { name: "find", arguments: {} }, "the-call");
    await expect.poll(() => called.mock.calls.length).toBe(1);
    expect((await client.post(fronts[told] as Front, cancelled)).status).toBe(202);
    needsTask.resolve(undefined);
    expect((await response).messages).toEqual([]);
    expect(created).not.toHaveBeenCalled();
    await forgotten(client);
  });

  test("while its task is created cancels the task", async () => {
    const { front, services, sessions, created, forgotten } = await deployed(async () => undefined);
    const client = await openSession(front);
    const note = sessions.noteCall.bind(sessions);
    vi.spyOn(sessions, "noteCall").mockImplementationOnce(async (...call) => {
      await client.post(front, cancelled);
      return await note(...call);
    });
    const { messages } = await client.request(front, "tools/call", { name: "find", arguments: {} }, "the-call");
    expect(messages).toEqual([]);
    const taskId = created.mock.calls[0]?.[0]?.taskId ?? "";
    expect(await services.store.load(taskId)).toMatchObject({ status: "cancelled" });
    await forgotten(client);
  });

  test("by the end of its session gets no task", async () => {
    const needsTask = Promise.withResolvers<undefined>();
    const { fronts, called, created } = await deployed(() => needsTask.promise, { fronts: 2 });
    const client = await openSession(fronts[0] as Front);
    const response = client.request(fronts[0] as Front, "tools/call", { name: "find", arguments: {} }, "the-call");
    await expect.poll(() => called.mock.calls.length).toBe(1);
    await fetch((fronts[1] as Front).url, { method: "DELETE", headers: { "mcp-session-id": client.sessionId } });
    needsTask.resolve(undefined);
    expect((await response).messages).toMatchObject([{ error: { message: "The session has ended." } }]);
    expect(created).not.toHaveBeenCalled();
  });

  test("once it has a task cancels the task", async () => {
    const { front, created } = await deployed(async () => undefined);
    const client = await openSession(front);
    const open = await client.stream(front, "tools/call", { name: "find", arguments: {} }, "the-call");
    const question = await open.next();
    expect(question).toMatchObject(QUESTION);
    expect(created).toHaveBeenCalledTimes(1);
    await client.post(front, cancelled);
    expect(await open.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: question.id } });
    await open.ended();
  });
});

test("a call of a session that is answered without a task leaves no note in its session", async () => {
  const { front, sessions } = await deployed(DONE);
  const noted = vi.spyOn(sessions, "noteCall");
  const client = await openSession(front);
  expect((await client.request(front, "tools/call", { name: "find", arguments: {} }, "the-call")).messages.at(-1)).toHaveProperty("result");
  expect(noted).not.toHaveBeenCalled();
});
