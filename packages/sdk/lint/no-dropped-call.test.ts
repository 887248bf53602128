import { RuleTester } from "oxlint/plugins-dev";
import { describe, test } from "vitest";
import { noDroppedCall } from "./no-dropped-call.ts";

RuleTester.describe = describe as unknown as typeof RuleTester.describe;
RuleTester.it = test as unknown as typeof RuleTester.it;

const tool = (body: string) => `defineTool({ name: "t", async run(args, ctx) { ${body} } });`;
const generator = (body: string) => `import { ask, step } from "@parley/sdk"; defineTool({ name: "t", *run(args, ctx) { ${body} } });`;
const error = (messageId: string, call: string) => [{ messageId, data: { call } }];
const dropped = (code: string, method: string) => ({ code, errors: error("dropped", `ctx.${method}`) });

new RuleTester({ languageOptions: { sourceType: "module" } } as never).run("no-dropped-call", noDroppedCall as never, {
  valid: [
    tool("if (await ctx.confirm('a', q)) await ctx.step('b', () => 1);"),
    tool("const a = ctx.step('a', () => 1); const b = ctx.step('b', () => 1); return [await a, await b];"),
    tool("const a = ctx.text('a', q); if (args.fast) return 'fast'; return await a;"),
    tool("const a = ctx.text('a', q); if (!a) return 'never'; return await a;"),
    tool("return ctx.text('a', q);"),
    tool("return await Promise.race([ctx.text('a', q), ctx.sleep('b', '1 day')]);"),
    tool("await Promise.all(args.map((each) => ctx.step(each, () => 1)));"),
    tool("ctx.sleep('a', '1 day').catch(() => {}); ctx.log('a'); ctx.status('b'); const at = ctx.now();"),
    tool("for (const each of args) await ctx.step(each, () => 1);"),
    tool("args.forEach((each) => pending.push(each)); await ctx.step('a', () => args.forEach((each) => each.text('a')));"),
    tool("let a; a = ctx.text('a', q); kept.b = ctx.text('b', q); return await a;"),
    tool("const paid = ctx.event('paid'); await paid.received(); const { url } = ctx.event('other');"),
    "const { text } = other; text('a'); other.text('a'); step('b'); ask.text(q);",
    "import { ask } from 'elsewhere'; ask.text(q);",
    generator("const a = yield* ask.text(q); yield [ask.text(q), step('a', () => 1)]; const b = ask.text(q); yield* b;"),
  ].map((code) => ({ code })),
  invalid: [
    dropped(tool("ctx.step('a', () => 1);"), "step"),
    dropped(tool("void ctx.sleep('a', '1 day');"), "sleep"),
    dropped(tool("if (ctx.confirm('a', q)) remove();"), "confirm"),
    dropped(tool("if (!ctx.confirm('a', q)) return;"), "confirm"),
    dropped(tool("return ctx.confirm('a', q) ? 'yes' : 'no';"), "confirm"),
    dropped(tool("while (ctx.confirm('a', q)) next();"), "confirm"),
    dropped(tool("const sure = ctx.confirm('a', q) && other;"), "confirm"),
    dropped(tool("args.sure && ctx.step('a', () => 1);"), "step"),
    dropped(tool("return `Hello ${ctx.text('a', q)}`;"), "text"),
    dropped(tool("return 'Hello ' + ctx.text('a', q);"), "text"),
    dropped(tool("return ctx.text('a', q).trim();"), "text"),
    dropped(tool("const { size } = ctx.elicit('a', q);"), "elicit"),
    dropped(tool("const sure = ctx.confirm('a', q); if (sure) remove();"), "confirm"),
    dropped(tool("const answer = ctx.ask('a', q); await ctx.step('b', () => 1);"), "ask"),
    dropped(tool("const answer = ctx.ask('a', q); return answer.content;"), "ask"),
    dropped("async function helper(ctx) { ctx.call(other, {}); }", "call"),
    dropped("defineTool({ name: 't', async run(args, c) { c.text('a', q); } });", "text"),
    dropped("defineTool({ name: 't', async run(args, { text }) { text('a', q); } });", "text"),
    dropped(tool("const { text } = ctx; text('a', q);"), "text"),
    dropped("defineTool({ name: 't', async run() {}, compensate(args, ctx) { ctx.step('a', () => 1); } });", "step"),
    { code: tool("args.forEach((each) => ctx.step(each, () => 1));"), errors: error("forEach", "ctx.step") },
    {
      code: tool("args.forEach(async (each) => { await ctx.text(each, q); await ctx.step(each, () => 1); });"),
      errors: error("forEach", "ctx.text"),
    },
    { code: tool("const paid = await ctx.event('paid');"), errors: error("event", "") },
    { code: generator("if (ask.confirm(q)) remove();"), errors: error("helper", "ask.confirm") },
    dropped("defineTool({ name: 't', async *run(args, ctx) { const name = yield ctx.text('a', q); } });", "text"),
    { code: generator("const held = yield step('a', () => 1);"), errors: error("helper", "step") },
    { code: generator("step('a', () => 1);"), errors: error("helper", "step") },
    { code: generator("const held = step('a', () => 1); return held.table;"), errors: error("helper", "step") },
  ],
});
