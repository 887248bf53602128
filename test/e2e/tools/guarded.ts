/** The tools that clients with access tokens call. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export default [
  defineTool({
    name: "greet",
    async run(_args, ctx) {
      const { name } = await ctx.elicit("who", { message: "Who are you?", schema: z.object({ name: z.string() }) });
      return `Hello, ${name}!`;
    },
  }),
  defineTool({ name: "pay", scopes: ["payments:approve"], run: () => "paid" }),
];
