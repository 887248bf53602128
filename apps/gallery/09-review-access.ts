/**
 * One question per account, all open at once and answered in any order: a plain `map`.
 *
 * The branches use the same names for their steps and questions. Each branch gets its own results in every run, because a replay settles
 * effects in the recorded order. `ctx.branch` still scopes the names: clients then see `ada/keep` instead of `keep#2`, and the tool stays
 * correct if a branch later awaits something outside `ctx`.
 */
import { rm } from "node:fs/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { createJson, readJson } from "./file-store.ts";

const KEEP = z.object({ keep: z.boolean().default(true).meta({ title: "Keep the access" }) });

export const reviewAccess = defineTool({
  name: "review_access",
  title: "Review access",
  description: "Reviews who has access to a project: asks about each account, and revokes access that is no longer needed.",
  input: z.object({
    project: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .describe("Short name of the project, such as apollo"),
    accounts: z
      .array(z.string().regex(/^[a-z0-9-]{1,40}$/))
      .min(1)
      .max(20)
      .refine((accounts) => new Set(accounts).size === accounts.length, "must name each account once")
      .describe("Accounts to review, such as ada"),
  }),
  annotations: { destructiveHint: true },
  needs: { elicitation: { form: true, url: false } },
  async run({ project, accounts }, ctx) {
    const file = (account: string) => galleryDir("access", project, `${account}.json`);

    const verdicts = await Promise.all(
      accounts.map((account) =>
        ctx.branch(account, async () => {
          const since = await ctx.step("look-up", () => accessSince(file(account)));
          const answer = await ctx.ask("keep", {
            message: `Does ${account} still need access to ${project} (granted on ${since})?`,
            schema: KEEP,
            timeout: "14 days",
          });
          // Access is revoked only on an explicit no.
          if (answer.action !== "accept" || answer.content.keep) return `${account} keeps it`;
          await ctx.step("revoke", () => rm(file(account), { force: true }));
          return `${account} lost it`;
        }),
      ),
    );
    return `Access to ${project}: ${verdicts.join(", ")}.`;
  },
});

/** Grants access to accounts that have none, so that there is something to review. */
async function accessSince(path: string): Promise<string> {
  await createJson(path, { since: "2026-01-01" });
  return (await readJson<{ since: string }>(path))?.since ?? "an unknown date";
}
