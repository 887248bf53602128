/** A tool that works for as long as its arguments say. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export const busy = defineTool({
  name: "busy",
  input: z.object({ ms: z.number() }),
  async run({ ms }, ctx) {
    ctx.status("busy");
    await ctx.step("work", () => sleep(ms, ms));
    return "done";
  },
});

/** Asks, and then works until it is told to stop. */
export const finishUp = defineTool({
  name: "finish_up",
  input: z.object({}),
  async run(_args, ctx) {
    const { name } = await ctx.elicit("name", { message: "For whom?", schema: z.object({ name: z.string() }) });
    ctx.status("busy");
    const left = await ctx.step(
      "work",
      ({ signal }) => new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("all the same"))),
    );
    return `done for ${name}, ${left}`;
  },
});
