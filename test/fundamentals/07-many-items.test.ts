/**
 * 7. Many items
 *
 * To ask one question for each item of a list, use `map` with an async function. `ctx.branch` scopes the names in it, so that clients see
 * `ada/keep` and `bob/keep` rather than `keep` and `keep#2`. Choose a key that identifies the item: replay uses it to find the item again.
 *
 * A loop that may run forever starts again with `ctx.restart`, because a journal has a limited size.
 */
import { defineTool } from "@parley/sdk";
import { runTool, startTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const review = defineTool({
  name: "review",
  input: z.object({ people: z.array(z.string()).max(50) }),
  async run({ people }, ctx) {
    const removed: string[] = [];
    await Promise.all(
      people.map((person) =>
        ctx.branch(person, async () => {
          if (await ctx.confirm("keep", { message: `Does ${person} still need access?` })) return;
          await ctx.step("remove", () => removed.push(person));
        }),
      ),
    );
    return `Removed ${await ctx.step("count", () => removed.length)} of ${people.length}`;
  },
});

test("all are asked at once, and each answer belongs to one", async () => {
  const running = await startTool(review, { people: ["ada", "bob", "eve"] });
  expect(running.task.asks.map(({ key }) => key)).toEqual(["ada/keep", "bob/keep", "eve/keep"]);
  await running.answer({ "eve/keep": false });
  await running.answer({ "ada/keep": true, "bob/keep": true });
  expect(running.journal).toContain("step:eve/remove");
  expect(running.journal).not.toContain("step:ada/remove");
});

test("a restart runs the same task from the top, with new arguments and an empty journal", async () => {
  const weekly = defineTool({
    name: "weekly",
    input: z.object({ week: z.int().default(1) }),
    async run({ week }, ctx) {
      const more = await ctx.confirm("more", { message: `Week ${week}. Once more?` });
      if (!more) return `It ended with week ${week}`;
      await ctx.sleep("week", "7 days");
      return await ctx.restart({ week: week + 1 });
    },
  });
  // Each round has keys of its own, so an old answer cannot reach a new question.
  const run = await runTool(weekly, {}, { answers: { more: true, "more@1": true, "more@2": false } });
  expect(run.text).toBe("It ended with week 3");
});
