import { describe, expect, test } from "vitest";
import { defineTool } from "../index.ts";
import { outside } from "./purity.ts";
import { replayShuffled } from "./replay-shuffled.ts";
import { startTool } from "./testing.ts";

const PEOPLE = ["ada", "bob", "cyd"];
const SEEDS = [1, 2, 3, 4, 5];

const load = outside(async (id: string) => id);

/** Thanks the first of them, or the person whose row arrives first. */
function thanking(who: "first" | "fastest") {
  return defineTool({
    name: "thanking",
    async run(_args, ctx) {
      const arrived: string[] = [];
      if (who === "fastest") {
        await Promise.all(
          PEOPLE.map(async (id) => {
            await load(id);
            arrived.push(id);
          }),
        );
      } else arrived.push("ada");
      await ctx.step(`thank-${arrived[0]}`, () => 1);
      await ctx.confirm("ok", { message: "?" });
      return "done";
    },
  });
}

describe("a waiting task that is replayed with other latencies", () => {
  test("continues if its handler depends on none of them", async () => {
    const recorded = await (await startTool(thanking("first"))).exported();
    expect(await replayShuffled(thanking("first"), recorded, { seeds: SEEDS })).toMatchObject({
      verdict: "continues",
      next: "waits for ask:ok",
    });
  });

  test("diverges by one of the seeds if the fastest read decides, and the reason says so", async () => {
    const recorded = await (await startTool(thanking("first"))).exported();
    const { verdict, reason } = await replayShuffled(thanking("fastest"), recorded, { seeds: SEEDS });
    expect(verdict).toBe("diverges");
    expect(reason).toMatch(/^only when what it awaits outside ctx takes longer or shorter \(seed \d\): recorded step:thank-ada/);
    expect((await replayShuffled(thanking("fastest"), recorded, { seeds: [] })).verdict).toBe("continues");
  });

  test("has the verdict of a replay as it is if that does not continue", async () => {
    const recorded = await (await startTool(thanking("first"))).exported();
    const changed = defineTool({ name: "thanking", run: async (_args, ctx) => String(await ctx.confirm("other", { message: "?" })) });
    const { verdict, reason } = await replayShuffled(changed, recorded, { seeds: SEEDS });
    expect([verdict, reason?.includes("seed")]).toEqual(["diverges", false]);
  });
});
