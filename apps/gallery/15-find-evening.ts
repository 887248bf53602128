/**
 * Acts on the user's behalf at another service. The user logs in and consents there, on pages that neither the client nor its model sees. The
 * tool holds a reference, and a step receives a valid access token for its call.
 *
 * Needs a provider named `calendar` (PARLEY_OAUTH, docs/pages.md).
 */
import { defineTool, ToolError } from "@parley/sdk";
import { z } from "zod";
import { calendarUrl } from "./config.ts";

const DAYS = z.array(z.object({ date: z.iso.date(), busy: z.boolean() })).max(31);

export const findEvening = defineTool({
  name: "find_evening",
  title: "Find a free evening",
  description: "Finds the next free evening in the user's calendar, to which the user grants access once.",
  async run(_args, ctx) {
    const calendar = await ctx.oauth("calendar", {
      provider: "calendar",
      scopes: ["calendar:read"],
      message: "To find a free evening I need to read your calendar.",
      timeout: "1 hour",
    });
    const days = await ctx.step("evenings", ({ signal }) => calendar.use((token) => evenings(token, signal)), { attempts: 3 });
    const free = days.find(({ busy }) => !busy);
    return free ? `${free.date} is free.` : "There is no free evening this month.";
  },
});

async function evenings(token: string, signal: AbortSignal): Promise<z.output<typeof DAYS>> {
  const response = await fetch(calendarUrl(), { headers: { authorization: `Bearer ${token}` }, signal });
  if (response.status === 403) throw new ToolError("The calendar refused: the granted access does not cover it.");
  if (!response.ok) throw new Error(`the calendar answered ${response.status}`);
  return DAYS.parse(await response.json());
}
