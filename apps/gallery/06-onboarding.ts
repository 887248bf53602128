/** An interview in rounds, as a plain loop. Each round is an occurrence of the same question, and an answer never counts for another round. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const MEMBERS_MAX = 10;

const MEMBER = z.object({
  name: z.string().min(1).max(80).meta({ title: "Name" }),
  email: z.email().meta({ title: "E-mail" }),
  role: z.enum(["developer", "designer", "manager"]).default("developer"),
  more: z.boolean().default(false).meta({ title: "Add another one" }),
});

export const onboarding = defineTool({
  name: "onboarding",
  title: "Set up a team",
  description: "Sets up a team by asking for one member after another.",
  input: z.object({
    team: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .describe("Short name of the team, such as web"),
  }),
  async run({ team }, ctx) {
    const members: { name: string; email: string; role: string }[] = [];
    for (let more = true; more && members.length < MEMBERS_MAX;) {
      ctx.status(`${members.length} members so far`);
      const round = await ctx.ask("member", {
        message: `Member ${members.length + 1} of team ${team}?`,
        schema: MEMBER,
        timeout: "3 days",
      });
      // Closing the form ends the interview; earlier rounds count.
      if (round.action !== "accept") break;
      const { more: another, ...member } = round.content;
      members.push(member);
      more = another;
    }
    if (members.length === 0) return `Team ${team} was not set up.`;
    await ctx.step("save", () => writeJson(galleryDir("teams", `${team}.json`), { team, members }));
    return `Team ${team}: ${members.map(({ name, role }) => `${name} (${role})`).join(", ")}.`;
  },
});
