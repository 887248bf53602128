/** A saga: bookings are released if the task is cancelled, fails, or is not approved. */
import { rm } from "node:fs/promises";
import { defineTool, ToolError } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { createJson } from "./file-store.ts";

const BOOKINGS = ["venue", "catering", "bus"] as const;
const fileOf = (team: string, what: string) => galleryDir("retreats", team, `${what}.json`);

export const planRetreat = defineTool({
  name: "plan_retreat",
  title: "Plan a retreat",
  description: "Books venue, catering and bus for a team's retreat, and keeps them if they are approved.",
  input: z.object({
    team: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .describe("Short name of the team, such as web"),
    people: z.number().int().min(2).max(200),
  }),
  async run({ team, people }, ctx) {
    for (const what of BOOKINGS) {
      await ctx.step(what, async ({ idempotencyKey }) => {
        // If the step runs again, the booking is not created twice.
        await createJson(fileOf(team, what), { people, by: idempotencyKey });
        return fileOf(team, what);
      });
    }
    const keep = await ctx.confirm("approve", {
      message: `Venue, catering and bus for ${people} of ${team} are booked. Keep them?`,
      timeout: "2 days",
    });
    if (!keep) throw new ToolError(`The retreat of ${team} was not approved, and its bookings are released.`);
    return `The retreat of ${team} is booked for ${people}.`;
  },
  // Releases bookings from the last to the first, each once, even if a worker dies in between.
  async compensate(_args, ctx) {
    for (const { key, value } of ctx.done.toReversed()) await ctx.step(key, () => rm(String(value), { force: true }));
  },
});
