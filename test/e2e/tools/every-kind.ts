/** One tool for each kind of question to the caller. Its result is how the question ended. */
import { defineTool } from "@parley/sdk";
import { z } from "zod";

const ask = { message: "How many?", schema: z.object({ n: z.number() }) } as const;

async function endOf(answer: Promise<unknown>): Promise<string> {
  const [{ status }] = await Promise.allSettled([answer]);
  return status === "fulfilled" ? "answered" : "not answered";
}

export const form = defineTool({ name: "form", run: (_args, ctx) => endOf(ctx.elicit("n", ask)) });
export const page = defineTool({ name: "page", run: (_args, ctx) => endOf(ctx.secret("key", { message: "The key?" })) });
export const model = defineTool({ name: "model", run: (_args, ctx) => endOf(ctx.sample("thought", { messages: [], maxTokens: 9 })) });
export const folders = defineTool({ name: "folders", run: (_args, ctx) => endOf(ctx.roots("folders")) });

/** What their caller cannot answer at the gateway. The result is who did. */
export const others = defineTool({
  name: "others",
  async run(_args, ctx) {
    await ctx.elicit("n", { ...ask, to: { groups: ["finance"] }, not: "caller" });
    return `answered by ${ctx.answeredBy("n")?.name ?? "nobody"}`;
  },
});
export const login = defineTool({ name: "login", run: (_args, ctx) => endOf(ctx.elicit("n", { ...ask, assurance: "login" })) });
