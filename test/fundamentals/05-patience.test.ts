/**
 * 5. Waiting with a limit
 *
 * `ctx.sleep` waits for days, as a question does, without a worker. A race between the two sets a limit: if the first person has not answered by
 * then, another one is asked. Withdraw the question that lost with its `signal`. Otherwise it stays open, and someone answers it in vain.
 */
import { defineTool } from "@parley/sdk";
import { startTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const APPROVAL = z.object({ approved: z.boolean() });

const approve = defineTool({
  name: "approve",
  async run(_args, ctx) {
    const decided = new AbortController();
    const { signal } = decided;
    const winner = await Promise.race([
      ctx.ask("manager", { message: "Do you approve?", schema: APPROVAL, signal }),
      ctx
        .sleep("patience", "1 day", { signal })
        .then(() => ctx.ask("deputy", { message: "Nobody has answered for a day. Do you approve?", schema: APPROVAL, signal })),
    ]);
    decided.abort();
    await ctx.step("note", () => winner.action);
    const approved = winner.action === "accept" && winner.content.approved;
    await ctx.confirm("seen", { message: approved ? "It was approved." : "It was not approved." });
    return approved ? "approved" : "refused";
  },
});

test("an answer in time ends the wait", async () => {
  const running = await startTool(approve);
  await running.advance("23 hours");
  expect(running.task.asks.map(({ key }) => key)).toEqual(["manager"]);
  await running.answer({ manager: { approved: true } });
  await running.advance("2 days");
  expect(running.task.asks.map(({ key }) => key)).toEqual(["seen"]);
  await running.answer({ seen: true });
  expect(running.text).toBe("approved");
});

test("after a day another person is asked, and the first may still answer", async () => {
  const running = await startTool(approve);
  await running.advance("1 day");
  expect(running.task.asks.map(({ key }) => key)).toEqual(["manager", "deputy"]);
  await running.answer({ manager: { approved: false } });
  // The deputy's question was withdrawn: clients no longer show it.
  expect(running.task.asks.map(({ key }) => key)).toEqual(["seen"]);
  await expect(running.answer({ deputy: { approved: true } })).rejects.toThrow('"deputy" is not asked');
});
