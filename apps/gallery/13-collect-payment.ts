/** An event completes a page: a payment service says when it was paid, and closing the window says nothing. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const PAID = z.object({ status: z.literal("paid"), reference: z.string().min(1).max(64) });

export const collectPayment = defineTool({
  name: "collect_payment",
  description: "Sends the user to a payment page and continues when the payment service says that it was paid.",
  input: z.object({ amount: z.number().positive().max(1_000), purpose: z.string().min(1).max(80) }),
  async run({ amount, purpose }, ctx) {
    const order = ctx.uuid("order");
    const paid = ctx.event("paid", { schema: PAID, timeout: "1 day" });
    // A payment service is told where to call back, and answers with its page. Here a file stands for it: POST what `PAID` says to its `callback`.
    const page = await ctx.step("checkout", async () => {
      await writeJson(galleryDir("payments", `${order}.json`), { amount, purpose, callback: paid.url });
      return `https://pay.example.com/checkout/${order}`;
    });
    const { reference } = await ctx.url("pay", { message: `Please pay ${amount} € for ${purpose}.`, url: page, completedBy: paid });
    return `Paid ${amount} € for ${purpose}, reference ${reference}.`;
  },
});
