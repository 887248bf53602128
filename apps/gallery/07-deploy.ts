/** Two questions at once, of which one has a default: without an answer about the window, the release waits until tonight, without a worker. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const APPROVAL = z.object({ approve: z.boolean().meta({ title: "Approve" }), note: z.string().max(200).optional() });
const WINDOW = z.object({ when: z.enum(["now", "tonight"]) });

export const deploy = defineTool({
  name: "deploy",
  title: "Release a version",
  description: "Releases a version after the team's approval, at a time that operations chooses.",
  input: z.object({
    service: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .describe("Short name of the service, such as shop"),
    version: z
      .string()
      .regex(/^\d+\.\d+\.\d+$/)
      .describe("Version to release, such as 1.4.0"),
  }),
  annotations: { destructiveHint: true },
  async run({ service, version }, ctx) {
    const [approval, { when }] = await Promise.all([
      ctx.ask("approval", { message: `Release ${service} ${version}?`, schema: APPROVAL, timeout: "1 day", onTimeout: "decline" }),
      ctx.elicit("window", {
        message: `When may ${service} ${version} go out? Without an answer within an hour: tonight.`,
        schema: WINDOW,
        timeout: "1 hour",
        onTimeout: { default: { when: "tonight" } },
      }),
    ]);
    if (approval.action !== "accept" || !approval.content.approve) return `${service} ${version} was not approved.`;
    if (when === "tonight") await ctx.sleep("until-tonight", "8 hours");
    const release = { service, version, releasedAt: ctx.now(), note: approval.content.note ?? "" };
    await ctx.step("release", () => writeJson(galleryDir("releases", `${service}.json`), release), { attempts: 3, backoff: "2s" });
    return `Released ${service} ${version} ${when}.`;
  },
});
