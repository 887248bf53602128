/**
 * 2. Asking
 *
 * `await ctx.elicit(…)` puts a form to the person who called. The tool stops there, for a second or for days. While it waits it uses no worker
 * and no connection; when the answer comes, the tool continues behind the question.
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

test("an answer that does not fit is refused, and the question stays open", async () => {
  const running = await startTool(reserve);
  await expect(running.answer({ "party-size": { partySize: 40 } })).rejects.toThrow("must be <= 20");
  expect(running.task.status).toBe("input_required");
});

// For one field there are shorthands, which return its value: text, number, select, date and confirm.
const order = defineTool({
  name: "order",
  async run(_args, ctx) {
    const dish = await ctx.select("dish", { message: "What will it be?", options: ["soup", "fish"] });
    const wine = await ctx.confirm("wine", { message: `Wine with the ${dish}?`, default: false });
    return wine ? `${dish} and wine` : dish;
  },
});

test("questions come one after the other, each by its name", async () => {
  const run = await runTool(order, {}, { answers: { dish: "fish", wine: true } });
  expect(run.asks.map(({ key }) => key)).toEqual(["dish", "wine"]);
  expect(run.text).toBe("fish and wine");
});
