/**
 * An endless loop: one question a week, for years. `ctx.restart` restarts the same task with an empty journal, so the fiftieth week costs as
 * little as the first. State for the next round is passed in its arguments.
 */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const NOTE = z.object({
  note: z.string().max(500).default("").meta({ title: "This week" }),
  goOn: z.boolean().default(true).meta({ title: "Ask again next week" }),
});

export const weeklyNote = defineTool({
  name: "weekly_note",
  title: "Weekly note",
  description: "Asks once a week what happened and keeps a journal, until the user wants to stop.",
  input: z.object({
    journal: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .describe("Short name of the journal, such as garden"),
    week: z.int().min(1).default(1).describe("Number of the week; 1 unless a journal is continued"),
  }),
  needs: { elicitation: { form: true, url: false } },
  async run({ journal, week }, ctx) {
    const answer = await ctx.ask("note", { message: `Week ${week} of ${journal}: what happened?`, schema: NOTE, timeout: "6 days" });
    const note = answer.action === "accept" ? answer.content.note : "";
    if (note !== "") {
      // One file per week instead of a line appended to one file: if a worker dies before the step is recorded, the step runs again.
      await ctx.step("write", () => writeJson(galleryDir("journals", journal, `week-${week}.json`), { note }));
    }
    // A missed week does not end the journal; declining or clearing the checkbox does.
    if (answer.action === "decline" || (answer.action === "accept" && !answer.content.goOn))
      return `The journal ${journal} ends with week ${week}.`;
    await ctx.sleep("next-week", "7 days");
    return await ctx.restart({ journal, week: week + 1 });
  },
});
