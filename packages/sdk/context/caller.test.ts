/** What a tool learns about the person who called. */
import { expect, expectTypeOf, test } from "vitest";
import { defineTool } from "../define/tool.ts";
import type { Caller } from "../index.ts";
import { runTool, startTool, type TestCaller } from "../testing/testing.ts";

const ask = defineTool({
  name: "ask",
  async run(_args, ctx) {
    expectTypeOf(ctx.caller).toEqualTypeOf<Caller>();
    const before = ctx.caller;
    await ctx.confirm("sure", { message: `${ctx.caller.name ?? "Somebody"} asks. Sure?` });
    return JSON.stringify([before, ctx.caller, ctx.answeredBy("sure")]);
  },
});

test.each<[caller: TestCaller, known: Caller]>([
  [
    { principal: "ada", name: "Ada Lovelace", email: "ada@acme.io", subject: "7" },
    { principal: "ada", name: "Ada Lovelace", email: "ada@acme.io", subject: "7" },
  ],
  [{ email: "ada@acme.io" }, { principal: "tester", name: "ada@acme.io", email: "ada@acme.io" }],
  [{ subject: "7" }, { principal: "tester", name: "sub:7", subject: "7" }],
  [{}, { principal: "tester" }],
])("a tool that is called by %j knows %j, the same in every run", async (caller, known) => {
  const run = await runTool(ask, {}, { caller, answers: { sure: { value: true } }, crashAt: "every" });
  const { principal, name } = known;
  expect(JSON.parse(run.text)).toEqual([known, known, expect.objectContaining({ principal, isCaller: true, ...(name && { name }) })]);
  expect(run.asks[0]?.request).toMatchObject({ message: `${name ?? "Somebody"} asks. Sure?` });
});

test("the principal of a test is the caller's unless the caller has one", async () => {
  const principalOf = async (options: object) => (await startTool(ask, {}, options)).task.call.principal;
  expect(await principalOf({ principal: "ada", caller: { name: "Ada" } })).toBe("ada");
  expect(await principalOf({ principal: "ada", caller: { principal: "eve" } })).toBe("eve");
});

test("compensation knows the caller as well", async () => {
  const told: unknown[] = [];
  const tool = defineTool({
    name: "undo",
    async run(_args, ctx) {
      await ctx.step("hold", () => 1);
      await ctx.confirm("sure", { message: "Sure?" });
    },
    compensate: async (_args, ctx) => void told.push(ctx.caller),
  });
  const run = await startTool(tool, {}, { caller: { name: "Ada" } });
  await run.cancel();
  expect(told).toEqual([{ principal: "tester", name: "Ada" }]);
});
