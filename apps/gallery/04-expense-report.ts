/**
 * A form with every kind of field, and a structured result.
 *
 * The form is the same in every call, and filing a report destroys nothing, so a client that knows the form may send the answer with the call.
 */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const CATEGORIES = z.union([
  z.literal("travel").meta({ title: "Travel and lodging" }),
  z.literal("meals").meta({ title: "Meals with guests" }),
  z.literal("tools").meta({ title: "Software and tools" }),
]);

const EXPENSE = z.object({
  purpose: z.string().min(3).max(200).meta({ title: "Purpose", description: "What was it for?" }),
  amount: z.number().positive().max(10_000).meta({ title: "Amount in EUR" }),
  date: z.iso.date().meta({ title: "Date of the receipt" }),
  category: CATEGORIES,
  projects: z
    .array(z.enum(["apollo", "gemini", "mercury"]))
    .min(1)
    .meta({ title: "Projects that share the cost" }),
  billable: z.boolean().default(false).meta({ title: "Billable to the customer" }),
});

export const expenseReport = defineTool({
  name: "expense_report",
  title: "File an expense report",
  description: "Files an expense report from a form that the user fills in.",
  earlyReplies: true,
  output: EXPENSE.extend({ id: z.string(), perProject: z.number() }),
  async run(_args, ctx) {
    const expense = await ctx.elicit("expense", { message: "Please fill in the expense report.", schema: EXPENSE, timeout: "7 days" });
    const id = ctx.uuid();
    const report = { id, ...expense, perProject: Math.round((expense.amount / expense.projects.length) * 100) / 100 };
    await ctx.step("file", () => writeJson(galleryDir("expenses", `${id}.json`), report));
    return report;
  },
});
