/** An event completes a page: the payment service reports the payment. Closing the window has no effect. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const PAID = z.object({ status: z.literal("paid"), reference: z.string().min(1).max(64) });

export const collectPayment = defineTool({
  name: "collect_payment",
  title: "Collect a payment",
  description: "Sends the user to a payment page and continues when the payment service reports the payment.",
  input: z.object({ amount: z.number().positive().max(1_000), purpose: z.string().min(1).max(80) }),
  async run({ amount, purpose }, ctx) {
    const order = ctx.uuid("order");
    const paid = ctx.event("paid", { schema: PAID, timeout: "1 day" });
    // A real payment service would receive the callback address and return its page. Here a file takes its place: POST a body like `PAID` to its
    // `callback`.
    const page = await ctx.step("checkout", async () => {
      await writeJson(galleryDir("payments", `${order}.json`), { amount, purpose, callback: paid.url });
      return `https://pay.example.com/checkout/${order}`;
    });
    const { reference } = await ctx.url("pay", { message: `Please pay ${amount} € for ${purpose}.`, url: page, completedBy: paid });
    return `Paid ${amount} € for ${purpose}, reference ${reference}.`;
  },
});
