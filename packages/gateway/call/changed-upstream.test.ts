/** The entry of an upstream in the file changes while a call waits there: the task goes on from what it has recorded, in the engine that runs it. */
import type { JsonObject } from "@parley/core";
import { Client } from "@modelcontextprotocol/client";
import { startTool, type TestTask } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { parseUpstreams } from "../config/upstreams.ts";
import type { OpenSession, UpstreamConnector } from "../connection/upstream-session.ts";
import type { UpstreamTask } from "../connection/upstream-tasks.ts";
import { gatewayTool } from "../offer/gateway-tool.ts";
import { connectorTo, someDeps } from "../upstream.fixture.ts";
import { createCalls } from "./calls.ts";

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const CRM = { provider: "crm", scopes: ["read"] };
const KEEPING = { ...CRM, keep: "90d" };
const MINUTE_MS = 60_000;

/** A worker, and the tool of the upstream as it is with an entry of the file. */
function worker(connector: UpstreamConnector) {
  const { onAbandoned: _, ...call } = someDeps(connector);
  const holders = { claim: async () => undefined, release: async () => undefined };
  const calls = createCalls({ call, holders, callsMax: 10, log: quiet, onAbandoned: () => undefined });
  return (entry: object) => {
    const file = { upstreams: [{ name: "up", url: "https://up.example.com", ...entry }] };
    const [upstream] = parseUpstreams("up.json", JSON.stringify(file));
    const elicitation = { timeoutMs: 60 * MINUTE_MS, blockingTimeoutMs: MINUTE_MS };
    return gatewayTool({ name: "tool", inputSchema: { type: "object" } }, { upstream: upstream!, calls, elicitation });
  };
}

const answerIn = ({ result }: TestTask): unknown =>
  JSON.parse((result?.["content"] as { text: string }[] | undefined)?.[0]?.text ?? "null");
const GRANT = { authorize: { grant: "a token" } };
const OK = { "question-1": { ok: true } };

describe("access in the caller's name", () => {
  /** Asks once, and notes with whose token each call came. */
  function asking() {
    const tokens: (string | undefined)[] = [];
    const upstream = connectorTo(async ({ ask }) => await ask("Sure?"));
    const connector: UpstreamConnector = {
      ...upstream,
      open(to, request: OpenSession) {
        tokens.push(request.accessToken?.());
        return upstream.open(to, request);
      },
    };
    return { tool: worker(connector), tokens };
  }

  test.each<[string, object, object]>([
    ["added", {}, { oauth: CRM }],
    ["added, to be kept,", {}, { oauth: KEEPING }],
    ["removed", { oauth: CRM }, {}],
    ["removed, which was kept,", { oauth: KEEPING }, {}],
    ["given other scopes", { oauth: CRM }, { oauth: { ...CRM, scopes: ["read", "write"] } }],
    ["given another provider", { oauth: CRM }, { oauth: { ...CRM, provider: "other" } }],
    ["to be kept from now on", { oauth: CRM }, { oauth: KEEPING }],
    ["to be kept no more", { oauth: KEEPING }, { oauth: CRM }],
  ])("that is %s is nothing to a call that waits for an answer: it goes on as it began", async (_what, before, after) => {
    const { tool, tokens } = asking();
    const running = await startTool(tool(before), {}, { strict: false });
    if ("oauth" in before) await running.answer(GRANT);
    running.redeploy(tool(after));
    await running.answer(OK);
    expect([running.error, answerIn(running)]).toEqual([undefined, { action: "accept", content: { ok: true } }]);
    expect(tokens).toEqual(["oauth" in before ? "a token" : undefined]);
  });

  test.each<[string, object]>([
    ["removed", {}],
    ["given other scopes", { oauth: { ...CRM, scopes: ["write"] } }],
  ])("that is %s while the caller is asked for it is granted as it was asked", async (_what, after) => {
    const { tool, tokens } = asking();
    const running = await startTool(tool({ oauth: CRM }), {}, { strict: false });
    running.redeploy(tool(after));
    expect(running.task.asks[0]?.request).toMatchObject({ page: CRM });
    await running.answer(GRANT);
    await running.answer(OK);
    expect([running.error, tokens]).toEqual([undefined, ["a token"]]);
  });
});

describe("an upstream whose task is polled", () => {
  /** Its task is in these states, one poll after the other; it works for good after the last. */
  function polled(...states: readonly Partial<UpstreamTask>[]) {
    const left = [...states];
    const seen: string[] = [];
    const next = (taskId: string): UpstreamTask => ({ taskId, status: "working", pollIntervalMs: MINUTE_MS, ...left.shift() });
    const tasks = {
      call: async (): Promise<JsonObject> => ({ resultType: "task", ...next("t") }) as never,
      get: async (taskId: string) => next(taskId),
      update: async () => undefined,
      cancel: async (taskId: string) => void seen.push(`cancel ${taskId}`),
    };
    const connector: UpstreamConnector = {
      ...connectorTo(async () => undefined),
      sessionTasks: () => tasks,
      async open({ reached }) {
        seen.push(reached.by === "url" ? new URL(reached.url).host : "");
        const client = new Client({ name: "gateway", version: "1" });
        return { client, isStateless: true, tasks, begin: () => undefined, close: async () => undefined };
      },
    };
    return { tool: worker(connector), seen };
  }

  test("has the time that the file gives it now, also if it has had more by then", async () => {
    const { tool } = polled();
    const running = await startTool(tool({ callTimeout: "60m" }), {}, { strict: false });
    await running.advance("20 minutes");
    expect(running.task.status).toBe("working");
    running.redeploy(tool({ callTimeout: "5m" }));
    await running.advance("30 minutes");
    expect(running.error).toMatchObject({ data: { code: "UPSTREAM_TIMEOUT" }, message: expect.stringContaining("within 300000 ms") });
  });

  test("has more time if the file gives it more", async () => {
    const { tool } = polled();
    const running = await startTool(tool({ callTimeout: "20m" }), {}, { strict: false });
    await running.advance("15 minutes");
    running.redeploy(tool({ callTimeout: "60m" }));
    await running.advance("30 minutes");
    expect(running.task.status).toBe("working");
    await running.advance("60 minutes");
    expect(running.error).toMatchObject({ message: expect.stringContaining("within 3600000 ms") });
  });

  test("has people for as long as the file says now", async () => {
    const waits = { _meta: { "parley/waits": true } } as object;
    const { tool } = polled(...Array.from({ length: 200 }, () => waits));
    const running = await startTool(tool({ questionTimeout: "60m" }), {}, { strict: false });
    await running.advance("20 minutes");
    running.redeploy(tool({ questionTimeout: "5m" }));
    await running.advance("30 minutes");
    expect(running.error).toMatchObject({ message: expect.stringContaining("waited for people for 300000 ms") });
  });

  test("goes on at the address that the file has now", async () => {
    const { tool, seen } = polled({}, {}, {}, { status: "completed", result: { content: [{ type: "text", text: "1" }] } });
    const running = await startTool(tool({ url: "https://old.example.com" }), {}, { strict: false });
    await running.advance("1 minute");
    running.redeploy(tool({ url: "https://new.example.com" }));
    await running.advance("10 minutes");
    expect([answerIn(running), seen]).toEqual([1, ["old.example.com", "old.example.com", "new.example.com", "new.example.com"]]);
  });

  test("that has lost its question goes on as it began, if the file says by then that it may not be called again", async () => {
    const id = '["session","task"]';
    const form = { message: "?", requestedSchema: { type: "object", properties: {} } };
    const unheard = { taskId: id, status: "input_required" as const };
    const asks = { ...unheard, inputRequests: { q: { method: "elicitation/create", params: form } } };
    const done = { status: "completed", result: { content: [{ type: "text", text: "1" }] } } as const;
    const { tool, seen } = polled(asks, unheard, unheard, unheard, {}, {}, done);
    const entry = { callTimeout: "60m" };
    const running = await startTool(tool({ ...entry, repeatable: true }), {}, { strict: false });
    await running.answer({ "question-1": {} });
    await running.advance("3 minutes");
    expect(seen).toContain(`cancel ${id}`);
    running.redeploy(tool({ ...entry, repeatable: false }));
    await running.advance("10 minutes");
    expect([running.error, answerIn(running)]).toEqual([undefined, 1]);
  });
});
