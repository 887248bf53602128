/** What the hostile caller of main.ts calls, and the tool of the honest one. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export { askWhen } from "../../bench/tool.ts";

/** Keeps everything that it is given: arguments, a step's result, reports, and a result. */
export const keep = defineTool({
  name: "keep",
  input: z.object({ text: z.string() }),
  task: "required",
  async run({ text }, ctx) {
    ctx.log("info", text.slice(0, 8_000));
    await ctx.step("copy", () => text);
    return text;
  },
});

/** The same, and stays until it is answered, which nobody does. */
export const keepOpen = defineTool({
  name: "keep_open",
  input: z.object({ text: z.string() }),
  task: "required",
  async run({ text }, ctx) {
    ctx.log("info", text.slice(0, 8_000));
    await ctx.step("copy", () => text);
    const { size } = await ctx.elicit("size", { message: "How many?", schema: z.object({ size: z.number() }), timeout: "7 days" });
    return String(size);
  },
});
