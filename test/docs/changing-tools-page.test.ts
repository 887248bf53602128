/** The snippets of docs/changing-tools.md, compiled as they are printed there (see snippets.test.ts), and run. */
import { type Context, catalogue, defineTool } from "@parley/sdk";
import { replayRecorded } from "@parley/sdk/replay";
import { startTool } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const APPROVAL = z.object({ ok: z.boolean() });
const fraud = { check: (order: string) => `checked ${order}`, report: (order: string, ok: boolean) => `${order} ${ok}` };
const shop = { ship: (order: string) => `shipped ${order}` };
const facts = { input: z.object({ date: z.string() }) };

type Run = (args: { readonly date: string }, ctx: Context) => Promise<string>;

const SIZE = z.object({ partySize: z.int() });
const oldRun: Run = async ({ date }, ctx) => {
  const { partySize } = await ctx.elicit("party-size", { message: "How many?", schema: SIZE });
  return `${partySize} on ${date}`;
};
const newRun: Run = async (args, ctx) => {
  const booked = await oldRun(args, ctx);
  return await ctx.step("note", () => booked);
};

const args = { date: "2026-12-24" };

test("a patch", async () => {
  const before = defineTool({
    name: "ship",
    input: z.object({ order: z.string() }),
    async run({ order }, ctx) {
      await ctx.elicit("approve", { message: `Ship ${order}?`, schema: APPROVAL });
      return await ctx.step("ship", () => shop.ship(order));
    },
  });
  const patched = defineTool({
    name: "ship",
    input: z.object({ order: z.string() }),
    async run({ order }, ctx) {
      if (ctx.patched("fraud-check")) await ctx.step("fraud-check", () => fraud.check(order)); // new
      const { ok } = await ctx.elicit("approve", { message: `Ship ${order}?`, schema: APPROVAL });
      if (ctx.patched("fraud-check")) await ctx.step("report", () => fraud.report(order, ok)); // the same change, another place
      return await ctx.step("ship", () => shop.ship(order));
    },
  });
  const waiting = await startTool(before, { order: "A-1" });
  waiting.redeploy(patched);
  const fresh = await startTool(patched, { order: "A-1" });
  for (const running of [waiting, fresh]) {
    await running.answer({ approve: { ok: true } });
    expect(running.text).toBe("shipped A-1");
  }
  expect(waiting.journal).toEqual(["ask:approve", "patch:fraud-check", "step:ship"]);
  expect(fresh.journal).toEqual(["patch:fraud-check", "step:fraud-check", "ask:approve", "step:report", "step:ship"]);
});

export const bookDinner1 = defineTool({ ...facts, name: "book_dinner", version: "1", run: oldRun });
export const bookDinner2 = defineTool({ ...facts, name: "book_dinner", version: "2", run: newRun });

test("a version", async () => {
  expect(catalogue([bookDinner1, bookDinner2]).tools.get("book_dinner")?.version).toBe("2");
  const running = await startTool(bookDinner1, args);
  running.redeploy(bookDinner2, bookDinner1);
  await running.answer({ "party-size": { partySize: 4 } });
  expect(running.journal).toEqual(["ask:party-size"]);
});

export const bookDinnerV2 = defineTool({ ...facts, name: "book_dinner_v2", run: newRun });

test("another name", () => {
  expect([...catalogue([bookDinner1, bookDinnerV2]).tools.keys()]).toEqual(["book_dinner", "book_dinner_v2"]);
});

describe("before it is deployed", () => {
  const bookDinner = defineTool({ ...facts, name: "book_dinner", run: oldRun });
  const changedBookDinner = defineTool({ ...facts, name: "book_dinner", run: newRun });

  test("it is put under a waiting task", async () => {
    const running = await startTool(bookDinner, args);
    running.redeploy(changedBookDinner);
    await running.answer({ "party-size": { partySize: 4 } });
    expect(running.error).toBeUndefined();
  });

  test("it replays what was exported", async () => {
    const running = await startTool(bookDinner, args);
    expect(await replayRecorded(changedBookDinner, await running.exported())).toMatchObject({ verdict: "continues" });
  });
});
