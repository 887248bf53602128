/** The tools that are called with a provider's tokens, in addition to test/e2e/tools/guarded.ts. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const yes = z.object({ ok: z.boolean() });

export default [
  defineTool({
    name: "spend",
    async run(_args, ctx) {
      await Promise.all([
        ctx.elicit("role", { message: "Spend it?", schema: yes, to: { roles: ["approver"] } }),
        ctx.elicit("group", { message: "Is it in the budget?", schema: yes, to: { groups: ["finance"] } }),
      ]);
      return "spent";
    },
  }),
  defineTool({
    name: "connect",
    async run(_args, ctx) {
      await ctx.secret("key", { message: "Your key?" });
      return "connected";
    },
  }),
];
