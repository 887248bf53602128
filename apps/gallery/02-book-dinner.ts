/**
 * One question between two side effects: the table is held once and confirmed once, however long the answer takes.
 *
 * `needs` refuses clients that cannot be asked before a table is held, and every outcome without a booking releases the table. The exception is
 * a client that cancels the task: `run` does not continue then, so its `catch` does not run. A tool that must clean up after a cancellation
 * defines `compensate` (14-plan-retreat.ts), or gives its holds an expiry, as real restaurants do. This one does neither, to stay short.
 */
import { TimedOut, ToolError, Unanswered, defineTool } from "@parley/sdk";
import { z } from "zod";
import { confirmTable, holdTable, releaseTable } from "./booking-store.ts";

export const bookDinner = defineTool({
  name: "book_dinner",
  title: "Book a dinner table",
  description: "Books a table for dinner, and asks how many people will come.",
  input: z.object({
    date: z.iso.date().describe("The day, such as 2026-12-24"),
    time: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/)
      .describe("The time, such as 19:30"),
  }),
  needs: { elicitation: { form: true, url: false } },
  async run({ date, time }, ctx) {
    const table = await ctx.step("hold-table", ({ idempotencyKey }) => holdTable(date, time, { idempotencyKey }));
    if (!table) throw new ToolError(`No table is left on ${date} at ${time}.`);
    ctx.immediateResponse(`Table ${table.table} is held. The user is being asked how many people will come.`);
    try {
      const { partySize } = await ctx.elicit("party-size", {
        message: "How many people will be dining?",
        schema: z.object({ partySize: z.number().int().min(1).max(20).meta({ title: "Party size" }) }),
        timeout: "2 days",
      });
      const confirmation = await ctx.step("confirm", () => confirmTable(table, partySize));
      return `Confirmed: table ${table.table} for ${partySize} on ${date} at ${time}, number ${confirmation}.`;
    } catch (error) {
      // The table is released after any failure: no answer, a failed step, or a client that cannot be asked after all.
      await ctx.step("release-table", () => releaseTable(table));
      if (error instanceof TimedOut) return "The question was not answered in time, so the table was released.";
      if (error instanceof Unanswered) return "No table was booked.";
      throw error;
    }
  },
});
