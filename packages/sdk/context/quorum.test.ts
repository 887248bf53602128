/** Questions that several people must accept: what an author writes, and what the tool receives. */
import { DEFAULT_SETTINGS, type JsonObject } from "@parley/core";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type Accepted, TimedOut } from "../index.ts";
import { dryRun } from "./dry-run.ts";
import { accept, decline, runTool, startTool, timeout } from "../testing/testing.ts";
import { defineTool } from "../define/tool.ts";
import type { Context } from "./context.ts";

const NOTE = z.object({ note: z.string().max(20).default("fine") });
const FINANCE = { to: { groups: ["finance"] }, quorum: 2 } as const;
const finance = (principal: string) => ({ principal, groups: ["finance"] });

const pay = defineTool({
  name: "pay",
  async run(_args, ctx) {
    const approvals = await ctx.elicit("approve", { message: "Pay?", schema: NOTE, timeout: "1 day", ...FINANCE });
    expectTypeOf(approvals).toEqualTypeOf<readonly Accepted<{ note: string }>[]>();
    await ctx.sleep("later", "1 day");
    return JSON.stringify([
      approvals.map(({ principal, isCaller, content }) => [principal, isCaller, content.note]),
      ctx.answeredBy("approve"),
    ]);
  },
});

function asking(ask: (ctx: Context) => Promise<unknown>) {
  return defineTool({ name: "asks", run: async (_args, ctx) => JSON.stringify(await ask(ctx)) });
}

describe("a question with a quorum", () => {
  test("is accepted by as many different people, and the tool receives each answer, in every run", async () => {
    const run = await startTool(pay, {}, { principal: "ann", crashAt: "every" });
    await run.answer({ approve: { note: "ok" } }, finance("ada"));
    expect(run.task.asks.map(({ key, accepted }) => [key, accepted?.acceptances.length])).toEqual([["approve", 1]]);
    await run.answer({ approve: {} }, finance("ann"));
    await run.advance("1 day");
    const people = [
      { principal: "ada", assurance: "token", isCaller: false },
      { principal: "ann", assurance: "token", isCaller: true },
    ];
    expect(JSON.parse(run.text)).toEqual([
      [
        ["ada", false, "ok"],
        ["ann", true, "fine"],
      ],
      { ...people[1], at: expect.any(String), accepted: people },
    ]);
  });

  test("counts a person once: a second answer replaces the first", async () => {
    const run = await startTool(pay, {});
    await run.answer({ approve: { note: "first" } }, finance("ada"));
    await expect(run.answer({ approve: { note: "first" } }, finance("ada"))).rejects.toThrow("is duplicate");
    await run.answer({ approve: { note: "second" } }, finance("ada"));
    expect(run.task.asks[0]?.accepted?.acceptances).toMatchObject([{ by: "ada", content: { note: "second" } }]);
    await run.answer({ approve: {} }, finance("eve"));
    await run.advance("1 day");
    expect(JSON.parse(run.text)[0]).toEqual([
      ["ada", false, "second"],
      ["eve", false, "fine"],
    ]);
  });

  test("ends with the first who declines, even one who had accepted, and the tool knows who had", async () => {
    const tool = asking(async (ctx) => {
      const { action } = await ctx.ask("approve", { message: "Pay?", schema: NOTE, ...FINANCE });
      return [action, ctx.answeredBy("approve")];
    });
    const run = await startTool(tool, {});
    await run.answer({ approve: {} }, finance("ada"));
    await run.answer({ approve: decline }, finance("ada"));
    const ada = { principal: "ada", assurance: "token", isCaller: false };
    expect(JSON.parse(run.text)).toEqual(["decline", { ...ada, at: expect.any(String), accepted: [ada] }]);
  });

  test("is asked again of all of them, with the reason, when one answer matches the form but not the author's schema", async () => {
    const odd = z.object({ n: z.int().refine((n) => n % 2 === 1, "must be odd") });
    const tool = asking(async (ctx) => {
      const both = await ctx.elicit("approve", { message: "How much?", schema: odd, ...FINANCE });
      return both.map(({ principal, content, at }) => [principal, content.n, at]);
    });
    const run = await startTool(tool);
    await run.answer({ approve: { n: 1 } }, finance("ada"));
    await run.answer({ approve: { n: 2 } }, finance("eve"));
    expect(run.task.asks).toMatchObject([
      { key: "approve#2", request: { message: "How much?\n\nThe last answer does not fit: N must be odd" } },
    ]);
    await run.answer({ "approve#2": { n: 3 } }, finance("ada"));
    await run.answer({ "approve#2": { n: 5 } }, finance("eve"));
    expect(JSON.parse(run.text)).toStrictEqual([
      ["ada", 3, "2026-01-01T00:00:00.000Z"],
      ["eve", 5, "2026-01-01T00:00:00.000Z"],
    ]);
  });

  test("that is not reached in time says how many had accepted, and that no one settled it", async () => {
    const tool = asking(async (ctx) => {
      const result = await ctx.ask("first", { message: "Pay?", schema: NOTE, timeout: "1 day", ...FINANCE });
      try {
        await ctx.elicit("second", { message: "Pay?", schema: NOTE, timeout: "1 day", ...FINANCE, quorum: 3 });
      } catch (error) {
        if (!(error instanceof TimedOut)) throw error;
        return [result, ctx.answeredBy("first") ?? "nobody", error.message, error.accepted, error.quorum];
      }
      return "accepted";
    });
    const run = await startTool(tool, {}, { crashAt: "every" });
    await run.answer({ first: {} }, finance("ada"));
    await run.advance("1 day");
    await run.advance("1 day");
    expect(JSON.parse(run.text)).toEqual([
      { action: "timeout", accepted: 1, quorum: 2 },
      "nobody",
      'Of the 3 people who must accept "second", 0 did in time. The tool stopped there.',
      0,
      3,
    ]);
  });

  test("that is withdrawn is closed for everyone", async () => {
    const tool = asking(async (ctx) => {
      const controller = new AbortController();
      const asked = ctx.ask("approve", { message: "Pay?", schema: NOTE, ...FINANCE, signal: controller.signal });
      await ctx.sleep("patience", "1 day");
      controller.abort();
      const { action } = await asked;
      await ctx.sleep("later", "1 day");
      return action;
    });
    const run = await startTool(tool, {}, { crashAt: "every" });
    await run.answer({ approve: {} }, finance("ada"));
    await run.advance("1 day");
    expect(run.task.asks).toEqual([]);
    await expect(run.answer({ approve: {} }, finance("eve"))).rejects.toThrow("is not asked");
    await run.advance("1 day");
    expect(JSON.parse(run.text)).toBe("withdrawn");
  });

  test("of one person is an ordinary question", async () => {
    const run = await startTool(
      asking((ctx) => ctx.elicit("approve", { message: "Pay?", schema: NOTE, quorum: 1 })),
      {},
    );
    expect(run.asks[0]).not.toHaveProperty("audience");
  });

  test("is answered by as many people in a script, and made up in a dry run", async () => {
    const run = await runTool(pay, {}, { answers: { approve: { note: "ok" } } });
    expect((JSON.parse(run.text) as [string[][]])[0].map(([principal]) => principal)).toEqual(["somebody else", "somebody else 2"]);
    expect((await dryRun(pay, {})).asks.map(({ name }) => name)).toEqual(["approve"]);
  });
});

describe("a valid quorum", () => {
  const to = { groups: ["finance"] };
  const refused: readonly [string, object, string, JsonObject?][] = [
    ["more than 20 people", { to, quorum: 21 }, "/quorum must be a whole number from 1 to 20"],
    ["nobody", { to, quorum: 0 }, "/quorum must be a whole number from 1 to 20"],
    ["half a person", { to, quorum: 1.5 }, "/quorum must be a whole number from 1 to 20"],
    ["a word", { to, quorum: "two" }, "/quorum must be a whole number from 1 to 20"],
    ["more people than are named", { to: { people: ["ada", "ada"] }, quorum: 2 }, "/quorum must be at most 1"],
    ["the caller alone", { quorum: 2 }, "/quorum needs several people"],
    ["a default", { to, quorum: 2, onTimeout: { default: { note: "x" } } }, "/onTimeout must not be a default"],
    ["a page", { to, quorum: 2, url: "https://example.com", schema: undefined }, "/quorum is for forms"],
  ];
  test.each(refused)("is not %s", async (_, options, message) => {
    const tool = asking((ctx) => ctx.ask("approve", { message: "Pay?", schema: NOTE, ...options } as never));
    expect((await startTool(tool, {})).error?.message).toContain(message);
  });

  test("is at most 20 people", async () => {
    const run = await startTool(
      asking((ctx) => ctx.elicit("approve", { message: "Pay?", schema: NOTE, to, quorum: 20 })),
      {},
    );
    for (let index = 1; index <= 20; index += 1) await run.answer({ approve: accept }, finance(`person ${index}`));
    expect(JSON.parse(run.text)).toHaveLength(20);
  });

  test("is impossible if callers are not told apart: one of them would be all", async () => {
    const run = await startTool(pay, {}, { principal: "anonymous" });
    expect(run.error?.message).toContain("/quorum needs callers with an identity");
  });

  test("is not available for shorthands, which return one answer", async () => {
    for (const shorthand of ["confirm", "text", "form", "url"] as const) {
      const options = { message: "Pay?", schema: NOTE, url: "https://example.com", to, quorum: 2 };
      const tool = asking((ctx) => (ctx[shorthand] as (name: string, options: object) => Promise<unknown>)("approve", options));
      expect((await startTool(tool, {})).error?.message).toContain("/quorum is for ctx.elicit and ctx.ask");
    }
  });

  test("bounds all answers together like a single one, at the limit and one beyond", async () => {
    const text = z.object({ note: z.string() });
    const run = await startTool(
      asking(async (ctx) => (await ctx.elicit("approve", { message: "Pay?", schema: text, ...FINANCE, quorum: 3 })).length),
      {},
    );
    const size = (notes: readonly string[]) =>
      JSON.stringify(notes.map((note, index) => ({ by: `p${index}`, content: { note }, atMs: Date.parse("2026-01-01") }))).length;
    const first = "x".repeat(100_000);
    const rest = DEFAULT_SETTINGS.storedValueMax - size([first, ""]);
    await run.answer({ approve: { note: first } }, finance("p0"));
    await expect(run.answer({ approve: { note: "x".repeat(rest + 1) } }, finance("p1"))).rejects.toThrow("PARLEY_STORED_VALUE_MAX");
    await run.answer({ approve: { note: "x".repeat(rest - 200) } }, finance("p1"));
    await run.answer({ approve: { note: "" } }, finance("p2"));
    expect(JSON.parse(run.text)).toBe(3);
  });
});

test("changed code does not take the approval of one person for that of two", async () => {
  const asks = (quorum: number | undefined) =>
    defineTool({
      name: "changes",
      run: async (_args, ctx) =>
        JSON.stringify(await ctx.elicit("approve", { message: "Pay?", schema: NOTE, to: FINANCE.to, quorum } as never)),
    });
  const run = await startTool(asks(undefined), {});
  run.redeploy(asks(2));
  await run.answer({ approve: {} }, finance("ada"));
  expect(run.error).toMatchObject({ data: { code: "REPLAY_DIVERGED" } });
  expect((await runTool(asks(2), {}, { answers: { approve: timeout } })).text).toContain("Of the 2 people");
});
