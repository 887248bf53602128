/** `compensate`: the recorded last run of a task that ended without its result. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { CompensationContext } from "./compensation.ts";
import type { Context } from "./context.ts";
import { decline, runTool, startTool } from "../testing/testing.ts";
import { defineTool } from "../define/tool.ts";

/** What a trip has booked in the outside world, each booking under its own key. */
function world() {
  const booked = new Map<string, string>();
  const log: string[] = [];
  return {
    log,
    booked,
    book(what: string, key: string) {
      if (!booked.has(key)) log.push(`book ${what}`);
      booked.set(key, what);
      return what;
    },
    release(what: string, key: string) {
      if (!booked.has(key)) log.push(`release ${what}`);
      booked.set(key, `no ${what}`);
    },
  };
}

type World = ReturnType<typeof world>;

function trip(
  here: World,
  { end = "ask" as "ask" | "fail" | "return", release = undefined as ((ctx: CompensationContext) => Promise<void>) | undefined } = {},
) {
  return defineTool({
    name: "trip",
    input: z.object({ city: z.string() }),
    async run({ city }, ctx: Context) {
      await ctx.step("flight", ({ idempotencyKey }) => here.book(`flight to ${city}`, idempotencyKey));
      await ctx.step("hotel", ({ idempotencyKey }) => here.book(`hotel in ${city}`, idempotencyKey));
      if (end === "fail") throw new Error("no car is left");
      if (end === "ask") await ctx.confirm("go", { message: "Go?" });
      return "booked";
    },
    async compensate({ city }, ctx) {
      if (release) return release(ctx);
      for (const { key, value } of ctx.done.toReversed()) {
        await ctx.step(key, ({ idempotencyKey }) => here.release(`${String(value)} (${city}, ${ctx.why})`, idempotencyKey));
      }
    },
  });
}

const BOOKED = ["book flight to Graz", "book hotel in Graz"];
const undone = (why: string) => [`release hotel in Graz (Graz, ${why})`, `release flight to Graz (Graz, ${why})`];

describe("a compensation", () => {
  test("is listed in the journal with what only its end records", async () => {
    const run = await startTool(trip(world(), { release: async (ctx) => void ctx.now() }), { city: "Graz" });
    await run.cancel();
    expect(run.journal).toStrictEqual(["step:flight", "step:hotel", "now:compensation:/now"]);
  });

  test("retries a step at once in a test, however long it would wait", async () => {
    const attempts: number[] = [];
    const release = async (ctx: CompensationContext) => {
      const work = ({ attempt }: { readonly attempt: number }) => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error("busy");
      };
      await ctx.step("release", work, { attempts: 3, backoff: "1 hour" });
    };
    const run = await startTool(trip(world(), { release }), { city: "Graz" });
    await run.cancel();
    expect([attempts, run.journal.at(-1)]).toStrictEqual([[1, 2, 3], "step:compensation:/release"]);
  });

  test("undoes recorded steps once the task is cancelled, last one first; clients see only the end", async () => {
    const here = world();
    const run = await startTool(trip(here), { city: "Graz" });
    await run.cancel();
    expect(here.log).toEqual([...BOOKED, ...undone("cancelled")]);
    expect(run.task).toMatchObject({ status: "cancelled", message: "Cancelled by the client.", asks: [] });
    expect(run.journal).toEqual(["step:flight", "step:hotel", "step:compensation:/hotel", "step:compensation:/flight"]);
  });

  test("runs when the tool throws, and not when it returns", async () => {
    const failing = world();
    expect((await runTool(trip(failing, { end: "fail" }), { city: "Graz" })).text).toContain("no car is left");
    expect(failing.log).toEqual([...BOOKED, ...undone("failed")]);

    const declined = world();
    const no = await runTool(trip(declined), { city: "Graz" }, { answers: { go: decline } });
    expect([no.task.status, no.result?.["isError"], no.text]).toEqual(["completed", true, expect.stringContaining("declined")]);
    expect(declined.log).toEqual([...BOOKED, ...undone("failed")]);

    const here = world();
    expect((await runTool(trip(here, { end: "return" }), { city: "Graz" })).text).toBe("booked");
    expect(here.log).toEqual(BOOKED);
  });

  test("has the same effect wherever the worker dies, each step once", async () => {
    for (let after = 1; after <= 4; after += 1) {
      const here = world();
      const run = await startTool(trip(here), { city: "Graz" }, { crashAt: after });
      await run.cancel();
      expect([after, here.log, run.task.status]).toEqual([after, [...BOOKED, ...undone("cancelled")], "cancelled"]);
    }
    const here = world();
    await (await startTool(trip(here), { city: "Graz" }, { crashAt: "every" })).cancel();
    expect(here.log).toEqual([...BOOKED, ...undone("cancelled")]);
  });

  test("is retried as a whole when a step fails, and finished steps are not repeated", async () => {
    const here = world();
    let failures = 3;
    const release = async (ctx: CompensationContext) => {
      await ctx.step("hotel", ({ idempotencyKey }) => here.release("hotel", idempotencyKey));
      await ctx.step("flight", () => {
        if (failures-- > 0) throw new Error("the airline is away");
        here.log.push("release flight");
      });
    };
    const run = await startTool(trip(here, { release }), { city: "Graz" });
    await run.cancel();
    expect(here.log).toEqual([...BOOKED, "release hotel", "release flight"]);
    expect(run.task.owed).toBeUndefined();
  });

  test("is given up after ten attempts; until then a failing step is the tool's to handle", async () => {
    const here = world();
    let tries = 0;
    const release = async (ctx: CompensationContext) => {
      try {
        await ctx.step("flight", () => {
          tries += 1;
          throw new Error("the airline is gone");
        });
      } catch {
        here.log.push("flight lost");
      }
      await ctx.step("hotel", ({ idempotencyKey }) => here.release("hotel", idempotencyKey));
    };
    const run = await startTool(trip(here, { release }), { city: "Graz" });
    await run.cancel();
    expect([tries, here.log]).toEqual([10, [...BOOKED, "flight lost", "release hotel"]]);
    expect(run.task.owed).toBeUndefined();

    let thrown = 0;
    const lose = async () => Promise.reject(new Error(`no ${(thrown += 1)}`));
    const hopeless = await startTool(trip(world(), { release: lose }), { city: "Graz" }, { strict: false });
    await hopeless.cancel();
    expect(hopeless.givenUp).toEqual(["Error: no 10"]);
    expect([thrown, hopeless.task.status, hopeless.task.owed]).toEqual([10, "cancelled", undefined]);
  });

  test("finds results by their keys, in branches and with occurrences too", async () => {
    let seen: unknown;
    const many = defineTool({
      name: "many",
      async run(_args, ctx) {
        await ctx.step("a", () => ({ n: 1 }));
        await ctx.step("a", () => ({ n: 2 }));
        await ctx.branch("ann", () => ctx.step("a", () => undefined));
        await ctx.step("failing", () => Promise.reject(new Error("no"))).catch(() => undefined);
        await ctx.confirm("go", { message: "Go?" });
        return "";
      },
      compensate(_args, ctx) {
        seen = [ctx.done, ctx.result<{ n: number }>("a#2")?.n, ctx.result("failing"), ctx.why];
      },
    });
    await (await startTool(many)).cancel();
    expect(seen).toEqual([
      [
        { key: "a", value: { n: 1 } },
        { key: "a#2", value: { n: 2 } },
        { key: "ann/a", value: undefined },
      ],
      2,
      undefined,
      "cancelled",
    ]);
  });

  test.each<[string, (ctx: CompensationContext, undo: (key: string) => Promise<void>) => Promise<unknown>]>([
    [
      "one thing after another",
      async ({ done }, undo) => {
        for (const { key } of done.toReversed()) await undo(key);
      },
    ],
    ["several at once", ({ done, map }, undo) => map(done, "key", ({ key }) => undo(key))],
  ])("undoes everything with a helper that reads before its step: %s", async (_how, each) => {
    for (const crashAt of [undefined, "every"] as const) {
      const here = world();
      let reads = 0;
      const release = async (ctx: CompensationContext) => {
        const undo = async (key: string) => {
          // Another time in each run.
          for (let turn = reads++ % 3; turn > 0; turn -= 1) await new Promise((resolve) => setImmediate(resolve));
          await ctx.step("undo", ({ idempotencyKey }) => here.release(key, idempotencyKey));
        };
        await each(ctx, undo);
      };
      const run = await startTool(trip(here, { release }), { city: "Graz" }, crashAt ? { crashAt, strict: false } : {});
      await run.cancel();
      expect(run.task.owed).toBeUndefined();
      expect(here.log.filter((line) => line.startsWith("release")).toSorted()).toEqual(["release flight", "release hotel"]);
    }
  });

  test("runs once, however often the task is cancelled", async () => {
    const here = world();
    const run = await startTool(trip(here), { city: "Graz" });
    await run.cancel();
    await run.cancel();
    expect(here.log).toHaveLength(4);
  });
});
