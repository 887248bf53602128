/** The snippets of docs/writing-tools.md for node:test. node-test.e2e.test.ts runs them with `node --test`. */
// oxlint-disable typescript/no-floating-promises -- the runner awaits its tests
import assert from "node:assert/strict";
import { test } from "node:test";
import { seenBy } from "@parley/protocol/testing";
import { defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";

const reserve = defineTool({
  name: "reserve",
  async run(_args, ctx) {
    const size = await ctx.number("size", { message: "How many will come?", min: 1, default: 2 });
    return `A table for ${size}.`;
  },
});

test("a tool is run by a script", async () => {
  const run = await runTool(reserve, {}, { answers: { size: 4 }, crashAt: "every" });
  assert.equal(run.text, "A table for 4.");
});

test("clients of 2025-06-18 read the default in the description", async () => {
  const running = await startTool(reserve);
  const [question] = seenBy("2025-06-18", running); // { as: "task" } for clients that speak tasks
  assert.deepEqual(question?.params, {
    message: "How many will come?",
    requestedSchema: {
      type: "object",
      properties: { value: { type: "number", title: "Size", description: "Default: 2.", minimum: 1 } },
    },
  });
});
