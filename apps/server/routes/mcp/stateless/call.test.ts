import { ParleyError, sweep } from "@parley/core";
import type { MemoryWakeUps } from "@parley/core/memory";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "../../../../../test/support/until.ts";
import { type Options, post, rpc, stream } from "../../../client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front, holdNext } from "../../../deployment.fixture.ts";
import { disk, held, offered } from "../../../tools.fixture.ts";

const plain: Options = { tasks: false };
const alice = { action: "accept", content: { name: "Alice" } };

async function twoFronts(
  times = {},
  more: Partial<Deploy> = {},
): Promise<{ here: Front; there: Front } & Awaited<ReturnType<typeof deploy>>> {
  const deployment = await deploy({ catalogue: offered, times, ...more });
  const [here, there] = deployment.fronts;
  return { ...deployment, here: here!, there: there! };
}

describe("a client that speaks tasks", () => {
  test("receives a task at once, which every front end knows", async () => {
    const { here, there } = await twoFronts();
    const created = await rpc(here, "tools/call", { name: "greet", arguments: {} });
    expect(created).toMatchObject({ status: 200, result: { resultType: "task", status: "working" } });
    const got = await rpc(there, "tasks/get", { taskId: created.result!["taskId"] });
    expect(got.result).toMatchObject({
      resultType: "complete",
      status: "input_required",
      inputRequests: { who: { method: "elicitation/create" } },
    });
  });

  test("is asked although it sent early replies, unless the tool declares that it accepts them", async () => {
    const { here } = await twoFronts();
    const call = async (name: string) => {
      const { taskId } = (await rpc(here, "tools/call", { name, arguments: {}, inputResponses: { who: alice } })).result!;
      return (await rpc(here, "tasks/get", { taskId })).result;
    };
    expect(await call("greet")).toMatchObject({ status: "input_required", inputRequests: { who: {} } });
    expect(await call("introduce")).toMatchObject({ status: "completed" });
  });

  test("answers at another front end than the one that it called, and gets the result from either", async () => {
    const { here, there } = await twoFronts();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} })).result!["taskId"];
    await rpc(there, "tasks/get", { taskId });
    const updated = await rpc(there, "tasks/update", { taskId, inputResponses: { who: alice } });
    expect(updated.result).toMatchObject({ resultType: "complete" });
    const got = await rpc(here, "tasks/get", { taskId });
    expect(got.result).toMatchObject({
      status: "completed",
      result: { resultType: "complete", content: [{ type: "text", text: "Hello, Alice!" }] },
    });
  });

  test("gets the result in the reply if the tool never runs as a task", async () => {
    const { here } = await twoFronts();
    const called = await rpc(here, "tools/call", { name: "echo", arguments: { text: "hi" } });
    expect(called).toMatchObject({
      contentType: "application/json; charset=utf-8",
      result: { resultType: "complete", content: [{ text: "hi" }] },
    });
  });

  test("is asked the first question in the reply to the call, and receives the same task for its answer", async () => {
    const { here, there, services } = await twoFronts();
    const asked = await rpc(here, "tools/call", { name: "ask-first", arguments: {} });
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { who: {} } });
    const [waiting] = (await services.store.list({ principal: "anonymous", limit: 10 })).tasks;
    const retried = await rpc(there, "tools/call", {
      name: "ask-first",
      arguments: {},
      requestState: asked.result!["requestState"],
      inputResponses: { who: alice },
    });
    expect(retried.result).toMatchObject({ resultType: "task", taskId: waiting!.id });
    expect(retried.result).not.toHaveProperty("requestState");
    const got = await rpc(here, "tasks/get", { taskId: waiting!.id });
    expect(got.result).toMatchObject({ status: "completed", result: { content: [{ text: "for Alice" }] } });
  });

  test.each([
    ["is cancelled if it closes the call before it has the task's id", {}, "cancelled"],
    ["goes on if it closes a call that it can repeat", { "parley/idempotencyKey": "k1" }, "completed"],
  ])("a tool with askFirst %s", async (_, meta, status) => {
    const { here, services, logged } = await twoFronts();
    const leave = new AbortController();
    const before = held.release;
    const gone = post(here, "tools/call", { name: "work-first", arguments: {} }, { meta, signal: leave.signal });
    await until(() => held.release !== before);
    const taskId = String(logged.find(({ message }) => message === "task created")?.fields["taskId"]);
    leave.abort();
    await expect(gone).rejects.toThrow();
    await until(() => here.waiting === 0);
    if (status === "completed") held.release();
    await until(async () => (await services.store.load(taskId))?.status === status);
  });

  test("receives the task of an ask-first tool if it cannot be asked", async () => {
    const { here } = await twoFronts();
    const called = await rpc(here, "tools/call", { name: "ask-first", arguments: {} }, { capabilities: {} });
    expect(called.result).toMatchObject({ resultType: "task", status: "working", statusMessage: expect.stringContaining("cannot ask it") });
  });

  test("gets a cancellation acknowledged, even twice and after the end", async () => {
    const { here, there } = await twoFronts();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} })).result!["taskId"];
    for (const front of [here, there]) {
      const cancelled = await rpc(front, "tasks/cancel", { taskId });
      expect(Object.keys(cancelled.result!)).not.toContain("status");
      expect(cancelled.result).toMatchObject({ resultType: "complete" });
    }
    expect((await rpc(here, "tasks/get", { taskId })).result).toMatchObject({ status: "cancelled" });
  });

  test("sees a JSON-RPC error of the tool as a failed task and a broken tool as a result", async () => {
    const { here } = await twoFronts();
    const refused = (await rpc(here, "tools/call", { name: "refuse", arguments: {} })).result!["taskId"];
    const broken = (await rpc(here, "tools/call", { name: "break", arguments: {} })).result!["taskId"];
    expect((await rpc(here, "tasks/get", { taskId: refused })).result).toMatchObject({ status: "failed", error: { code: -32050 } });
    expect((await rpc(here, "tasks/get", { taskId: broken })).result).toMatchObject({ status: "completed", result: { isError: true } });
  });
});

describe("a client without tasks", () => {
  test("is asked in the reply, answers with the retried call at another front end, and gets the result", async () => {
    const { here, there } = await twoFronts();
    const asked = await rpc(here, "tools/call", { name: "greet", arguments: {} }, plain);
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { who: { params: { message: "Who are you?" } } } });
    const retried = await rpc(
      there,
      "tools/call",
      { name: "greet", arguments: {}, requestState: asked.result!["requestState"], inputResponses: { who: alice } },
      plain,
    );
    expect(retried.result).toMatchObject({ resultType: "complete", content: [{ text: "Hello, Alice!" }] });
  });

  test("goes through several rounds, each with another requestState", async () => {
    const { here, there } = await twoFronts();
    const call = { name: "interview", arguments: {} };
    const first = await rpc(here, "tools/call", call, plain);
    const second = await rpc(
      there,
      "tools/call",
      { ...call, requestState: first.result!["requestState"], inputResponses: { name: alice } },
      plain,
    );
    expect(Object.keys(second.result!["inputRequests"]!)).toEqual(["color"]);
    expect(second.result!["requestState"]).not.toBe(first.result!["requestState"]);
    const color = { action: "accept", content: { color: "blue" } };
    const third = await rpc(
      here,
      "tools/call",
      { ...call, requestState: second.result!["requestState"], inputResponses: { color } },
      plain,
    );
    expect(third.result).toMatchObject({ content: [{ text: "Alice likes blue" }] });
  });

  test("answers with a requestState only what it was asked with that: a retry that comes late does not answer the next question", async () => {
    const { here, there } = await twoFronts();
    const call = { name: "interview", arguments: {} };
    const { requestState } = (await rpc(here, "tools/call", call, plain)).result!;
    const asked = await rpc(here, "tools/call", { ...call, requestState, inputResponses: { name: alice } }, plain);
    const guess = { name: alice, color: { action: "accept", content: { color: "none that anyone was asked for" } } };
    const again = await rpc(there, "tools/call", { ...call, requestState, inputResponses: guess }, plain);
    expect(Object.keys(again.result!["inputRequests"]!)).toEqual(["color"]);
    const color = { action: "accept", content: { color: "blue" } };
    const last = { ...call, requestState: asked.result!["requestState"], inputResponses: { color } };
    expect((await rpc(here, "tools/call", last, plain)).result).toMatchObject({ content: [{ text: "Alice likes blue" }] });
  });

  test("is asked again for missing answers, and the others are kept", async () => {
    const { here } = await twoFronts();
    const call = { name: "approve", arguments: {} };
    const first = await rpc(here, "tools/call", call, plain);
    expect(Object.keys(first.result!["inputRequests"]!)).toEqual(["ops", "legal"]);
    const part = { ops: { action: "decline" }, unheard: { action: "accept" } };
    const second = await rpc(here, "tools/call", { ...call, requestState: first.result!["requestState"], inputResponses: part }, plain);
    expect(Object.keys(second.result!["inputRequests"]!)).toEqual(["legal"]);
    const last = { legal: { action: "cancel" } };
    const third = await rpc(here, "tools/call", { ...call, requestState: second.result!["requestState"], inputResponses: last }, plain);
    expect(third.result).toMatchObject({ content: [{ text: "decline,cancel" }] });
  });

  test("may send early replies to a tool that accepts them: valid ones count, others are asked for", async () => {
    const { here } = await twoFronts();
    const call = { name: "introduce", arguments: {} };
    const fits = await rpc(here, "tools/call", { ...call, inputResponses: { who: alice } }, plain);
    expect(fits.result).toMatchObject({ content: [{ text: "This is Alice." }] });
    for (const bad of [12_345, null, { action: "accept", content: { name: "" } }, { action: "perhaps" }]) {
      const asked = await rpc(here, "tools/call", { ...call, inputResponses: { who: bad } }, plain);
      expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { who: {} } });
    }
  });

  test("confirms only what it was shown: without the requestState of its question, an answer does not count", async () => {
    const { here, there, services } = await twoFronts();
    const created = vi.spyOn(services.store, "create");
    const call = { name: "delete", arguments: {} };
    const inputResponses = { confirm: { action: "accept", content: { ok: true } } };
    disk.clear();
    disk.add("a.tmp");
    const shown = await rpc(here, "tools/call", call, plain);
    expect(shown.result).toMatchObject({ inputRequests: { confirm: { params: { message: "Delete a.tmp?" } } } });
    disk.add("thesis.tmp");

    // A retry whose requestState is refused must not start a call that confirms something else.
    const refused = await rpc(there, "tools/call", { ...call, requestState: "not one of ours", inputResponses }, plain);
    expect(refused.error).toMatchObject({
      data: { code: "REQUEST_STATE_INVALID", hint: expect.stringContaining("without requestState and without inputResponses") },
    });
    const again = await rpc(there, "tools/call", { ...call, inputResponses }, plain);

    expect(again.result).toMatchObject({
      resultType: "input_required",
      inputRequests: { confirm: { params: { message: "Delete a.tmp, thesis.tmp?" } } },
    });
    expect([...disk]).toEqual(["a.tmp", "thesis.tmp"]);
    expect(created.mock.calls.map(([{ call: stored }]) => stored.replies)).toEqual([undefined, undefined]);

    // With its requestState, the answer confirms what was shown first, and only that is deleted.
    const retried = await rpc(there, "tools/call", { ...call, requestState: shown.result!["requestState"], inputResponses }, plain);
    expect(retried.result).toMatchObject({ content: [{ text: "Deleted a.tmp." }] });
    expect([...disk]).toEqual(["thesis.tmp"]);
  });

  test("gets the tool's JSON-RPC error as its own", async () => {
    const { here } = await twoFronts();
    const refused = await rpc(here, "tools/call", { name: "refuse", arguments: {} }, plain);
    expect(refused).toMatchObject({ status: 200, error: { code: -32050, message: "not today", data: { until: "tomorrow" } } });
  });

  test("is refused a tool that must be a task", async () => {
    const { here } = await twoFronts();
    const refused = await rpc(here, "tools/call", { name: "handle-only", arguments: {} }, plain);
    expect(refused).toMatchObject({
      status: 400,
      error: { code: -32021, data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } } },
    });
  });

  test("learns which capability a question needs if it cannot be asked, and where text is forbidden its hidden task ends", async () => {
    const { here, services, logged } = await twoFronts({}, { ladder: { rungs: new Set(["task", "input_required", "held"] as const) } });
    const refused = await rpc(
      here,
      "tools/call",
      { name: "visit", arguments: {} },
      { tasks: false, capabilities: { elicitation: { form: {} } } },
    );
    expect(refused).toMatchObject({ status: 400, error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } } });
    const taskId = String(logged.find(({ message }) => message === "task created")!.fields["taskId"]);
    expect((await services.store.load(taskId))!.status).toBe("cancelled");
  });

  test("leaves no task in lists", async () => {
    const { here, services } = await twoFronts();
    await rpc(here, "tools/call", { name: "greet", arguments: {} }, plain);
    expect((await services.store.list({ principal: "anonymous", limit: 10 })).tasks).toEqual([]);
  });

  test("receives progress and logs before the answer if it asked for them, from its level on", async () => {
    const { here } = await twoFronts();
    const called = await rpc(
      here,
      "tools/call",
      { name: "report", arguments: {} },
      {
        tasks: false,
        meta: { progressToken: "p1", "io.modelcontextprotocol/logLevel": "info" },
      },
    );
    expect(called.contentType).toBe("text/event-stream");
    expect(called.notifications.map(({ method, params }) => [method, params?.["progress"] ?? params?.["data"]])).toEqual([
      ["notifications/progress", 1],
      ["notifications/progress", 3],
      ["notifications/message", "careful"],
    ]);
    expect(called.notifications[0]!.params).toMatchObject({ progressToken: "p1", total: 3, message: "reading" });
    expect(called.result).toMatchObject({ content: [{ text: "reported" }] });
  });

  test("receives progress that increases in a round although its tool starts over", async () => {
    const { here } = await twoFronts();
    const call = { name: "start-over", arguments: {} };
    const wants: Options = { tasks: false, meta: { progressToken: 1 } };
    const first = await rpc(here, "tools/call", call, wants);
    const given = { requestState: first.result!["requestState"], inputResponses: { name: alice } };
    const second = await rpc(here, "tools/call", { ...call, ...given }, wants);
    expect(second.notifications.map(({ params }) => params?.["message"])).toEqual(["again", "last"]);
    const [again, last] = second.notifications.map(({ params }) => Number(params?.["progress"]));
    expect(last).toBeGreaterThan(again!);
  });

  test("receives progress once, not again in the next round", async () => {
    const { here } = await twoFronts();
    const call = { name: "interview", arguments: {} };
    const wants: Options = { tasks: false, meta: { progressToken: 1 } };
    const first = await rpc(here, "tools/call", call, wants);
    const second = await rpc(
      here,
      "tools/call",
      { ...call, requestState: first.result!["requestState"], inputResponses: { name: alice } },
      wants,
    );
    expect(second.notifications.map(({ params }) => params!["progress"])).toEqual([1]);
    const color = { action: "accept", content: { color: "red" } };
    const third = await rpc(
      here,
      "tools/call",
      { ...call, requestState: second.result!["requestState"], inputResponses: { color } },
      wants,
    );
    expect(third.notifications.map(({ params }) => params!["progress"])).toEqual([2]);
  });

  test("receives what its task reported while the call was away, even if the task has finished", async () => {
    const { here, there } = await twoFronts();
    const wants: Options = { tasks: false, meta: { progressToken: 1 } };
    const call = { name: "interview", arguments: {} };
    const first = await rpc(here, "tools/call", call, wants);
    const named = { ...call, requestState: first.result!["requestState"], inputResponses: { name: alice } };
    const second = await rpc(here, "tools/call", named, wants);
    const asked = await rpc(there, "tools/call", named, wants);
    for (const round of [second, asked]) {
      expect(round.notifications.map(({ params }) => params!["progress"])).toEqual([1]);
      expect(round.result).toMatchObject({ resultType: "input_required" });
    }
    const color = { action: "accept", content: { color: "red" } };
    const last = { ...call, requestState: asked.result!["requestState"], inputResponses: { color } };
    for (const front of [here, there]) {
      const done = await rpc(front, "tools/call", last, wants);
      expect(done.notifications.map(({ params }) => params!["progress"])).toEqual([2]);
      expect(done.result).toMatchObject({ content: [{ text: "Alice likes red" }] });
    }
  });

  test("gets one JSON body if it asked for no notifications", async () => {
    const { here } = await twoFronts();
    const called = await rpc(here, "tools/call", { name: "report", arguments: {} }, plain);
    expect(called).toMatchObject({ contentType: "application/json; charset=utf-8", notifications: [] });
  });

  test("gets one JSON body if it does not accept streams", async () => {
    const { here } = await twoFronts({ streamAfterMs: 1 });
    const called = await rpc(
      here,
      "tools/call",
      { name: "report", arguments: {} },
      {
        tasks: false,
        meta: { progressToken: 1 },
        headers: { accept: "application/json" },
      },
    );
    expect(called).toMatchObject({ contentType: "application/json; charset=utf-8", result: { content: [{ text: "reported" }] } });
  });

  test("is kept connected by comments during a long call, then answered on the same stream", async () => {
    const { here } = await twoFronts({ streamAfterMs: 5, keepAliveMs: 5 });
    const open = await stream(here, "tools/call", { name: "hold", arguments: {} }, plain);
    const answer = open.next();
    await until(() => open.text.includes(": keep-alive\n\n"));
    held.release();
    expect((await answer).result).toMatchObject({ content: [{ text: "released" }] });
  });

  test("cancels the call by closing it", async () => {
    const { here, services, logged } = await twoFronts();
    const leave = new AbortController();
    const gone = post(here, "tools/call", { name: "hold", arguments: {} }, { tasks: false, signal: leave.signal });
    const taskId = await until(() => logged.find(({ message }) => message === "task created")?.fields["taskId"]);
    leave.abort();
    await expect(gone).rejects.toThrow();
    const ended = await until(async () => {
      const task = await services.store.load(String(taskId));
      return task?.status === "cancelled" && task;
    });
    expect(ended.message).toBe("The client closed the call.");
  });

  test("cancels the call by closing it while Redis is away, when Redis is back", async () => {
    const { here, services, logged } = await twoFronts();
    const leave = new AbortController();
    const gone = post(here, "tools/call", { name: "hold", arguments: {} }, { tasks: false, signal: leave.signal });
    const taskId = String(await until(() => logged.find(({ message }) => message === "task created")?.fields["taskId"]));
    const cancel = vi.spyOn(services.store, "cancel").mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));
    leave.abort();
    await expect(gone).rejects.toThrow();
    await until(() => cancel.mock.settledResults.length > 0);
    (services.wakeUps as MemoryWakeUps).changed(taskId);
    await until(async () => (await services.store.load(taskId))?.status === "cancelled");
  });

  test("learns that its answer was late, with the result of the call that went on without it", async () => {
    const guess = defineTool({
      name: "guess",
      async run(_args, ctx) {
        const assumed = { timeout: "30s", onTimeout: { default: { name: "Nobody" } } } as const;
        const { name } = await ctx.elicit("who", { message: "Who?", schema: z.object({ name: z.string() }), ...assumed });
        return { content: [{ type: "text", text: name }], _meta: { own: true } };
      },
    });
    const { fronts, services, skip } = await deploy({ catalogue: catalogue([guess]), fronts: 1 });
    const here = fronts[0]!;
    const created = vi.spyOn(services.store, "create");
    const call = { name: "guess", arguments: {} };
    const asked = await rpc(here, "tools/call", call, plain);
    const taskId = created.mock.calls[0]?.[0].taskId ?? "";
    skip(31_000);
    await sweep(services, { partition: 0 });
    await until(async () => (await services.store.load(taskId))?.status === "completed");

    const retried = await rpc(
      here,
      "tools/call",
      { ...call, requestState: asked.result!["requestState"], inputResponses: { who: alice } },
      plain,
    );

    expect(retried.result).toMatchObject({ content: [{ text: "Nobody" }], _meta: { own: true, "parley/receipts": { who: "late" } } });
  });

  test("loses no answer with a retry whose connection is dropped: the same retry gets the result", async () => {
    const { here, there, logged } = await twoFronts();
    const asked = await rpc(here, "tools/call", { name: "sign", arguments: {} }, plain);
    const retry = { name: "sign", arguments: {}, requestState: asked.result!["requestState"], inputResponses: { who: alice } };
    const leave = new AbortController();
    const gone = post(here, "tools/call", retry, { tasks: false, signal: leave.signal });
    await until(() => logged.some(({ message }) => message === "answer received"));
    await until(() => here.waiting === 1);

    leave.abort();
    await expect(gone).rejects.toThrow();
    await until(() => here.waiting === 0);
    const again = rpc(there, "tools/call", retry, plain);
    await until(() => there.waiting === 1);
    held.release();

    expect((await again).result).toMatchObject({ resultType: "complete", content: [{ text: "signed by Alice" }] });
  });

  test("that disconnected before its call could begin has started nothing", async () => {
    const callers = { caller: async () => callerNamed("anonymous") };
    const { fronts, logged } = await deploy({ catalogue: offered, limits: { waitsMax: 1 }, authenticate: () => callers.caller() });
    const redisIsBack = holdNext(callers, "caller");
    const leave = new AbortController();
    const gone = post(fronts[0]!, "tools/call", { name: "greet", arguments: {} }, { tasks: false, signal: leave.signal });
    await until(() => redisIsBack.awaited);

    leave.abort();
    await expect(gone).rejects.toThrow();
    await until(() => fronts[0]!.waiting === 0);
    redisIsBack.resolve();

    await until(async () => (await rpc(fronts[0]!, "tools/call", { name: "echo", arguments: { text: "hi" } }, plain)).result);
    expect(logged.filter(({ message }) => message === "task created").map(({ fields }) => fields["tool"])).toEqual(["echo"]);
  });

  test("receives an error if the call takes longer than the server waits, and the hidden task ends", async () => {
    const { here, services, logged } = await twoFronts({ callTimeoutMs: 30 });
    const late = await rpc(here, "tools/call", { name: "hold", arguments: {} }, plain);
    expect(late).toMatchObject({ status: 200, error: { code: -32603 } });
    expect(late.error!.message).toContain("did not finish within 30 ms");
    const taskId = String(logged.find(({ message }) => message === "task created")!.fields["taskId"]);
    expect((await services.store.load(taskId))!.status).toBe("cancelled");
  });

  test("is refused if the front end is at its limit of held calls, and nothing is started", async () => {
    const { fronts, logged } = await deploy({ catalogue: offered, limits: { waitsMax: 1 } });
    const leave = new AbortController();
    const first = post(fronts[0]!, "tools/call", { name: "hold", arguments: {} }, { tasks: false, signal: leave.signal });
    await until(() => logged.some(({ message }) => message === "task created"));
    const refused = await rpc(fronts[0]!, "tools/call", { name: "echo", arguments: { text: "hi" } }, plain);
    expect(refused.error).toMatchObject({ code: -32603, message: expect.stringContaining("PARLEY_WAITS_MAX") });
    expect(logged.filter(({ message }) => message === "task created")).toHaveLength(1);
    leave.abort();
    await expect(first).rejects.toThrow();
    await until(async () => (await rpc(fronts[0]!, "tools/call", { name: "echo", arguments: { text: "hi" } }, plain)).result);
  });
});

describe("a prompt", () => {
  test("accepts early replies only if it declares so", async () => {
    const { here } = await twoFronts();
    const inputResponses = { from: alice };
    const taken = await rpc(here, "prompts/get", { name: "note", arguments: {}, inputResponses });
    expect(taken.result).toMatchObject({ messages: [{ content: { text: "Note of Alice" } }] });
    const asked = await rpc(here, "prompts/get", { name: "letter", arguments: { to: "Bob" }, inputResponses });
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { from: {} } });
  });

  test("asks like a tool, and ends with messages", async () => {
    const { here, there } = await twoFronts();
    const call = { name: "letter", arguments: { to: "Bob" } };
    const asked = await rpc(here, "prompts/get", call);
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { from: {} } });
    const got = await rpc(there, "prompts/get", { ...call, requestState: asked.result!["requestState"], inputResponses: { from: alice } });
    expect(got.result).toMatchObject({ resultType: "complete", messages: [{ content: { text: "Write to Bob from Alice" } }] });
  });
});
