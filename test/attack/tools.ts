/** The tools that the victims call: tasks in every state that an attacker could want to reach. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const schema = z.object({ name: z.string() });

export default [
  defineTool({ name: "asks-owner", run: async (_, ctx) => (await ctx.elicit("name", { message: "SECRET question", schema })).name }),
  defineTool({
    name: "asks-approvers",
    run: async (_, ctx) => (await ctx.elicit("name", { message: "SECRET approval", schema, to: { groups: ["approvers"] } })).name,
  }),
  defineTool({ name: "sleeps", run: (_, ctx) => ctx.sleep("long", "1 day").then(() => "SECRET") }),
  defineTool({ name: "ends", run: () => "SECRET result" }),
];
