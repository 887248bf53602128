/** NOT_AWAITED: calls of ctx whose promise the handler dropped. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "@parley/core";
import { ask, type Context, definePrompt, defineTool, sleep, step, type ToolGenerator } from "../index.ts";
import { accept, runTool, startTool } from "../testing/testing.ts";

const question = { message: "Delete?" };
const form = { ...question, schema: { type: "object", properties: { sure: { type: "boolean" } } } satisfies JsonObject };
const child = defineTool({ name: "child", run: async () => "done" });

type Run = (ctx: Context) => Promise<string>;

function tool(run: Run) {
  return defineTool({ name: "t", run: (_args, ctx) => run(ctx) });
}

/** As an author without types writes it, who forgot the `await`. */
const dropped: readonly [string, (ctx: Context) => unknown][] = [
  ['ctx.elicit("q")', (ctx) => ctx.elicit("q", form)],
  ['ctx.ask("q")', (ctx) => ctx.ask("q", form)],
  ['ctx.text("q")', (ctx) => ctx.text("q", question)],
  ['ctx.number("q")', (ctx) => ctx.number("q", question)],
  ['ctx.confirm("q")', (ctx) => ctx.confirm("q", question)],
  ['ctx.select("q")', (ctx) => ctx.select("q", { ...question, options: ["a"] })],
  ['ctx.date("q")', (ctx) => ctx.date("q", question)],
  ['ctx.form("q")', (ctx) => ctx.form("q", form)],
  ['ctx.url("q")', (ctx) => ctx.url("q", { ...question, url: "https://parley.test" })],
  ['ctx.secret("q")', (ctx) => ctx.secret("q", question)],
  ['ctx.oauth("q")', (ctx) => ctx.oauth("q", { ...question, provider: "p", scopes: ["s"] })],
  ['ctx.file("q")', (ctx) => ctx.file("q", question)],
  ['ctx.sample("q")', (ctx) => ctx.sample("q", { messages: [], maxTokens: 1 })],
  ["ctx.roots()", (ctx) => ctx.roots()],
  ['ctx.call("child")', (ctx) => ctx.call(child, {})],
  ['ctx.sleep("q")', (ctx) => ctx.sleep("q", "2 days")],
  ['ctx.sleepUntil("q")', (ctx) => ctx.sleepUntil("q", "2027-01-01")],
  ['ctx.branch("q")', (ctx) => ctx.branch("q", async () => await ctx.confirm("q", question))],
  ['received() of ctx.event("q")', (ctx) => ctx.event("q").received()],
];

describe("a call that is not awaited", () => {
  test.each(dropped)("ends the task by name: %s", async (call, drop) => {
    const careless = tool(async (ctx) => {
      void drop(ctx);
      await ctx.step("delete", () => "deleted");
      return "Deleted.";
    });
    const run = await runTool(careless, {}, { tools: [child], crashAt: "every" });
    expect(run.error).toMatchObject({ message: `nothing had awaited ${call} when the handler ended`, data: { code: "NOT_AWAITED" } });
  });

  test("ends the task if it is a step: told to stop as the handler ends, it was not done", async () => {
    const sent: string[] = [];
    const hasty = tool(async (ctx) => {
      void ctx.step("mail", async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        signal.throwIfAborted();
        sent.push("mail");
      });
      return "Mail sent.";
    });
    const run = await runTool(hasty);
    expect([run.text, sent]).toStrictEqual(['nothing had awaited ctx.step("mail") when the handler ended', []]);
  });

  test("is no mistake if it is a question that was asked while the handler waited: it may return early", async () => {
    const approval = tool(async (ctx) => {
      const [budget, legal] = [ctx.confirm("budget", question), ctx.branch("legal", () => ctx.confirm("sure", question))];
      if (!(await budget)) return "No budget.";
      return String(await legal);
    });
    const running = await startTool(approval);
    await running.answer({ budget: false });
    expect(running.text).toBe("No budget.");
  });

  test("ends a round that restarts: a loop without its pause would run forever", async () => {
    let rounds = 0;
    const hurried = tool(async (ctx) => {
      rounds += 1;
      if (rounds > 2) return "It restarted.";
      void ctx.sleep("pause", "7 days");
      return await ctx.restart({});
    });
    expect((await runTool(hurried)).error).toMatchObject({ message: 'nothing had awaited ctx.sleep("pause") when the handler ended' });
  });

  test("has the task compensated", async () => {
    const undone: string[] = [];
    const run = await runTool(
      defineTool({
        name: "t",
        async run(_args, ctx) {
          void ctx.confirm("sure", question);
          await ctx.step("delete", () => 1);
          return "Deleted.";
        },
        compensate: (_args, ctx) => void undone.push(...ctx.done.map(({ key }) => key)),
      }),
    );
    expect([run.task.status, undone]).toStrictEqual(["failed", ["delete"]]);
  });

  test("ends a prompt", async () => {
    const prompt = definePrompt({
      name: "p",
      run(_args, ctx) {
        void ctx.confirm("sure", question);
        return "a prompt";
      },
    });
    expect((await runTool(prompt)).error).toMatchObject({ message: 'nothing had awaited ctx.confirm("sure") when the handler ended' });
  });

  test("is not reported beside a failure that was not handled, which has the cause", async () => {
    const failing = tool(async (ctx) => {
      void ctx.confirm("sure", question);
      void ctx.step("broken", () => Promise.reject(new Error("disk full")));
      await ctx.step("work", () => 1);
      return "done";
    });
    expect((await runTool(failing)).error).toMatchObject({ data: { code: "UNHANDLED_REJECTION" } });
  });
});

const asked = (ctx: Context, name: string) => ctx.text(name, { message: "?" });

/** Each may leave promises behind without a mistake. */
const sound: Readonly<Record<string, Run>> = {
  async "the loser of a race"(ctx) {
    const event = ctx.event("e").received();
    return await Promise.race([asked(ctx, "a"), event.then(() => "told"), ctx.sleep("z", "9 days").then(() => "slept")]);
  },
  async "the losers of any"(ctx) {
    return (await Promise.any([asked(ctx, "a"), ctx.sleep("z", "9 days")])) ?? "slept";
  },
  async "a race that is not awaited, whose winner is"(ctx) {
    const answer = asked(ctx, "a");
    void Promise.race([answer, ctx.sleep("z", "9 days")]);
    return await answer;
  },
  async "a step that has ended before the handler returns early"(ctx) {
    const rate = ctx.step("rate", () => 1);
    const answer = await asked(ctx, "a");
    if (answer === "x") return answer;
    return String(await rate);
  },
  async "a promise with a catch"(ctx) {
    ctx.sleep("z", "9 days").catch(() => undefined);
    return await asked(ctx, "a");
  },
  async "a question that is withdrawn"(ctx) {
    const given = new AbortController();
    void ctx.ask("later", { ...form, signal: given.signal });
    const answer = await asked(ctx, "a");
    given.abort();
    return answer;
  },
  async "a question that is withdrawn in the turn that asked it"(ctx) {
    const answer = await asked(ctx, "a");
    const given = new AbortController();
    void ctx.ask("later", { ...form, signal: given.signal });
    given.abort();
    return answer;
  },
  async "promises in an object that is read later"(ctx) {
    const kept = { a: asked(ctx, "a"), all: [ctx.step("s", () => 1)] };
    await ctx.step("between", () => 1);
    await Promise.allSettled(kept.all);
    return await kept.a;
  },
  async "a list that is read one by one"(ctx) {
    const answers: string[] = [];
    for (const question of [asked(ctx, "a")]) answers.push(await question);
    return answers.join();
  },
  async "an async generator that yields them"(ctx) {
    const answers = (async function* () {
      yield asked(ctx, "a");
    })();
    return String((await answers.next()).value);
  },
  async "one that a helper returns"(ctx) {
    const helper = async () => asked(ctx, "a");
    return await helper();
  },
  async "a branch that is no async function"(ctx) {
    await ctx.branch("b", () => undefined as never);
    return await ctx.branch("b", (() => "x") as never);
  },
  "one that the handler returns": (ctx) => asked(ctx, "a"),
  async "an event that is never read, but completes a page"(ctx) {
    return await ctx.url("pay", { message: "?", url: "https://parley.test", completedBy: ctx.event("e", { schema: {} }) }).then(() => "x");
  },
};

test.each(Object.entries(sound))("needs no await: %s", async (_what, run) => {
  const ran = await runTool(tool(run), {}, { answers: { a: "x", pay: accept }, events: { e: {} }, crashAt: "every" });
  expect(ran.text).toBe("x");
});

describe("a helper of a generator tool that is not yielded", () => {
  const generator = (run: () => ToolGenerator) =>
    defineTool({
      name: "t",
      *run() {
        return yield* run();
      },
    });

  test.each<[string, () => unknown]>([
    ['ask.confirm("sure")', () => ask.confirm({ id: "sure", ...question })],
    ["ask.text", () => ask.text(question)],
    ['step("work")', () => step("work", () => 1)],
    ['sleep("pause")', () => sleep("pause", "2 days")],
  ])("ends the task by name: %s", async (helper, call) => {
    const careless = generator(function* () {
      void call();
      yield { step: "delete", run: () => 1 };
      return "Deleted.";
    });
    const run = await runTool(careless);
    expect(run.error).toMatchObject({ message: `${helper} was never yielded`, data: { code: "NOT_AWAITED" } });
  });

  test("is no mistake if it is yielded later or in a list", async () => {
    const tidy = generator(function* () {
      const later = ask.text({ id: "name", message: "?" });
      yield [step("a", () => 1), ask.text({ id: "other", message: "?" })];
      return yield* later;
    });
    expect((await runTool(tidy, {}, { answers: { name: "Ada", other: "x" } })).text).toBe("Ada");
  });
});
