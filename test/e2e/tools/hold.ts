/** A tool that takes longer than a front end takes to shut down: its waiting callers are handed over. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const hold = defineTool({
  name: "hold",
  input: z.object({}),
  async run(_args, ctx) {
    await ctx.sleep("hold", "5s");
    return "held";
  },
});
