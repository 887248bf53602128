/** Says what it was told by the caller and by a person. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const greet = defineTool({
  name: "greet",
  input: z.object({ greeting: z.string() }),
  async run({ greeting }, ctx) {
    await ctx.step("look-up", () => 1);
    const { name } = await ctx.elicit("name", { message: `Who is greeted with ${greeting}?`, schema: z.object({ name: z.string() }) });
    return `${greeting}, ${name}!`;
  },
});
