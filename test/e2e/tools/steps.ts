/** A tool whose steps each write a mark to the given file, so that a test can count them. */
import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const steps = defineTool({
  name: "steps",
  input: z.object({ file: z.string(), slowMs: z.number().default(0), thinkMs: z.number().default(0) }),
  async run({ file, slowMs, thinkMs }, ctx) {
    await ctx.step("before", () => appendFile(file, "before\n"));
    await ctx.step("slow", async () => {
      await appendFile(file, "slow-begins\n");
      await sleep(slowMs);
      await appendFile(file, "slow-ends\n");
    });
    await sleep(thinkMs); // no effect: as long as it takes, the run stands between its step and its ask
    const { n } = await ctx.elicit("n", { message: "How many?", schema: z.object({ n: z.number().int().max(20) }) });
    await ctx.step("after", () => appendFile(file, "after\n"));
    return `n is ${n}`;
  },
});
