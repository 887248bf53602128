/** What a tool learns about the person who answered. */
import { ASSURANCES } from "@parley/core";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { AnsweredBy } from "../index.ts";
import { decline, runTool, startTool, timeout } from "../testing/testing.ts";
import { defineTool } from "../define/tool.ts";

const FINANCE = { to: { groups: ["finance"] } } as const;

describe("answeredBy", () => {
  const approve = defineTool({
    name: "approve",
    async run(_args, ctx) {
      const before = ctx.answeredBy("approve");
      await ctx.confirm("approve", {
        message: "Pay?",
        ...FINANCE,
        timeout: "1 day",
        onTimeout: "default",
        onDecline: "default",
        default: false,
      });
      const who = ctx.answeredBy("approve");
      expectTypeOf(who).toEqualTypeOf<AnsweredBy | undefined>();
      await ctx.sleep("later", "1 day");
      return JSON.stringify([
        before ?? "nobody",
        who ?? "nobody",
        ctx.answeredBy("approve") ?? "nobody",
        ctx.answeredBy("other") ?? "nobody",
      ]);
    },
  });
  const told = (text: string) => JSON.parse(text) as unknown[];

  test("is the person in the audience, in every run, even if they declined", async () => {
    for (const reply of [{ value: true }, decline] as const) {
      const run = await startTool(approve, {}, { crashAt: "every" });
      await run.answer({ approve: reply }, { principal: "ada", name: "Ada Lovelace", assurance: "login", groups: ["finance"] });
      await run.advance("1 day");
      const ada = {
        principal: "ada",
        name: "Ada Lovelace",
        assurance: "login",
        isCaller: false,
        at: expect.stringMatching(/^2026-01-01T00:00/),
      };
      expect(told(run.text)).toEqual(["nobody", ada, ada, "nobody"]);
    }
  });

  test.each([undefined, ...ASSURANCES])("says how the person was identified (%s), in every run", async (assurance) => {
    const run = await startTool(approve, {}, { crashAt: "every" });
    await run.answer({ approve: true }, { principal: "ada", groups: ["finance"], ...(assurance && { assurance }) });
    await run.advance("1 day");
    expect(told(run.text)[2]).toMatchObject({ principal: "ada", assurance: assurance ?? "token" });
  });

  test.each<[string, { at?: Date; acr?: string; amr?: string[] } | undefined, object | undefined]>([
    ["all", { at: new Date(5), acr: "silver", amr: ["pwd", "mfa"] }, { at: new Date(5).toISOString(), acr: "silver", amr: ["pwd", "mfa"] }],
    ["only the time", { at: new Date(5) }, { at: new Date(5).toISOString() }],
    ["only how", { amr: ["mfa"] }, { amr: ["mfa"] }],
    ["nothing", undefined, undefined],
  ])("says what the provider stated of the login: %s, in every run", async (_, login, stated) => {
    const run = await startTool(approve, {}, { crashAt: "every" });
    await run.answer({ approve: true }, { principal: "ada", groups: ["finance"], assurance: "login", ...(login && { login }) });
    await run.advance("1 day");
    expect((told(run.text)[2] as { login?: object }).login).toEqual(stated);
  });

  test("is undefined if the question timed out", async () => {
    const run = await runTool(approve, {}, { answers: { approve: timeout }, crashAt: "every" });
    expect(told(run.text)).toEqual(["nobody", "nobody", "nobody", "nobody"]);
  });

  test("is the caller if the caller was asked, per branch, and the last one of several", async () => {
    const tool = defineTool({
      name: "each",
      async run(_args, ctx) {
        const ask = (key: string, more: object) =>
          ctx.branch(key, async () => {
            await ctx.confirm("sure", { message: "Sure?", ...more });
            return ctx.answeredBy("sure");
          });
        const both = await Promise.all([ask("mine", {}), ask("theirs", FINANCE)]);
        await ctx.confirm("twice", { message: "Once?", ...FINANCE });
        await ctx.confirm("twice", { message: "Twice?" });
        return JSON.stringify([both, ctx.answeredBy("twice"), ctx.answeredBy("sure") ?? "nobody"]);
      },
    });
    const run = await startTool(tool, {}, { principal: "ann", crashAt: "every" });
    await run.answer({ "theirs/sure": true }, { principal: "ada", groups: ["finance"] });
    await run.answer({ "mine/sure": true });
    await run.answer({ twice: true }, { principal: "bob", groups: ["finance"] });
    await run.answer({ "twice#2": true });
    const ann = { principal: "ann", isCaller: true };
    expect(JSON.parse(run.text)).toMatchObject([[ann, { principal: "ada", isCaller: false }], ann, "nobody"]);
  });
});
