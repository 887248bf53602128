/**
 * 3. Steps
 *
 * How does a tool continue after days, on another machine? It runs again from its first line. Everything that `ctx` returned before comes from a
 * record, the journal: at once, and in the same order. So the tool reaches the point where it stopped, and continues from there.
 *
 * Two rules follow. Side effects belong in a step, which runs once and is recorded. Values that may differ in the next run (the time, random
 * numbers, ids) come from `ctx`.
 */
import { defineTool } from "@parley/sdk";
import { ImpureHandler, runTool, startTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";

test("a handler runs again from its start, but a step runs once", async () => {
  const seen: string[] = [];
  const reserve = defineTool({
    name: "reserve",
    async run(_args, ctx) {
      seen.push("handler");
      const table = await ctx.step("hold", () => {
        seen.push("hold");
        return 7;
      });
      const size = await ctx.number("size", { message: "How many?", step: 1 });
      return `Table ${table} for ${size}`;
    },
  });

  const running = await startTool(reserve);
  expect(seen).toEqual(["handler", "hold"]);
  await running.answer({ size: 4 });
  expect(seen).toEqual(["handler", "hold", "handler"]);
  expect(running.text).toBe("Table 7 for 4");
  expect(running.journal).toEqual(["step:hold", "ask:size"]);
});

test("a step that is attempted again has the same idempotency key", async () => {
  const keys: string[] = [];
  const pay = defineTool({
    name: "pay",
    async run(_args, ctx) {
      return await ctx.step(
        "charge",
        ({ idempotencyKey, attempt }) => {
          keys.push(idempotencyKey);
          if (attempt === 1) throw new Error("the connection was lost, and the payment may have been made");
          return "charged";
        },
        { attempts: 2 },
      );
    },
  });
  expect((await runTool(pay)).text).toBe("charged");
  // So the payment service recognises the second attempt as the same payment.
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
});

test("times, random numbers and ids are the same in every run", async () => {
  const drawn: string[] = [];
  const draw = defineTool({
    name: "draw",
    async run(_args, ctx) {
      drawn.push(`${ctx.now().toISOString()} ${ctx.random()} ${ctx.uuid()}`);
      await ctx.confirm("ok", { message: "All right?" });
      return "done";
    },
  });
  const running = await startTool(draw);
  await running.advance("3 days");
  await running.answer({ ok: true });
  expect(drawn).toHaveLength(2);
  expect(drawn[1]).toBe(drawn[0]);
});

test("the test kit reports what a handler reads without ctx", async () => {
  const late = defineTool({
    name: "late",
    async run(_args, ctx) {
      const isEvening = new Date().getHours() >= 18; // Use ctx.now() instead: the next run may be in the morning.
      await ctx.confirm("ok", { message: isEvening ? "Tomorrow?" : "Today?" });
      return "done";
    },
  });
  await expect(startTool(late)).rejects.toThrow(ImpureHandler);
});
