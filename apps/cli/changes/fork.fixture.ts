/** Tools for the tests of forks. Their steps write what they do to a file. */
import { appendFileSync } from "node:fs";
import { defineModule, defineTool } from "@parley/sdk";
import { z } from "zod";

export function did(what: string): string {
  appendFileSync(String(process.env["FORK_TEST_FILE"]), `${what}\n`);
  return what;
}

const SIZE = z.object({ size: z.number().max(8) });

export const rates = defineModule({ name: "rates", start: () => ({ of: (amount: number) => amount / 10 }), stop: () => undefined });

export const tax = defineTool({
  name: "tax",
  input: z.object({ amount: z.number() }),
  output: z.object({ tax: z.number() }),
  run: ({ amount }, ctx) => ctx.step("rate", () => (did("rate"), { tax: rates.use().of(amount) })),
});

export const book = defineTool({
  name: "book",
  input: z.object({ day: z.string() }),
  async run({ day }, ctx) {
    const at = ctx.now().getTime();
    const held = await ctx.step("hold", ({ idempotencyKey }) =>
      did(`hold ${day} ${idempotencyKey.startsWith("fork-") ? "forked" : "recorded"}`),
    );
    const { size } = await ctx.elicit("size", { message: "How many?", schema: SIZE });
    await ctx.sleep("pause", "2 days");
    const paid = await ctx.step("charge", ({ idempotencyKey }) =>
      did(`charge ${size} ${idempotencyKey.startsWith("fork-") ? "forked" : "recorded"}`),
    );
    const due = await ctx.call(tax, { amount: size });
    await ctx.confirm("sure", { message: "Sure?" });
    return `${held}, ${paid}, ${due.tax}, ${ctx.now("end").getTime() >= at}`;
  },
});

export default [book, tax, rates];
