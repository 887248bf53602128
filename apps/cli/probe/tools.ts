/** The tools that a client is tried with. Each tries one thing, needs no arguments, and does nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const SLOW_STEPS = 20;
const SLOW_STEP_MS = 500;

export const probeForm = defineTool({
  name: "probe_form",
  description: "Asks the user for a name, by a form. Call it to try forms.",
  input: z.object({}),
  async run(_, ctx) {
    await ctx.elicit("form", {
      message: "A trial of forms. What is your name? Any text will do.",
      schema: z.object({ name: z.string().min(1) }),
    });
    return "The form was answered.";
  },
});

export const probeUrl = defineTool({
  name: "probe_url",
  description: "Sends the user to a page. Call it to try pages.",
  input: z.object({}),
  async run(_, ctx) {
    const answer = await ctx.ask("url", {
      message: "A trial of pages. Please open this page; there is nothing to do on it.",
      url: "https://modelcontextprotocol.io/specification",
    });
    return answer.action === "accept" ? "The page was opened." : "The page was not opened.";
  },
});

export const probeCut = defineTool({
  name: "probe_cut",
  description: "Asks the user for a colour, while the connection is cut once. Call it to try lost connections.",
  input: z.object({}),
  async run(_, ctx) {
    await ctx.elicit("cut", {
      message: "A trial of lost connections. What colour do you like? Any text will do.",
      schema: z.object({ colour: z.string().min(1) }),
    });
    return "The answer arrived.";
  },
});

export const probeSlow = defineTool({
  name: "probe_slow",
  description: "Works for ten seconds and reports progress. Call it to try progress, and cancel it to try cancellation.",
  input: z.object({}),
  async run(_, ctx) {
    for (let step = 1; step <= SLOW_STEPS; step += 1) {
      ctx.progress(step, SLOW_STEPS, `step ${step} of ${SLOW_STEPS}`);
      await ctx.step(`wait-${step}`, () => sleep(SLOW_STEP_MS));
    }
    return "Ten seconds are over.";
  },
});
