/** What the callers of main.ts and flat.ts call. */
import { defineTool, RpcFailure } from "@parley/sdk";
import { z } from "zod";

export { askGroup, askWhen } from "../../bench/tool.ts";

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

/** Calls a tool, whose task is a child of its own. */
export const callKeep = defineTool({
  name: "call_keep",
  input: z.object({ text: z.string() }),
  task: "required",
  run: async ({ text }, ctx) => `${JSON.stringify(await ctx.call(keep, { text })).length}`,
});

export const fail = defineTool({
  name: "fail",
  task: "required",
  async run(_args, ctx) {
    await ctx.step("try", () => "x".repeat(100));
    throw new RpcFailure(-32_000, "it always fails");
  },
});
