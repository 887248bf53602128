/** The tool that is measured: one question, no work of its own. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const ask = defineTool({
  name: "ask",
  input: z.object({ note: z.string() }),
  task: "required",
  async run(_args, ctx) {
    const { size } = await ctx.elicit("size", { message: "How many?", schema: z.object({ size: z.number().int().min(1).max(20) }) });
    return `for ${size}`;
  },
});
