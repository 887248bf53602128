/** Parley's own tools that do what those of the measured upstream do: what a call costs without any gateway. */
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
