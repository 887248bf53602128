/**
 * The four-eyes principle: two people from finance other than the caller must accept. One person cannot release a payment alone or by accepting
 * twice, nor can the caller.
 *
 * The form has no field for yes or no: a person who objects declines, and the first one to decline ends it. If callers are not identified
 * (PARLEY_AUTH=none), the tool fails with a reason and pays nothing.
 */
import { TimedOut, defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

export const releasePayment = defineTool({
  name: "release_payment",
  title: "Release a payment",
  description: "Releases a payment once two people from finance, other than the caller, have accepted it.",
  input: z.object({
    payment: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,40}$/)
      .describe("Number of the payment, such as P-2026-117"),
    payee: z.string().min(1).max(80),
    amount: z.number().positive().describe("In EUR"),
  }),
  needs: { elicitation: { form: true, url: false } },
  async run({ payment, payee, amount }, ctx) {
    try {
      const approvals = await ctx.elicit("release", {
        message: `Release payment ${payment} over ${amount} EUR to ${payee}?`,
        schema: z.object({ remark: z.string().max(200).optional().meta({ title: "Remark" }) }),
        to: { groups: ["finance"] },
        not: "caller",
        quorum: 2,
        timeout: "5 days",
      });
      const approvedBy = approvals.map(({ principal, at, content }) => ({ principal, at: at.toISOString(), ...content }));
      await ctx.step("pay", () => writeJson(galleryDir("payments", `${payment}.json`), { payment, payee, amount, approvedBy }));
      return `Payment ${payment} is released; ${approvals.length} people have accepted it.`;
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      return `Payment ${payment} is not released: ${error.accepted} of ${error.quorum} people accepted it in five days.`;
    }
  },
});
