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

export const ask = asking("own_ask", 1);
export const askThrice = asking("own_ask_thrice", 3);

function asking(name: string, questions: number) {
  return defineTool({
    name,
    input: INPUT,
    async run({ text }, ctx) {
      let last = 0;
      for (let asked = 0; asked < questions; asked += 1) {
        ({ size: last } = await ctx.elicit("size", { message: `How many for ${text}?`, schema: SIZE }));
      }
      return `${text}: ${last}`;
    },
  });
}
