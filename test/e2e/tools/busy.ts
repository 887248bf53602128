/** A tool that is at work for as long as it is told. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const busy = defineTool({
  name: "busy",
  input: z.object({ ms: z.number() }),
  async run({ ms }, ctx) {
    ctx.status("busy");
    await ctx.step("work", () => sleep(ms, ms));
    return "done";
  },
});
