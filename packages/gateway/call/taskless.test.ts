/** Calls without a task, at the official server: what is answered at once, and what needs a task after all. */
import type { JsonObject, TasklessCall } from "@parley/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createCalls } from "./calls.ts";
import { gatewayPrompt, gatewayTool } from "../offer/gateway-tool.ts";
import { createMemoryShares } from "../memory/shared-state.ts";
import { AS_TASKS_MAX, createTasklessCalls, serveTaskless, TASKLESS_CHARS_MAX, TASKLESS_LOGS_MAX, TASKLESS_MS } from "./taskless.ts";
import type { Share } from "../processes/gateway.ts";
import { type Behaviour, connectorTo, someDeps } from "../upstream.fixture.ts";
import type { CallDeps } from "./upstream-call.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const TOOL = { kind: "tool", name: "tool" } as const;
afterEach(() => void vi.useRealTimers());

function upstreamWith(given: object = {}): Upstream {
  const [upstream] = parseUpstreams(
    "test",
    JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", taskless: true, repeatable: true, ...given }] }),
  );
  if (!upstream) throw new Error("there is one");
  return upstream;
}

function aCall(given: Partial<TasklessCall> = {}): TasklessCall {
  return { arguments: {}, principal: "ann", capabilities: {}, hidden: true, signal: new AbortController().signal, ...given };
}

/** One front end, and workers that all make calls at servers which do `behave`. */
async function deployed(
  behave: Behaviour,
  { workers = 1, given = {}, callsMax = 10, deps = {} as Partial<CallDeps>, mustBeTask = new Set<string>() } = {},
) {
  let nowMs = 1_000_000;
  const shares = createMemoryShares(() => nowMs);
  const upstream = upstreamWith(given);
  const closing = new Set<string>();
  const working = await Promise.all(
    Array.from({ length: workers }, async () => {
      const share = shares();
      const connector = connectorTo(behave);
      const { onAbandoned: _, ...call } = someDeps(connector, deps);
      const holders = { claim: async () => undefined, release: async () => undefined };
      const calls = createCalls({ call, holders, callsMax, log, onAbandoned: () => undefined });
      const done: Promise<void>[] = [];
      await share.beat();
      const stop = await serveTaskless({
        post: share,
        calls,
        upstreams: () => [upstream],
        now: () => nowMs,
        isClosing: () => closing.has(share.id),
        mustBeTask: ({ kind, name }) => mustBeTask.has(`${kind} ${name}`),
        inBackground: (work) => void done.push(work),
      });
      return { share, connector, calls, done, stop, close: () => closing.add(share.id) };
    }),
  );
  const front = shares();
  const sent: { box: string; text: string }[] = [];
  const post: Share = {
    ...front,
    post(box, process, text) {
      sent.push({ box, text });
      return front.post(box, process, text);
    },
  };
  const taskless = await createTasklessCalls(post, () => nowMs);
  const call = (more: Partial<TasklessCall> = {}, name: string = TOOL.name) => taskless.call(upstream, { ...TOOL, name }, aCall(more));
  return { upstream, taskless, call, sent, working, pass: (ms: number) => void (nowMs += ms), first: working[0]! };
}

describe("a call without a task", () => {
  test("is made by a worker, and its result is the upstream's", async () => {
    const { call, first } = await deployed(async () => "done");
    expect(await call()).toEqual({ result: { content: [{ type: "text", text: '"done"' }] }, reports: [] });
    expect(first.connector.calls()).toBe(1);
    expect(first.calls.counts()).toEqual({ waiting: 0, all: 0 });
    await Promise.all(first.done);
  });

  test("is not made by a worker whose rules could stop it, until they no longer do", async () => {
    const mustBeTask = new Set(["tool up_tool"]);
    const { call, first } = await deployed(async () => "done", { mustBeTask });
    expect(await call()).toBeUndefined();
    expect(first.connector.calls()).toBe(0);
    mustBeTask.clear();
    expect(await call()).toMatchObject({ reports: [] });
  });

  test("counts what its upstream asks as asked in its session", async () => {
    const rate = vi.fn<NonNullable<CallDeps["rate"]>>(async () => 0);
    const { call } = await deployed(async ({ ask }) => await ask("?"), { deps: { rate } });
    expect(await call({ session: "s", capabilities: { elicitation: { form: true, url: false } } })).toBeUndefined();
    expect(rate).toHaveBeenCalledWith(expect.objectContaining({ principal: "ann", session: "s" }), 1);
  });

  test("that the upstream answers with an error throws that error", async () => {
    const { call } = await deployed(async () => {
      throw Object.assign(new Error("no such thing"), { code: -32_050, data: { thing: 1 } });
    });
    await expect(call()).rejects.toMatchObject({ name: "RpcFailure", code: -32_050, data: { thing: 1 } });
  });

  test("is sent to the worker that has the fewest", async () => {
    const gate = Promise.withResolvers<void>();
    const { call, working } = await deployed(async () => await gate.promise, { workers: 3 });
    const calls = Array.from({ length: 6 }, () => call());
    await expect.poll(() => working.map(({ connector }) => connector.calls())).toEqual([2, 2, 2]);
    gate.resolve();
    expect(await Promise.all(calls)).not.toContain(undefined);
  });

  test("carries what the upstream logged, and its last progress", async () => {
    const { call } = await deployed(async ({ log: say, progress }) => {
      await progress(1);
      await say({ n: 1 });
      await progress(2);
      await say({ n: 2 });
    });
    expect((await call())?.reports).toEqual([
      { type: "log", level: "info", data: { n: 1 } },
      { type: "log", level: "info", data: { n: 2 } },
      { type: "progress", progress: 2 },
    ]);
  });

  test.each([
    [true, undefined],
    [false, { elicitation: { form: {}, url: {} } }],
  ])("declares what its client can be asked, and if the client gets a handle (hidden: %s), forms and pages", async (hidden, asked) => {
    const { call } = await deployed(async ({ capabilities }) => capabilities);
    const text = JSON.stringify(asked ?? {});
    expect((await call({ hidden }))?.result).toEqual({ content: [{ type: "text", text }] });
  });
});

describe("a call needs a task", () => {
  const ASKS: Behaviour = async ({ ask }) => await ask("?");
  const elicits = { capabilities: { elicitation: { form: true, url: false } } };

  test("if the upstream asks; for the next ten minutes, its calls are not tried without one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { call, first } = await deployed(ASKS);
    expect(await call(elicits)).toBeUndefined();
    expect(await call(elicits)).toBeUndefined();
    expect(first.connector.calls()).toBe(1);
    vi.advanceTimersByTime(600_000 - 1);
    await call(elicits);
    expect(first.connector.calls()).toBe(1);
    vi.advanceTimersByTime(1);
    await call(elicits);
    expect(first.connector.calls()).toBe(2);
    await call(elicits, "other");
    expect(first.connector.calls()).toBe(3);
  });

  test("if the upstream asks: its question is withdrawn, and the place of the call is free", async () => {
    const cancelled: boolean[] = [];
    const { call, first } = await deployed(async ({ ask, signal }) => {
      signal.addEventListener("abort", () => cancelled.push(true));
      return await ask("?");
    });
    await call(elicits);
    await Promise.all(first.done);
    expect(first.calls.counts()).toEqual({ waiting: 0, all: 0 });
    await expect.poll(() => cancelled).toEqual([true]);
  });

  test("if it takes longer than the limit, and for half a minute its next calls as well", async () => {
    let isFast = false;
    const { call, first } = await deployed(async () => (isFast ? "done" : await new Promise(() => undefined)));
    const startedMs = performance.now();
    expect(await call()).toBeUndefined();
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(TASKLESS_MS - 10);
    isFast = true;
    vi.useFakeTimers({ toFake: ["performance"] });
    expect(await call()).toBeUndefined();
    expect(first.connector.calls()).toBe(1);
    vi.advanceTimersByTime(30_000 + startedMs + 2 * TASKLESS_MS);
    expect(await call()).toBeDefined();
  });

  test("if it logs more messages than the limit", async () => {
    const logs = async (count: number) => {
      const { call } = await deployed(async ({ log: say }) => {
        for (let each = 0; each < count; each += 1) await say({ each });
      });
      return (await call())?.reports.length;
    };
    expect(await logs(TASKLESS_LOGS_MAX)).toBe(TASKLESS_LOGS_MAX);
    expect(await logs(TASKLESS_LOGS_MAX + 1)).toBeUndefined();
  });

  test("if its reply, log messages included, has more characters than the limit", async () => {
    let size = 0;
    const { call } = await deployed(async ({ log: say }) => await say({ text: "x".repeat(size) }));
    const id = "00000000-0000-0000-0000-000000000000";
    size = TASKLESS_CHARS_MAX - JSON.stringify({ type: "result", ...(await call()), id }).length;
    expect(await call()).toBeDefined();
    size += 1;
    expect(await call()).toBeUndefined();
  });

  test("if the worker has no place; the next one is tried again", async () => {
    const gate = Promise.withResolvers<void>();
    const { call, first } = await deployed(async () => await gate.promise, { callsMax: 1 });
    const one = call();
    await expect.poll(() => first.calls.counts().all).toBe(1);
    expect(await call()).toBeUndefined();
    gate.resolve();
    expect(await one).toBeDefined();
    expect(await call()).toBeDefined();
  });

  test("if no worker is there", async () => {
    const { call } = await deployed(async () => "done", { workers: 0 });
    expect(await call()).toBeUndefined();
  });

  test("if its worker has gone, which is then left alone for seven seconds", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { call, first, sent } = await deployed(async () => "done");
    expect(await call()).toBeDefined();
    first.stop();
    expect(await call()).toBeUndefined();
    expect(await call()).toBeUndefined();
    expect(sent).toHaveLength(2);
    vi.advanceTimersByTime(7_000);
    expect(await call()).toBeUndefined();
    expect(sent).toHaveLength(3);
  });

  test("if its worker does not reply in time; another worker has the next", async () => {
    const { call, working, sent } = await deployed(async () => "done", { workers: 2 });
    working.forEach(({ stop }) => stop());
    await working[0]!.share.onPost("call", () => undefined);
    await working[1]!.share.onPost("call", () => undefined);
    const both = await Promise.all([call(), call()]);
    expect(both).toEqual([undefined, undefined]);
    expect(sent).toHaveLength(2);
    expect(await call()).toBeUndefined();
    expect(sent).toHaveLength(2);
  });

  test("if its worker is closing, or lists the upstream otherwise, or received it too late", async () => {
    const { call, first, pass, working } = await deployed(async () => "done");
    first.stop();
    let lateMs = TASKLESS_MS;
    const stop = await serveTaskless({
      post: first.share,
      calls: first.calls,
      upstreams: () => [upstreamWith()],
      now: () => 1_000_000 + lateMs,
      isClosing: () => false,
      inBackground: () => undefined,
    });
    expect(await call()).toBeDefined();
    lateMs += 1;
    expect(await call()).toBeUndefined();
    lateMs = 0;
    stop();
    for (const upstreams of [[], [upstreamWith({ taskless: false })]]) {
      const end = await serveTaskless({
        post: first.share,
        calls: first.calls,
        upstreams: () => upstreams,
        now: () => 1_000_000,
        isClosing: () => false,
        inBackground: () => undefined,
      });
      expect(await call()).toBeUndefined();
      end();
    }
    await serveTaskless({
      post: first.share,
      calls: first.calls,
      upstreams: () => [upstreamWith()],
      now: () => 1_000_000,
      isClosing: () => true,
      inBackground: () => undefined,
    });
    expect(await call()).toBeUndefined();
    pass(0);
    expect(working[0]!.connector.calls()).toBe(1);
  });

  test("if its client no longer waits, which is no reason to call it a task for long", async () => {
    const gate = Promise.withResolvers<void>();
    const { call, first, sent } = await deployed(async () => await gate.promise);
    const left = new AbortController();
    const one = call({ signal: left.signal });
    await expect.poll(() => first.connector.calls()).toBe(1);
    left.abort();
    expect(await one).toBeUndefined();
    expect(await call({ signal: AbortSignal.abort() })).toBeUndefined();
    expect(sent).toHaveLength(1);
    gate.resolve();
    expect(await call()).toBeDefined();
  });
});

test("a front end remembers a limited number of tools that need tasks; the oldest is forgotten", async () => {
  const { call, first } = await deployed(async ({ ask }) => await ask("?"));
  const asks = (name: string) => call({ capabilities: { elicitation: { form: true, url: false } } }, name);
  first.stop();
  await first.share.onPost("call", (text) => {
    const { id, from } = JSON.parse(text) as { id: string; from: string };
    asked += 1;
    void first.share.post("reply", from, JSON.stringify({ id, type: "task", forMs: 600_000 }));
  });
  let asked = 0;
  for (let each = 0; each < AS_TASKS_MAX; each += 1) await asks(`tool-${each}`);
  await asks("tool-0");
  expect(asked).toBe(AS_TASKS_MAX);
  await asks("one-more");
  await asks("tool-1");
  expect(asked).toBe(AS_TASKS_MAX + 1);
  await asks("tool-0");
  expect(asked).toBe(AS_TASKS_MAX + 2);
});

describe("what is offered", () => {
  const listed = { name: "find", inputSchema: { type: "object" } } as const;
  const taskless = (made: JsonObject = {}) => ({ call: async () => ({ result: made, reports: [] }), close: () => undefined });

  test.each([
    ["a tool that may be repeated", { ...listed, annotations: { readOnlyHint: true } }, { repeatable: undefined }, true],
    ["a tool that the file says may be repeated", listed, {}, true],
    ["another tool", listed, { repeatable: undefined }, false],
    ["a tool that the file says may not be repeated", { ...listed, annotations: { readOnlyHint: true } }, { repeatable: false }, false],
    ["a tool that runs only as a task", { ...listed, execution: { taskSupport: "required" } } as const, {}, false],
    ["a tool of an upstream without the setting", listed, { taskless: false }, false],
  ])("%s", (_what, tool, given, isTried) => {
    const offered = gatewayTool(tool, { upstream: upstreamWith(given), taskless: taskless() });
    expect(offered.callTaskless !== undefined).toBe(isTried);
  });

  test("a prompt, always", () => {
    const upstream = upstreamWith({ repeatable: undefined });
    expect(gatewayPrompt(listed, { upstream, taskless: taskless() }).callTaskless).toBeDefined();
    expect(gatewayPrompt(listed, { upstream }).callTaskless).toBeUndefined();
  });

  test("links of its result lead to the resources that are offered here", async () => {
    const link = (uri: string) => ({ content: [{ type: "resource_link", uri, name: "a" }] });
    const deps = { upstream: upstreamWith(), taskless: taskless(link("x:a")) };
    expect((await gatewayTool(listed, { ...deps, hasResources: true }).callTaskless?.(aCall()))?.result).toEqual(link("up+x:a"));
    expect((await gatewayTool(listed, deps).callTaskless?.(aCall()))?.result).toEqual(link("x:a"));
  });
});
