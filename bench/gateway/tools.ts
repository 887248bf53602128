/** Parley's own tools that do the same as those of the measured upstream: what a call costs without a gateway. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const SIZE = z.object({ size: z.number().int() });
const INPUT = z.object({ text: z.string() });

export const plain = defineTool({
  name: "own_plain",
  input: INPUT,
  run: async ({ text }) => text,
});

export const ask = defineTool({
  name: "own_ask",
  input: INPUT,
  async run({ text }, ctx) {
    const { size } = await ctx.elicit("size", { message: `How many for ${text}?`, schema: SIZE });
    return `${text}: ${size}`;
  },
});
