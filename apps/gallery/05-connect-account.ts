/** URL mode: a sign-in, which must not pass through the client, happens on a separate page. The tool never sees a secret. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

export const connectAccount = defineTool({
  name: "connect_account",
  title: "Connect an account",
  description: "Connects an account by sending the user to the service's own page.",
  input: z.object({ service: z.enum(["calendar", "repository"]) }),
  async run({ service }, ctx) {
    // The service returns `state` with its grant. It links the grant to this request without revealing the task.
    const state = ctx.uuid("state");
    await ctx.step("expect", () =>
      writeJson(galleryDir("connections", `${state}.json`), { service, principal: ctx.principal, status: "asked" }),
    );
    const answer = await ctx.ask("authorize", {
      message: `Please sign in to your ${service} and allow access.`,
      url: `https://${service}.example.com/authorize?state=${state}`,
      timeout: "1 hour",
    });
    const status = answer.action === "accept" ? "opened" : answer.action;
    await ctx.step("note", () => writeJson(galleryDir("connections", `${state}.json`), { service, principal: ctx.principal, status }));
    return answer.action === "accept"
      ? `The user went to the ${service} to sign in; the connection ${state} is active once the ${service} confirms it.`
      : `The ${service} was not connected (${status}).`;
  },
});
