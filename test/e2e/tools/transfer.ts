import { defineTool } from "@parley/sdk";

/** Asks for a yes that counts after a recent login only. */
export const transfer = defineTool({
  name: "transfer",
  async run(_args, ctx) {
    const sure = await ctx.confirm("sure", { message: "Transfer it?", assurance: { within: "15 minutes" } });
    return `${String(sure)} ${String(ctx.answeredBy("sure")?.assurance)}`;
  },
});
