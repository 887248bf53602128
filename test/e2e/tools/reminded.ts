import { defineTool } from "@parley/sdk";

/** Asks a question that nobody answers: three reminders, and others are asked as well. */
export const reminded = defineTool({
  name: "reminded",
  async run(_args, ctx) {
    const remind = ["1 minute", "2 minutes", "4 minutes"] as const;
    const sure = await ctx.confirm("sure", {
      message: "Sure?",
      remind,
      escalate: { after: "3 minutes", to: { groups: ["leads"] } },
      timeout: "1 hour",
    });
    return String(sure);
  },
});
