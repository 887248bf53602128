/**
 * 4. Concurrency
 *
 * Questions, steps and sleeps are promises, so `Promise.all`, `race`, `any` and `allSettled` work as usual. A replay settles them in the order in
 * which they settled the first time: a race keeps its winner.
 */
import { defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";

test("questions that are asked together are open together, and are answered in any order", async () => {
  const both = defineTool({
    name: "both",
    async run(_args, ctx) {
      const [ada, bob] = await Promise.all([
        ctx.confirm("ada", { message: "Ada, are you coming?" }),
        ctx.confirm("bob", { message: "Bob, are you coming?" }),
      ]);
      return `Ada ${ada}, Bob ${bob}`;
    },
  });
  const running = await startTool(both);
  expect(running.task.asks.map(({ key }) => key)).toEqual(["ada", "bob"]);
  await running.answer({ bob: false });
  expect(running.task.status).toBe("input_required");
  await running.answer({ ada: true });
  expect(running.text).toBe("Ada true, Bob false");
});

describe("the winner of a race", () => {
  const first = defineTool({
    name: "first",
    async run(_args, ctx) {
      const winner = await Promise.race(
        ["ada", "bob"].map(async (name) => {
          await ctx.confirm(name, { message: `${name}, can you do it?` });
          return name;
        }),
      );
      await ctx.step("assign", () => winner);
      await ctx.confirm("sure", { message: `${winner} does it. All right?` });
      return winner;
    },
  });

  for (const order of [
    ["ada", "bob"],
    ["bob", "ada"],
  ] as const) {
    test(`is ${order[0]} when ${order[0]} answers first, even if ${order[1]} answers as well`, async () => {
      const running = await startTool(first);
      await running.answer({ [order[0]]: true });
      await running.answer({ [order[1]]: true });
      await running.answer({ sure: true });
      expect(running.text).toBe(order[0]);
    });
  }
});

test("concurrent branches with the same names each get their own results, wherever a worker dies", async () => {
  const prices: Record<string, number> = { soup: 6, fish: 19, duck: 24 };
  const bill = defineTool({
    name: "bill",
    async run(_args, ctx) {
      const lines = await Promise.all(
        Object.keys(prices).map(async (dish) => {
          const price = await ctx.step("price", () => prices[dish] ?? 0);
          return await ctx.step("write", () => `${dish} ${price}`);
        }),
      );
      return lines.join(", ");
    },
  });
  for (const crashAt of [undefined, "every"] as const) expect((await runTool(bill, {}, { crashAt })).text).toBe("soup 6, fish 19, duck 24");
});
