/** What the noisy tenant of benchmarks/victim.ts calls, and the tool of the quiet one. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

export { askWhen } from "./tool.ts";

const SIZE = z.object({ size: z.number().int().min(1).max(20) });

/** Holds a place of a worker. */
export const work = defineTool({
  name: "work",
  input: z.object({ ms: z.number() }),
  task: "required",
  async run({ ms }, ctx) {
    await ctx.step("work", () => sleep(ms));
    return "done";
  },
});

/** The same once it is answered. */
export const askAndWork = defineTool({
  name: "ask_and_work",
  input: z.object({ ms: z.number() }),
  task: "required",
  async run({ ms }, ctx) {
    await ctx.elicit("size", { message: "How many?", schema: SIZE });
    await ctx.step("work", () => sleep(ms));
    return "done";
  },
});

/** Tells `tell` at which address its event is reported. */
export const awaitEvent = defineTool({
  name: "await_event",
  input: z.object({ tell: z.string() }),
  task: "required",
  async run({ tell }, ctx) {
    const event = ctx.event("paid", { schema: z.object({ amount: z.number() }), timeout: "1 day" });
    await ctx.step("tell", async () => void (await fetch(tell, { method: "POST", body: event.url })));
    await event.received();
    return "done";
  },
});
