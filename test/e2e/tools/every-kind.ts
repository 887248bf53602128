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
