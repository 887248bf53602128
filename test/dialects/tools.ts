/** One tool for each thing that a dialect must convey. `marker` identifies a run in the store. */
import { hash } from "node:crypto";
import { type Context, defineTool, ToolError } from "@parley/sdk";
import { z } from "zod";

/** The name of an entry that stays in the store when the arguments are gone. */
export function markName(marker: string): string {
  return `marker-${hash("sha256", marker).slice(0, 32)}`;
}

function mark(ctx: Context, { marker }: { readonly marker: string }): void {
  ctx.now(markName(marker));
}

const input = z.object({ marker: z.string() });
const person = z.object({ name: z.string().min(2) });
const approval = z.object({ ok: z.boolean() });

/** Short, since nobody answers; the sweep closes the question within a second of it. */
const SOON = "200ms";

export const greet = defineTool({
  name: "greet",
  input,
  async run(args, ctx) {
    mark(ctx, args);
    const { name } = await ctx.elicit("who", { message: "Who are you?", schema: person });
    return `Hello, ${name}!`;
  },
});

export const approve = defineTool({
  name: "approve",
  input,
  async run(args, ctx) {
    mark(ctx, args);
    const [operations, legal] = await Promise.all([
      ctx.ask("operations", { message: "Does operations agree?", schema: approval }),
      ctx.ask("legal", { message: "Does legal agree?", schema: approval }),
    ]);
    const said = [operations, legal].map((answer) => (answer.action === "accept" ? answer.content.ok : answer.action));
    return `operations ${said[0]}, legal ${said[1]}`;
  },
});

export const interview = defineTool({
  name: "interview",
  input,
  async run(args, ctx) {
    mark(ctx, args);
    const names = [];
    for (const round of [1, 2, 3]) {
      const { name } = await ctx.elicit("member", { message: `Member ${round}?`, schema: person });
      names.push(name);
    }
    return names.join(" and ");
  },
});

export const hurry = defineTool({
  name: "hurry",
  input,
  async run(args, ctx) {
    mark(ctx, args);
    const { name } = await ctx.elicit("quick", { message: "Who is quick?", schema: person, timeout: SOON });
    return `${name} is quick`;
  },
});

export const assume = defineTool({
  name: "assume",
  input,
  async run(args, ctx) {
    mark(ctx, args);
    const { name } = await ctx.elicit("guess", {
      message: "Who shall it be?",
      schema: person,
      timeout: SOON,
      onTimeout: { default: { name: "Nobody" } },
    });
    return `It is ${name}`;
  },
});

export const fail = defineTool({
  name: "fail",
  input,
  async run(args, ctx) {
    mark(ctx, args);
    await ctx.elicit("who", { message: "Who shall fail?", schema: person });
    throw new ToolError("The ovens are cold.");
  },
});

export default [greet, approve, interview, hurry, assume, fail];
