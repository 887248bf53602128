/** Asks for a secret, uses it, and keeps it during one more question. */
import { hash } from "node:crypto";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const connect = defineTool({
  name: "connect",
  async run(_args, ctx) {
    const key = await ctx.secret("key", { message: "What is your API key?" });
    const digest = await ctx.step("connect", () => key.use((text) => hash("sha256", text)));
    await ctx.elicit("sure", { message: "Are you sure?", schema: z.object({ sure: z.boolean() }) });
    return `${String(key)} ${digest}`;
  },
});
