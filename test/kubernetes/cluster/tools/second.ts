/** The image after an upgrade: a new task also asks for the approver's name. Waiting tasks keep the old path. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { toil as same } from "./first.ts";

const SURE = z.object({ sure: z.boolean() });
const BY = z.object({ by: z.string() });

export const toil = same;

export const approve = defineTool({
  name: "approve",
  input: z.object({ what: z.string() }),
  async run({ what }, ctx) {
    const isNew = ctx.patched("by");
    const { sure } = await ctx.elicit("sure", { message: `Sure of ${what}?`, schema: SURE });
    if (!isNew) return `${what}: ${sure}`;
    const { by } = await ctx.elicit("by", { message: "Who says so?", schema: BY });
    return `${what}: ${sure}, says ${by}`;
  },
});
