/**
 * An approval with escalation: one person is asked first, and after a day a second one as well. The first answer wins.
 *
 * The signal withdraws the loser of the race: the sleep, which is no longer needed, or the other question, which clients then no longer show.
 * Without the signal the other question would stay open until the task ends, and a person might answer it in vain.
 */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const APPROVAL = z.object({ approve: z.boolean().meta({ title: "Approve" }), note: z.string().max(200).optional() });

export const approveInvoice = defineTool({
  name: "approve_invoice",
  title: "Approve an invoice",
  description: "Gets an invoice approved, by a deputy if the approver does not answer within a day.",
  input: z.object({
    invoice: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,40}$/)
      .describe("Number of the invoice, such as 2026-117"),
    amount: z.number().positive().describe("In EUR"),
    approver: z.string().min(1).max(80).describe("Person who is asked first"),
    deputy: z.string().min(1).max(80).describe("Person who is also asked after a day"),
  }),
  needs: { elicitation: { form: true, url: false } },
  async run({ invoice, amount, approver, deputy }, ctx) {
    const decided = new AbortController();
    const { signal } = decided;

    async function ask(name: string, person: string) {
      const message = `${person}: pay invoice ${invoice} over ${amount} EUR?`;
      const answer = await ctx.ask(name, { message, schema: APPROVAL, timeout: "5 days", signal });
      return { person, answer, by: ctx.answeredBy(name)?.principal };
    }

    async function escalate() {
      await ctx.sleep("patience", "1 day", { signal });
      ctx.status(`${approver} has not answered for a day; ${deputy} is asked as well.`);
      return ask("deputy", deputy);
    }

    const { person, answer, by } = await Promise.race([ask("approver", approver), escalate()]);
    decided.abort();

    if (answer.action === "timeout") return `No decision was made about invoice ${invoice}.`;
    if (answer.action !== "accept" || !answer.content.approve) return `${person} did not approve invoice ${invoice}.`;
    const { note = "" } = answer.content;
    await ctx.step("record", () => writeJson(galleryDir("invoices", `${invoice}.json`), { invoice, amount, approvedBy: person, by, note }));
    return `${person} approved invoice ${invoice}.`;
  },
});
