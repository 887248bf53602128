/** Tools whose tasks have much to tell: ten questions at once, and an end. One for each receiver. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const QUESTIONS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] as const;
/** As many as there are receivers of the operator's file. */
export const TOOLS = 8;

const schema = z.object({ yes: z.boolean() });

function telling(at: number) {
  return defineTool({
    name: `tell_${at}`,
    input: z.object({ number: z.number() }),
    task: "required",
    async run(_, ctx) {
      await Promise.all(QUESTIONS.map((name) => ctx.elicit(name, { message: `${name}?`, schema })));
      return "told";
    },
  });
}

export const tell0 = telling(0);
export const tell1 = telling(1);
export const tell2 = telling(2);
export const tell3 = telling(3);
export const tell4 = telling(4);
export const tell5 = telling(5);
export const tell6 = telling(6);
export const tell7 = telling(7);
