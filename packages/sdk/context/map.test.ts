import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Context, defineTool, type ToolGenerator } from "../index.ts";
import { decline, runTool, startTool } from "../testing/testing.ts";
import { MAP_ITEMS_MAX } from "./map.ts";

const schema = z.object({ ok: z.boolean() });
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const orders = ["ada", "bob", "cyd"].map((id) => ({ id }));

async function text(run: (ctx: Context) => Promise<unknown>, options: Parameters<typeof runTool>[2] = {}): Promise<unknown> {
  const ended = await runTool(defineTool({ name: "tool", run: async (_args, ctx) => JSON.stringify(await run(ctx)) }), {}, options);
  if (ended.error) throw new Error(ended.error.message);
  return JSON.parse(ended.text);
}

describe("ctx.map", () => {
  test("gives each item its own results, whatever it awaits, in every run and however often the worker dies", async () => {
    let runs = 0;
    const charged: string[] = [];
    const receipts = await text(
      async (ctx) => {
        runs += 1;
        const done = await ctx.map(orders, "id", async ({ id }, { index }) => {
          await wait(((runs + index) % 3) * 4);
          const receipt = await ctx.step("charge", ({ idempotencyKey }) => {
            charged.push(idempotencyKey.split(".").slice(1).join("."));
            return `receipt of ${id}`;
          });
          await wait(((runs * 2 + index) % 3) * 4);
          await ctx.step("mail", () => 1);
          return receipt;
        });
        await ctx.elicit("go", { message: "?", schema });
        return done;
      },
      { answers: { go: { ok: true } }, crashAt: "every", strict: false },
    );
    expect(receipts).toEqual(["receipt of ada", "receipt of bob", "receipt of cyd"]);
    expect(new Set(charged)).toEqual(new Set(["ada/charge", "bob/charge", "cyd/charge"]));
    expect(runs).toBeGreaterThan(3);
  });

  test("works on no more items at once than its concurrency, and on each of a thousand once", async () => {
    let most = 0;
    let active = 0;
    const items = Array.from({ length: 1_000 }, (_, index) => index);
    const done = (await text(async (ctx) =>
      ctx.map(
        items,
        (item) => item,
        async (item) =>
          await ctx.step("work", async () => {
            most = Math.max(most, ++active);
            await Promise.resolve();
            active -= 1;
            return item;
          }),
        { concurrency: 7 },
      ),
    )) as number[];
    expect(done).toEqual(items);
    expect(most).toBe(7);
  });

  test("rejects with the first failure and begins no further item, or settles all; cancel withdraws what others ask", async () => {
    const begun: string[] = [];
    const asking = (options: object) => async (ctx: Context) => {
      begun.length = 0;
      try {
        const all = await ctx.map(
          orders,
          "id",
          async ({ id }, { signal }) => {
            begun.push(id);
            return await ctx.elicit("ok", { message: id, schema, signal });
          },
          options,
        );
        return all;
      } catch (error) {
        return (error as Error).name;
      }
    };
    expect(await text(asking({ concurrency: 1 }), { answers: { "ada/ok": decline } })).toBe("Declined");
    expect(begun).toEqual(["ada"]);
    const settled = await text(asking({ settle: "allSettled", cancel: true }), { answers: { "bob/ok": decline } });
    expect((settled as { status: string }[]).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("can be nested, and takes keys of any text", async () => {
    const ended = await runTool(
      defineTool({
        name: "tool",
        async run(_args, ctx) {
          await ctx.map(
            ["a@x.de", "b c"],
            (item) => item,
            async () =>
              await ctx.map(
                [1, 2],
                (item) => item,
                async () => await ctx.step("s", () => 1),
              ),
          );
          return "";
        },
      }),
      {},
    );
    expect(ended.journal.toSorted()).toEqual(["step:a~40x.de/1/s", "step:a~40x.de/2/s", "step:b~20c/1/s", "step:b~20c/2/s"]);
  });

  test.each<[string, unknown, unknown, object, RegExp]>([
    ["two items with the same key", [1, 1], (item: unknown) => item, {}, /items 0 and 1 of ctx.map have the same key "1"/],
    ["a key that is no text", [{}], "id", {}, /the key of item 0 of ctx.map must be a text or a number/],
    ["a key that is too long", ["x".repeat(65)], (item: unknown) => item, {}, /use 1 to 64 characters/],
    ["more items than it takes", Array.from({ length: MAP_ITEMS_MAX + 1 }, (_, i) => i), (item: unknown) => item, {}, /the limit is 10000/],
    ["no concurrency", [1], (item: unknown) => item, { concurrency: 0 }, /the concurrency of ctx.map must be at least 1/],
    ["another way to settle", [1], (item: unknown) => item, { settle: "some" }, /settle of ctx.map must be/],
  ])("refuses %s, before any work", async (_what, items, key, options, message) => {
    let worked = 0;
    const said = await text(async (ctx) => {
      try {
        return await ctx.map(items as unknown[], key as never, async () => void (worked += 1), options as never);
      } catch (error) {
        return (error as Error).message;
      }
    });
    expect(said).toMatch(message);
    expect(worked).toBe(0);
  });
});

describe("the key of a call", () => {
  test("tells calls of one name apart that are made in any order", async () => {
    let runs = 0;
    const done = await text(
      async (ctx) => {
        runs += 1;
        const saving = orders.map(async ({ id }, index) => {
          await wait(((runs + index) % 3) * 4);
          return await ctx.step("save", () => id, { key: id });
        });
        const saved: unknown[] = [];
        for (const each of saving) saved.push(await each);
        await ctx.sleep("rest", "1 hour", { key: "a b" });
        const { ok } = await ctx.elicit("go", { message: "?", schema, key: "ada@example.com" });
        return [saved, ok, ctx.answeredBy("go", { key: "ada@example.com" })?.isCaller];
      },
      { answers: { "ada~40example.com/go": { ok: true } }, crashAt: "every", strict: false },
    );
    expect(done).toEqual([["ada", "bob", "cyd"], true, true]);
  });
});

test("a generator maps items, each with names of its own", async () => {
  function* approve(who: string): ToolGenerator<string> {
    const isIt: boolean = yield { ask: "confirm", id: "ok", message: `${who}?` };
    yield { step: "note", run: () => who };
    return `${who}: ${isIt}`;
  }
  const running = await startTool(
    defineTool({
      name: "tool",
      *run() {
        const all: readonly string[] = yield {
          map: ["ada", "bob"],
          key: (who: string) => who,
          each: (who: string) => approve(who),
          concurrency: 1,
        };
        return all.join(", ");
      },
    }),
    {},
    { crashAt: "every" },
  );
  expect(running.task.asks.map(({ key }) => key)).toEqual(["ada/ok"]);
  await running.answer({ "ada/ok": true });
  await running.answer({ "bob/ok": false });
  expect(running.text).toBe("ada: true, bob: false");
});
