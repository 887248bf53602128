import { RuleTester } from "oxlint/plugins-dev";
import { describe, test } from "vitest";
import { preferMap } from "./prefer-map.ts";

RuleTester.describe = describe as unknown as typeof RuleTester.describe;
RuleTester.it = test as unknown as typeof RuleTester.it;

const MODULE = 'import { load, db } from "./db.ts"; const cache = new Map(); async function find(id) { return cache.get(id); }';
const tool = (body: string) => `${MODULE} defineTool({ name: "t", async run(args, ctx) { ${body} } });`;
const items = (work: string, join = "all") => tool(`return await Promise.${join}(args.ids.map(async (id) => { ${work} }));`);
const error = (read: string, call = "ctx.step") => [{ messageId: "map", data: { read, call } }];

new RuleTester({ languageOptions: { sourceType: "module" } } as never).run("prefer-map", preferMap as never, {
  valid: [
    // Of ctx alone: told apart by the order in which effects settle.
    items("const price = await ctx.step('price', () => load(id)); return await ctx.step('charge', () => price);"),
    items("if (await ctx.confirm('keep', q)) return; await ctx.step('remove', async () => { await load(id); await db.remove(id); });"),
    items("await ctx.sleep('a', '1 day'); await ctx.step('b', () => 1);"),
    items("await charge(ctx, id); await ctx.step('b', () => 1);"),
    items("await find({ ctx, id }); await ctx.step('b', () => 1);"),
    items("await db.retry(() => ctx.step('a', () => 1)); await ctx.step('b', () => 1);"),
    tool(
      "const own = (id) => ctx.step('a', () => id); await Promise.all(args.ids.map(async (id) => { await own(id); await ctx.step('b', () => 1); }));",
    ),
    items("await Promise.all([ctx.step('a', () => 1), ctx.step('b', () => 2)]); await ctx.step('c', () => 1);"),
    // Behind the last call, or without one.
    items("await ctx.step('a', () => 1); await load(id);"),
    items("return await load(id);"),
    items("await load(id); ctx.log('info', id);"),
    // With a key.
    items("await load(id); await ctx.step('a', () => 1, { key: id });"),
    items("await load(id); await ctx.branch(id, () => ctx.step('a', () => 1));"),
    items("return await ctx.branch(id, async () => { await load(id); await ctx.step('a', () => 1); });"),
    tool("await ctx.map(args.ids, (id) => id, async (id) => { await load(id); await ctx.step('a', () => 1); });"),
    // One after another.
    tool("for (const id of args.ids) { await load(id); await ctx.step('a', () => 1); }"),
    tool("await load(1); await Promise.all(args.ids.map(async (id) => { await ctx.step('a', () => id); }));"),
    // Not in a handler, and not awaited together.
    `${MODULE} export const all = (ids) => Promise.all(ids.map(async (id) => { await load(id); return await find(id); }));`,
    tool("const work = args.ids.map((id) => ctx.step('a', () => id)); await Promise.all(work);"),
  ].map((code) => ({ code })),
  invalid: [
    { code: items("await load(id); await ctx.step('a', () => 1);"), errors: error("load") },
    { code: items("await fetch(id); return ctx.step('a', () => 1);"), errors: error("fetch") },
    { code: items("await find(id); return await ctx.step('a', () => 1);"), errors: error("find") },
    {
      code: items("const row = await db.rows.find(id); await ctx.confirm('a', { message: row });"),
      errors: error("db.rows.find", "ctx.confirm"),
    },
    { code: items("await ctx.step('a', () => 1); await cache.get(id); await ctx.step('b', () => 1);"), errors: error("cache.get") },
    { code: items("await load(id); if (id) { await ctx.step('a', () => 1); }"), errors: error("load") },
    { code: items("await load(id); await find(id); const at = ctx.now();"), errors: error("load", "ctx.now") },
    ...["allSettled", "any", "race"].map((join) => ({
      code: items("await load(id); await ctx.step('a', () => 1);", join),
      errors: error("load"),
    })),
    {
      code: tool("await Promise.all([...args.ids.map(async (id) => { await load(id); await ctx.step('a', () => 1); }), other]);"),
      errors: error("load"),
    },
    {
      code: `${MODULE} async function helper(ctx, ids) { await Promise.all(ids.map(async (id) => { await load(id); await ctx.step('a', () => 1); })); }`,
      errors: error("load"),
    },
    {
      code: `${MODULE} defineTool({ name: "t", async run(args, { step }) { await Promise.all(args.map(async (id) => { await load(id); await step('a', () => 1); })); } });`,
      errors: error("load"),
    },
    {
      code: `${MODULE} defineTool({ name: "t", async run() {}, async compensate(args, ctx) { await Promise.all(ctx.done.map(async ({ key }) => { await load(key); await ctx.step('undo', () => 1); })); } });`,
      errors: error("load"),
    },
  ],
});
