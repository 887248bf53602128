/**
 * 2. Asking
 *
 * `await ctx.elicit(…)` sends a form to the person who called the tool. The tool stops there, for a second or for days, and occupies neither a
 * worker nor a connection. When the answer arrives, the tool continues after the question.
 */
import { defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const SIZE = z.object({ partySize: z.int().min(1).max(20) });

const reserve = defineTool({
  name: "reserve",
  async run(_args, ctx) {
    const { partySize } = await ctx.elicit("party-size", { message: "How many will come?", schema: SIZE });
    return `A table for ${partySize}.`;
  },
});

test("a tool waits at its question, and continues with the answer", async () => {
  const running = await startTool(reserve);
  expect(running.task.status).toBe("input_required");
  expect(running.asks).toMatchObject([{ key: "party-size", request: { message: "How many will come?" } }]);

  await running.answer({ "party-size": { partySize: 4 } });
  expect(running.task.status).toBe("completed");
  expect(running.text).toBe("A table for 4.");
});

test("an invalid answer is refused, and the question stays open", async () => {
  const running = await startTool(reserve);
  await expect(running.answer({ "party-size": { partySize: 40 } })).rejects.toThrow("Party size must be between 1 and 20");
  expect(running.task.status).toBe("input_required");
});

// For a single field there are shorthands that return its value: text, number, select, date and confirm.
const order = defineTool({
  name: "order",
  async run(_args, ctx) {
    const dish = await ctx.select("dish", { message: "What will it be?", options: ["soup", "fish"] });
    const wine = await ctx.confirm("wine", { message: `Wine with the ${dish}?`, default: false });
    return wine ? `${dish} and wine` : dish;
  },
});

test("questions are asked one after the other, each under its name", async () => {
  const run = await runTool(order, {}, { answers: { dish: "fish", wine: true } });
  expect(run.asks.map(({ key }) => key)).toEqual(["dish", "wine"]);
  expect(run.text).toBe("fish and wine");
});
