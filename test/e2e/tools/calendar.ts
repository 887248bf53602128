/** Acts in a person's name at a provider, asks a question, and acts again with the same grant. It records only a digest of a token. */
import { hash } from "node:crypto";
import { defineTool } from "@parley/sdk";

export const calendar = defineTool({
  name: "calendar",
  async run(_args, ctx) {
    const grant = await ctx.oauth("calendar", { provider: "calendar", scopes: ["calendar:read"], message: "To read your calendar" });
    const use = (name: string) => ctx.step(name, () => grant.use((token) => hash("sha256", token)), { attempts: 3 });
    const before = await use("before");
    await ctx.confirm("again", { message: "Again?" });
    return `${String(grant)} ${before} ${await use("after")}`;
  },
});
