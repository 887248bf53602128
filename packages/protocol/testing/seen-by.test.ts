import { ToolError, defineTool, definePrompt } from "@parley/sdk";
import { decline, runTool, startTool, unavailable } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SUPPORTED_VERSIONS } from "../versions.ts";
import { seenBy } from "./seen-by.ts";

const book = defineTool({
  name: "book",
  output: z.object({ size: z.int() }),
  async run(_args, ctx) {
    ctx.progress(1, 2, "half");
    ctx.log("debug", "looking");
    const size = await ctx.number("size", { message: "How many?", min: 1, step: 1, default: 2 });
    return { size };
  },
});

describe("what a client is sent", () => {
  test("while it waits for its call is the question, as its revision has it", async () => {
    const running = await startTool(book);
    const [progress, log, newest] = seenBy("2026-07-28", running);
    expect(progress).toEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "call", progress: 1, total: 2, message: "half" },
    });
    expect(log).toMatchObject({ method: "notifications/message", params: { level: "debug", data: "looking" } });
    expect(newest).toMatchObject({
      id: "call",
      result: { resultType: "input_required", inputRequests: { size: { method: "elicitation/create", params: { mode: "form" } } } },
    });
    const [, , asked, ...more] = seenBy("2025-06-18", running);
    expect(more).toEqual([]);
    expect(asked).toMatchObject({
      method: "elicitation/create",
      params: {
        message: "How many?",
        requestedSchema: { properties: { value: { type: "integer", minimum: 1, description: "Default: 2." } } },
      },
    });
  });

  test("as a task is its state, with the question, and in a session the question beside it", async () => {
    const running = await startTool(book);
    expect(seenBy("2026-07-28", running, { as: "task" })).toMatchObject([
      { id: "tasks/get", result: { status: "input_required", inputRequests: { size: {} } } },
    ]);
    const sent = seenBy("2025-11-25", running, { as: "task", logLevel: "error" });
    expect(sent).toMatchObject([
      { id: "tasks/get", result: { status: "input_required" } },
      { method: "notifications/progress" },
      {
        method: "elicitation/create",
        params: { _meta: { "io.modelcontextprotocol/related-task": { taskId: running.task.id } } },
      },
    ]);
  });

  test.each(SUPPORTED_VERSIONS)("at the end is the result, in %s", async (version) => {
    const run = await runTool(book, {}, { answers: { size: 4 } });
    const sent = seenBy(version, run);
    expect(sent.map(({ method, id }) => method ?? id)).toEqual(["notifications/progress", "notifications/message", "call"]);
    expect(sent.at(-1)).toMatchObject({ result: { content: [{ type: "text", text: '{"size":4}' }] } });
    // Structured content came with 2025-06-18.
    expect(JSON.stringify(sent.at(-1)).includes("structuredContent")).toBe(version >= "2025-06-18");
  });

  test("at the end of a task is its state and its result, and a cancelled one is an error", async () => {
    const run = await runTool(book, {}, { answers: { size: 4 } });
    expect(seenBy("2025-11-25", run, { as: "task" })).toMatchObject([
      { id: "tasks/get", result: { status: "completed" } },
      {},
      {},
      { id: "tasks/result", result: { structuredContent: { size: 4 } } },
    ]);
    const running = await startTool(book);
    await running.cancel();
    expect(seenBy("2025-11-25", running, { as: "task" }).at(-1)).toMatchObject({ id: "tasks/result", error: { code: -32602 } });
    expect(seenBy("2026-07-28", running).at(-1)).toMatchObject({ id: "call", error: { code: -32603 } });
  });

  test("is an error of the call where the tool failed, and a result where it says no", async () => {
    const broken = defineTool({
      name: "broken",
      run() {
        throw new TypeError("a bug");
      },
    });
    const run = await runTool(broken, {}, { showErrors: false });
    expect(JSON.stringify(seenBy("2025-06-18", run))).not.toContain("a bug");
    const refusing = defineTool({
      name: "refusing",
      run() {
        throw new ToolError("No table is left.");
      },
    });
    expect(seenBy("2025-03-26", await runTool(refusing))).toMatchObject([{ result: { isError: true } }]);
  });

  test("is nothing of what it cannot be asked", async () => {
    const visit = defineTool({
      name: "visit",
      run: async (_args, ctx) => String(await ctx.url("pay", { message: "Pay", url: "https://x.example" })),
    });
    const running = await startTool(visit);
    expect(seenBy("2025-11-25", running)).toMatchObject([
      { method: "elicitation/create", params: { mode: "url", elicitationId: `${running.task.id}:pay` } },
    ]);
    expect(seenBy("2025-06-18", running)).toEqual([]);
    const capabilities = { elicitation: { form: true, url: false } };
    expect(seenBy("2025-11-25", running, { capabilities })).toEqual([]);
    // This revision names the missing capability in its answer.
    expect(seenBy("2026-07-28", running, { capabilities })).toMatchObject([
      { error: { data: { requiredCapabilities: { elicitation: { url: {} } } } } },
    ]);
    await running.answer({ pay: unavailable });
    expect(seenBy("2025-06-18", running)).toMatchObject([{ id: "call", result: { isError: true } }]);
  });

  test("while others are asked is nothing, and a prompt has messages", async () => {
    const asks = defineTool({
      name: "asks",
      run: async (_args, ctx) => String(await ctx.confirm("ok", { message: "?", onDecline: "default", default: false })),
    });
    expect(seenBy("2025-06-18", await runTool(asks, {}, { answers: { ok: decline } }))).toMatchObject([
      { result: { content: [{ text: "false" }] } },
    ]);
    const prompt = definePrompt({ name: "p", run: () => "Hello" });
    expect(seenBy("2026-07-28", await runTool(prompt))).toMatchObject([{ result: { messages: [{ content: { text: "Hello" } }] } }]);
  });
});

test("a version that is not served is refused, and tasks where there are none", async () => {
  const running = await startTool(book);
  expect(() => seenBy("2024-11-05", running)).toThrow('"2024-11-05" is not served: it is one of 2026-07-28, 2025-11-25');
  expect(() => seenBy("2025-06-18", running, { as: "task" })).toThrow("2025-06-18 has no tasks");
});
