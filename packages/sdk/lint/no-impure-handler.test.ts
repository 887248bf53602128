import { RuleTester } from "oxlint/plugins-dev";
import { describe, test } from "vitest";
import { noImpureHandler } from "./no-impure-handler.ts";

RuleTester.describe = describe as unknown as typeof RuleTester.describe;
RuleTester.it = test as unknown as typeof RuleTester.it;

const tool = (body: string) => `defineTool({ name: "t", async run(args, ctx) { ${body} } });`;
const generator = (body: string) => `defineTool({ name: "t", *run(args, ctx) { ${body} } });`;
const changed = (name: string) => ({ messageId: "changed", data: { name } }) as const;
const error = (name: string, instead: string) => ({ messageId: "impure", data: { name, instead } }) as const;

new RuleTester({ languageOptions: { sourceType: "module" } } as never).run("no-impure-handler", noImpureHandler as never, {
  valid: [
    tool("const id = ctx.uuid(); await ctx.elicit('a', q);"),
    tool("await ctx.step('load', async () => { await fetch(url); return Date.now(); }); await ctx.elicit('a', q);"),
    tool("await ctx.elicit('a', q); ctx.log(String(new Date()));"),
    tool("const at = new Date(ctx.now()); await ctx.ask('a', q);"),
    tool("Date.now(); await ctx.step('a', () => 1);"),
    "export const loads = { async run(args, ctx) { Date.now(); await ctx.elicit('a', q); } };",
    tool("Date.now(); const schema = z.number(); await ctx.step('a', () => schema);"),
    generator("yield { step: 'load', run: () => fetch(url) }; yield { ask: 'text', message: '?' };"),
    generator("yield* step('load', () => fetch(url)); yield* ask.text({ message: '?' });"),
    generator("yield { ask: 'text', message: '?' }; yield { emit: 'status', message: String(Date.now()) };"),
    generator("Date.now(); yield 'a chunk'; yield { emit: 'toast', message: '?' };"),
    `const fetch = (id) => id; ${tool("fetch(1); await ctx.elicit('a', q);")}`,
    tool("const a = await ctx.step('a', () => { let n = 0; n += 1; return n; }); return a;"),
    tool("let pool; await ctx.step('a', () => (pool ??= open())); await ctx.step('b', () => pool.end());"),
    tool("let n = 0; n += await ctx.step('a', () => 1); return n;"),
    `let calls = 0; ${tool("await ctx.step('a', () => { calls += 1; }); return calls;")}`,
    "const count = async (step) => { let n = 0; await step('a', () => { n += 1; }); return n; };",
    `const ask = (id) => id; ${tool("Date.now(); await ask(1);")}`,
    tool("Date.now(); const { sleep } = ctx; log.call(this); await other(sleep);"),
  ].map((code) => ({ code })),
  invalid: [
    { code: tool("const at = Date.now(); await ctx.elicit('a', q);"), errors: [error("Date.now", "ctx.now()")] },
    { code: tool("const at = new Date(); await ctx.ask('a', q);"), errors: [error("new Date", "ctx.now()")] },
    { code: tool("if (Math.random() < 0.5) await ctx.sleep('a', '1 hour');"), errors: [error("Math.random", "ctx.random()")] },
    {
      code: tool("const at = performance.now(); await ctx.sleep('a', '1 hour'); return at;"),
      errors: [error("performance.now", "ctx.now()")],
    },
    { code: tool("const id = crypto.randomUUID(); await ctx.sample('a', q);"), errors: [error("crypto.randomUUID", "ctx.uuid()")] },
    {
      code: `import { randomUUID } from "node:crypto"; ${tool("randomUUID(); await ctx.roots();")}`,
      errors: [error("randomUUID", "ctx.uuid()")],
    },
    { code: tool("await globalThis.fetch(url); await ctx.elicit('a', q);"), errors: [error("fetch", "a ctx.step around it")] },
    {
      code: tool("await new Promise((done) => setTimeout(done, 1)); await ctx.elicit('a', q);"),
      errors: [error("setTimeout", "ctx.sleep")],
    },
    {
      code: tool("for (const a of args) { await ctx.elicit('a', q); await fetch(a); }"),
      errors: [error("fetch", "a ctx.step around it")],
    },
    { code: tool("Date.now(); await ctx.number('a', q);"), errors: [error("Date.now", "ctx.now()")] },
    ...["ctx.secret('a', q)", "ctx.file('a', q)", "ctx.oauth('a', q)", "ctx.call(other, {})", "paid.received()"].map((wait) => ({
      code: tool(`Date.now(); await ${wait};`),
      errors: [error("Date.now", "ctx.now()")],
    })),
    { code: tool("const { elicit } = ctx; Date.now(); await elicit('a', q);"), errors: [error("Date.now", "ctx.now()")] },
    {
      code: "defineTool({ name: 't', run: async (args, { confirm }) => { Date.now(); await confirm('a', q); } });",
      errors: [error("Date.now", "ctx.now()")],
    },
    ...["yield { ask: 'text', message: '?' };", "yield { all: [] };", "yield [a, b];", "yield* other();"].map((wait) => ({
      code: generator(`Math.random(); ${wait}`),
      errors: [error("Math.random", "ctx.random()")],
    })),
    {
      code: "definePrompt({ name: 'p', run: async (args, ctx) => { await Promise.all(args.map(() => fetch(1))); await ctx.ask('a', q); } });",
      errors: [error("fetch", "a ctx.step around it")],
    },
    { code: tool("let id; await ctx.step('a', async () => { id = await pay(); }); return id;"), errors: [changed("id")] },
    { code: tool("let n = 0; await ctx.step('a', () => { n++; }); return n;"), errors: [changed("n")] },
    { code: tool("const all = {}; await ctx.step('a', () => { all.id[0] = pay(); }); return all;"), errors: [changed("all")] },
    {
      code: tool("let a, b; await ctx.step('a', () => { ({ a, ...b } = pay()); [, a] = pay(); }); return [a, b];"),
      errors: [changed("a"), changed("b"), changed("a")],
    },
    { code: tool("let id; await ctx.step('a', () => items.map((one) => { id = one; })); return id;"), errors: [changed("id")] },
    { code: generator("let id; yield { step: 'a', run: () => { id = pay(); } }; return id;"), errors: [changed("id")] },
  ],
});
