/** Returns what the caller and a person told it. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const greet = defineTool({
  name: "greet",
  input: z.object({ greeting: z.string() }),
  async run({ greeting }, ctx) {
    const { name } = await ctx.elicit("name", { message: `Who is greeted with ${greeting}?`, schema: z.object({ name: z.string() }) });
    return `${greeting}, ${name}!`;
  },
});
