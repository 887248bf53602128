/**
 * One question between two side effects: the table is held once and confirmed once, however long the answer takes.
 *
 * `needs` refuses clients that cannot be asked before anything is held, and every end without a booking gives the table back. A
 * client that cancels the task does not: a cancelled task never runs again, not even to clean up, since nothing it did then could be
 * recorded. What a task holds needs an end of its own, such as the expiry that real restaurants give their holds; the one here has none, to
 * stay short.
 */
import { TimedOut, ToolError, Unanswered, defineTool } from "@parley/sdk";
import { z } from "zod";
import { confirmTable, holdTable, releaseTable } from "./booking-store.ts";

export const bookDinner = defineTool({
  name: "book_dinner",
  description: "Books a table for dinner, asking how many people will come.",
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
      // Not only without an answer: a step that failed, or a client that cannot be asked after all, must not keep the table either.
      await ctx.step("release-table", () => releaseTable(table));
      if (error instanceof TimedOut) return "Nobody said for how many, so the table was given back.";
      if (error instanceof Unanswered) return "No table was booked.";
      throw error;
    }
  },
});
