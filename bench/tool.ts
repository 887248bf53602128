/** The measured tools: one question and no work of their own. Building a schema in every run would be such work. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const SIZE = z.object({ size: z.number().int().min(1).max(20) });
const INPUT = z.object({ note: z.string() });

export const ask = defineTool({
  name: "ask",
  input: INPUT,
  task: "required",
  async run(_args, ctx) {
    const { size } = await ctx.elicit("size", { message: "How many?", schema: SIZE });
    return `for ${size}`;
  },
});

/** Asks others than its caller. */
export const askGroup = defineTool({
  name: "ask_group",
  input: z.object({ note: z.string(), group: z.string() }),
  task: "required",
  async run({ group }, ctx) {
    const { size } = await ctx.elicit("size", { message: "How many?", schema: SIZE, to: { groups: [group] } });
    return `for ${size}`;
  },
});

/** Says when its handler went on, by the machine's monotonic clock, which all processes share. */
export const askWhen = defineTool({
  name: "ask_when",
  input: INPUT,
  async run(_args, ctx) {
    await ctx.elicit("size", { message: "How many?", schema: SIZE });
    return String(process.hrtime.bigint());
  },
});
