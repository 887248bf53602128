/**
 * 3. Steps, and why
 *
 * How does a tool continue after days, on another machine? It runs again from its first line. What `ctx` gave it before comes from a record,
 * the journal, at once and in the same order. So the tool arrives where it was, and continues there.
 *
 * Two things follow. What has an effect belongs into a step, which is done once and recorded. And what may be different the next time (the
 * time, chance, an id) comes from `ctx`.
 */
import { defineTool } from "@parley/sdk";
import { ImpureHandler, runTool, startTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";

test("a handler runs again from its start, and a step does not", async () => {
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

test("a step that is done again, since its worker died too early, has the same idempotency key", async () => {
  const keys: string[] = [];
  const pay = defineTool({
    name: "pay",
    async run(_args, ctx) {
      return await ctx.step(
        "charge",
        ({ idempotencyKey, attempt }) => {
          keys.push(idempotencyKey);
          if (attempt === 1) throw new Error("the connection was cut, and nobody knows whether the money went");
          return "charged";
        },
        { attempts: 2 },
      );
    },
  });
  expect((await runTool(pay)).text).toBe("charged");
  // The payment service sees that both are one.
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
});

test("time, chance and ids are the same in every run", async () => {
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

test("the test kit finds what a handler reads past ctx", async () => {
  const late = defineTool({
    name: "late",
    async run(_args, ctx) {
      const isEvening = new Date().getHours() >= 18; // read ctx.now() instead: the next run may come in the morning
      await ctx.confirm("ok", { message: isEvening ? "Tomorrow?" : "Today?" });
      return "done";
    },
  });
  await expect(startTool(late)).rejects.toThrow(ImpureHandler);
});
