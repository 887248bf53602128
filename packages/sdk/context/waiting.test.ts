/** Withdrawn questions and sleeps, branches, and restarts: what `ctx` adds to core's effects. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type AskResult, type Context, type ToolReturn, Declined, Unanswered, Withdrawn, defineTool } from "../index.ts";
import { runTool, startTool } from "../testing/testing.ts";

const GO = z.object({ go: z.boolean() });
const question = { message: "Go?", schema: GO };
const yes = { go: true };

function tool(run: (ctx: Context) => ToolReturn | Promise<ToolReturn>) {
  return defineTool({ name: "tool", run: (_args, ctx) => run(ctx) });
}

const openKeys = ({ task }: { readonly task: { readonly asks: readonly { readonly key: string }[] } }) => task.asks.map(({ key }) => key);

describe("a signal", () => {
  /** Waits in some way until `other` is answered, then withdraws and returns the outcome. */
  const givingUp = (wait: (ctx: Context, signal: AbortSignal) => Promise<unknown>) =>
    tool(async (ctx) => {
      const enough = new AbortController();
      const waiting = wait(ctx, enough.signal).then(
        (value) => JSON.stringify(value),
        (error: unknown) => String(error),
      );
      await ctx.elicit("other", question);
      enough.abort(new Error("no need"));
      await ctx.elicit("last", question);
      return await waiting;
    });

  test.each<[string, (ctx: Context, signal: AbortSignal) => Promise<unknown>, RegExp]>([
    ["elicit throws Withdrawn", (ctx, signal) => ctx.elicit("maybe", { ...question, signal }), /^Withdrawn: .*"maybe"/],
    ["elicit of a page, too", (ctx, signal) => ctx.elicit("maybe", { message: "Pay", url: "https://example.com/", signal }), /^Withdrawn/],
    ["ask returns it", (ctx, signal) => ctx.ask("maybe", { ...question, signal }), /^{"action":"withdrawn"}$/],
    ["ask of a page, too", (ctx, signal) => ctx.ask("maybe", { message: "Pay", url: "https://example.com/", signal }), /"withdrawn"/],
    ["sample throws Withdrawn", (ctx, signal) => ctx.sample("maybe", { messages: [], maxTokens: 1 }, { signal }), /^Withdrawn/],
    ["roots throws Withdrawn", (ctx, signal) => ctx.roots("maybe", { signal }), /^Withdrawn/],
  ])("withdraws a question: %s", async (_what, wait, outcome) => {
    for (const crashAt of [undefined, "every"] as const) {
      const running = await startTool(givingUp(wait), {}, { crashAt });
      expect(openKeys(running)).toEqual(["maybe", "other"]);
      await running.answer({ other: yes });
      expect(openKeys(running)).toEqual(["last"]);
      await running.answer({ last: yes });
      expect(running.text).toMatch(outcome);
    }
  });

  test("ends a sleep with its reason, and causes no run", async () => {
    const running = await startTool(givingUp((ctx, signal) => ctx.sleep("patience", "1 hour", { signal })));
    await running.answer({ other: yes });
    await running.advance("2 hours");
    expect(openKeys(running)).toEqual(["last"]);
    await running.answer({ last: yes });
    expect(running.text).toBe("Error: no need");
  });

  test("withdraws a question that is asked again because its answer did not match the author's schema", async () => {
    const strict = { message: "Go?", schema: GO.refine(({ go }) => go, "must be so") };
    const running = await startTool(givingUp((ctx, signal) => ctx.ask("maybe", { ...strict, signal })));
    await running.answer({ maybe: { go: false } });
    expect(openKeys(running).toSorted()).toEqual(["maybe#2", "other"]);
    await running.answer({ other: yes });
    await running.answer({ last: yes });
    expect(running.text).toBe('{"action":"withdrawn"}');
  });

  test("that comes too late changes nothing: the answer stays", async () => {
    const late = tool(async (ctx) => {
      const enough = new AbortController();
      const answer = await ctx.ask("first", { ...question, signal: enough.signal });
      enough.abort();
      await ctx.elicit("last", question);
      return answer.action;
    });
    expect((await runTool(late, {}, { answers: { first: yes, last: yes } })).text).toBe("accept");
  });

  test("that is not handled ends the tool with a result that says so", async () => {
    const uncaught = tool(async (ctx) => {
      await ctx.elicit("never", { ...question, signal: AbortSignal.abort() });
      return "asked";
    });
    const run = await runTool(uncaught);
    expect(run.asks).toEqual([]);
    expect(run.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('withdrew the question "never"') }] });
  });

  test("Withdrawn is an Unanswered with the name of its question, and AskResult knows the action", () => {
    const error = new Withdrawn("maybe");
    expect(error).toBeInstanceOf(Unanswered);
    expect(error).not.toBeInstanceOf(Declined);
    expect(error.ask).toBe("maybe");
    expectTypeOf<AskResult<1>["action"]>().toEqualTypeOf<"accept" | "decline" | "cancel" | "timeout" | "withdrawn">();
  });
});

describe("branch", () => {
  test("prefixes names, nests, and returns what its work returns", async () => {
    const branching = tool(async (ctx) => {
      const names = await Promise.all(
        ["ada", "bob"].map((name) =>
          ctx.branch(name, async () => {
            await ctx.elicit("keep", { message: `Keep ${name}?`, schema: GO });
            return await ctx.branch("after", async () => ctx.step("note", () => name));
          }),
        ),
      );
      expectTypeOf(names).toEqualTypeOf<string[]>();
      return names.join();
    });
    const run = await runTool(branching, {}, { answers: { "ada/keep": yes, "bob/keep": yes }, crashAt: "every" });
    expect(run.text).toBe("ada,bob");
    expect(run.journal.toSorted()).toEqual(["ask:ada/keep", "ask:bob/keep", "step:ada/after/note", "step:bob/after/note"]);
  });

  test("throws what its work throws", async () => {
    const failing = tool((ctx) =>
      ctx.branch("ada", async () => {
        throw new Error("no");
      }),
    );
    expect((await runTool(failing)).result).toEqual({ content: [{ type: "text", text: "no" }], isError: true });
  });

  test("gives its steps idempotency keys of their own, and its facts differ", async () => {
    const seen: string[] = [];
    const branching = tool(async (ctx) => {
      for (const name of ["ada", "bob"]) {
        await ctx.branch(name, async () => {
          const facts = `${ctx.uuid()} ${ctx.random()}`;
          await ctx.step("pay", ({ idempotencyKey }) => void seen.push(idempotencyKey.replace(ctx.taskId, ""), facts));
        });
      }
      return "paid";
    });
    await runTool(branching, {}, { crashAt: "every" });
    expect([seen[0], seen[2]]).toEqual([".ada/pay", ".bob/pay"]);
    expect(seen[1]).not.toBe(seen[3]);
  });
});

describe("restart", () => {
  const counting = defineTool({
    name: "counting",
    input: z.object({ round: z.int().default(1), drawn: z.array(z.string()).default([]) }),
    async run({ round, drawn }, ctx) {
      const seen = [...drawn, `${ctx.uuid()} ${ctx.random()}`];
      await ctx.step("count", () => round);
      await ctx.elicit("again", { message: `Round ${round}?`, schema: GO });
      if (round === 3) return seen.join("\n");
      return await ctx.restart({ round: round + 1, drawn: seen });
    },
  });
  const answers = { again: yes, "again@1": yes, "again@2": yes };

  test("restarts the same task with these arguments, and old answers match no new question", async () => {
    const run = await runTool(counting, {}, { answers, crashAt: "every" });
    expect(run.asks.map(({ key }) => key)).toEqual(["again", "again@1", "again@2"]);
    expect(run.journal).toContain("step:count@2");
    expect(new Set(run.text.split("\n")).size).toBe(3);
  });

  test("refuses arguments that the tool would refuse", async () => {
    const broken = defineTool({
      name: "broken",
      input: z.object({ round: z.int() }),
      run: async (_args, ctx) => await ctx.restart({ round: "two" }),
    });
    expect((await runTool(broken, { round: 1 })).error).toMatchObject({ data: { code: "INVALID_ARGUMENTS" } });
  });

  test("refuses arguments that are not plain data", async () => {
    const broken = tool(async (ctx) => await ctx.restart({ at: new Map() } as never));
    expect(JSON.stringify((await runTool(broken)).task.outcome)).toContain("/at is a Map");
  });

  test.each([
    ["nothing", undefined, "undefined"],
    ["a list", [1], "a list"],
    ["a text", "again", "a string"],
  ])("without its arguments, but with %s, says what to write", async (_what, given, found) => {
    const careless = tool(async (ctx) => await ctx.restart(given as never));
    expect((await runTool(careless)).text).toBe(
      `the arguments of ctx.restart must be an object, and are ${found}: write ctx.restart({ … })`,
    );
  });

  test("closes open questions", async () => {
    let round = 0;
    const leaving = tool(async (ctx) => {
      round += 1;
      if (round > 2) return "done";
      ctx.ask("left", question).catch(() => undefined);
      await ctx.elicit("go", question);
      return await ctx.restart({});
    });
    const running = await startTool(leaving);
    await running.answer({ go: yes });
    expect([running.text, openKeys(running)]).toEqual(["done", []]);
  });

  test("never returns, as its type says", () => {
    expectTypeOf<ReturnType<Context["restart"]>>().toEqualTypeOf<Promise<never>>();
  });
});

describe("steps", () => {
  test("that fail before they are awaited fail nothing; their types are what JSON makes of the results", async () => {
    const early = tool(async (ctx) => {
      const slow = ctx.step("slow", async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return { at: new Date(0), nothing: undefined as undefined | (() => void) };
      });
      const failing = ctx.step("failing", (): number => {
        throw new Error("full");
      });
      expectTypeOf(slow).resolves.toEqualTypeOf<{ at: string; nothing: undefined }>();
      expectTypeOf(failing).resolves.toEqualTypeOf<number>();
      const { at } = await slow;
      return await failing.then(String, (error: Error) => `${at} ${error.message}`);
    });
    expect((await runTool(early, {}, { crashAt: "every" })).text).toBe("1970-01-01T00:00:00.000Z full");
  });

  test("that fail and are never awaited fail the task by name", async () => {
    const careless = tool(async (ctx) => {
      void ctx.step("notify", () => {
        throw new Error("no route");
      });
      await ctx.step("work", () => 1);
      return "done";
    });
    expect((await runTool(careless)).error).toMatchObject({ data: { code: "UNHANDLED_REJECTION" } });
  });

  test("must not use ctx inside", async () => {
    const nested = tool(async (ctx) => String(await ctx.step("outer", () => ctx.step("inner", () => 1))));
    expect(JSON.stringify((await runTool(nested)).task.outcome)).toContain('inside the step \\"outer\\"');
  });
});

describe("a sleep until a time", () => {
  const sleeping = (time: Date | string | number) =>
    defineTool({
      name: "tool",
      async run(_args, ctx) {
        await ctx.sleepUntil("morning", time);
        return ctx.now("end").toISOString();
      },
    });

  test.each([new Date("2026-01-02T08:00:00Z"), "2026-01-02T09:00:00+01:00", Date.UTC(2026, 0, 2, 8)])("ends then: %s", async (time) => {
    const running = await startTool(sleeping(time), {}, { crashAt: "every" });
    await running.advance("31 hours");
    expect(running.task.status).toBe("working");
    await running.advance("1 hour");
    expect(running.text).toBe("2026-01-02T08:00:00.000Z");
  });

  test("that has passed ends at once, and an invalid one is refused", async () => {
    expect((await runTool(sleeping("2025-01-01"))).text).toBe("2026-01-01T00:00:00.000Z");
    expect((await runTool(sleeping("noon"))).text).toContain('ends at "noon", which is not a time');
  });
});
