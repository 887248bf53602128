/** The tool that is measured: one question, no work of its own; building a schema in every run would be such work. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const SIZE = z.object({ size: z.number().int().min(1).max(20) });

export const ask = defineTool({
  name: "ask",
  input: z.object({ note: z.string() }),
  task: "required",
  async run(_args, ctx) {
    const { size } = await ctx.elicit("size", { message: "How many?", schema: SIZE });
    return `for ${size}`;
  },
});
