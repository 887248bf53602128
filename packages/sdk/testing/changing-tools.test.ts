/** The table of docs/changing-tools.md: what happens to a waiting task when its tool changes. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Context, type Duration, defineTool } from "../index.ts";
import { runTool, startTool } from "./testing.ts";

const GO = z.object({ go: z.boolean() });
const ask = (ctx: Context, name = "go", more: { readonly message?: string; readonly signal?: AbortSignal } = {}) =>
  ctx.ask(name, { message: "Go?", schema: GO, ...more });

type Run = (ctx: Context) => Promise<string>;
const tool = (run: Run, runTimeout: Duration = "5 minutes") => defineTool({ name: "changing", runTimeout, run: (_args, ctx) => run(ctx) });

/** Holds a table, reads the clock, draws an id, and waits. */
const before: Run = async (ctx) => {
  await ctx.step("hold", () => 1);
  ctx.now();
  const id = ctx.uuid();
  await ask(ctx);
  return id;
};

async function changedTo(run: Run, runTimeout?: Duration): Promise<string> {
  const running = await startTool(tool(before));
  running.redeploy(tool(run, runTimeout));
  await running.answer({ go: { go: true } });
  return running.error ? String((running.error.data as { code?: string }).code) : running.task.status;
}

describe("a waiting task continues with", () => {
  test.each<[string, Run]>([
    [
      "another text, other code between effects",
      async (ctx) => {
        ctx.log("new");
        await before(ctx);
        return "another text";
      },
    ],
    [
      "other work in a recorded step, which is not done again",
      async (ctx) => {
        await ctx.step("hold", () => {
          throw new Error("never");
        });
        ctx.now();
        await ask(ctx);
        return "done";
      },
    ],
    [
      "new steps and asks behind the wait, and without a uuid",
      async (ctx) => {
        await ctx.step("hold", () => 1);
        ctx.now();
        await ask(ctx);
        await ctx.step("more", () => 2);
        return "done";
      },
    ],
    [
      "a new fact before the wait, and a new step beside it",
      async (ctx) => {
        ctx.uuid("another");
        ctx.now("another");
        const beside = ctx.step("beside", () => 2);
        await before(ctx);
        await beside;
        return "done";
      },
    ],
  ])("%s", async (_what, run) => {
    expect(await changedTo(run)).toBe("completed");
  });

  test("a changed length of a sleep that has begun, which ends when it would have", async () => {
    const sleeping = (duration: "1 day" | "1 hour") =>
      tool(async (ctx) => {
        await ctx.sleep("night", duration);
        return "done";
      });
    const running = await startTool(sleeping("1 day"));
    running.redeploy(sleeping("1 hour"));
    await running.advance("23 hours");
    expect(running.task.status).toBe("working");
    await running.advance("1 hour");
    expect(running.text).toBe("done");
  });
});

describe("a change under ctx.patched", () => {
  const patched: Run = async (ctx) => {
    if (ctx.patched("check")) await ctx.step("check", () => 1);
    await before(ctx);
    return ctx.patched("check") ? "the new way" : "the old way";
  };

  test("leaves waiting tasks on the old path, and new ones take the new path, wherever the worker dies", async () => {
    const running = await startTool(tool(before), {}, { crashAt: "every" });
    running.redeploy(tool(patched));
    await running.answer({ go: { go: true } });
    expect(running.text).toBe("the old way");
    expect(running.journal).toEqual(["step:hold", "now:now", "ask:go", "patch:check"]);

    const fresh = await runTool(tool(patched), {}, { answers: { go: { go: true } }, crashAt: "every" });
    expect(fresh.text).toBe("the new way");
    expect(fresh.journal).toEqual(["patch:check", "step:check", "step:hold", "now:now", "ask:go"]);
  });

  test("is removed in two steps: first deprecatePatch, then nothing once its tasks have ended", async () => {
    const deprecated: Run = async (ctx) => {
      ctx.deprecatePatch("check");
      await ctx.step("check", () => 1);
      return before(ctx);
    };
    const removed: Run = async (ctx) => {
      await ctx.step("check", () => 1);
      return before(ctx);
    };
    const ends = async (from: Run, to: Run) => {
      const running = await startTool(tool(from));
      running.redeploy(tool(to));
      await running.answer({ go: { go: true } });
      return running.task.status;
    };
    expect(await ends(patched, deprecated)).toBe("completed");
    expect(await ends(deprecated, removed)).toBe("completed");
    // Too early: the task stays unharmed, for a worker that knows the patch.
    expect(await ends(patched, removed)).toBe("working");
    expect(await ends(before, deprecated)).toBe("failed");
  });
});

describe("a waiting task diverges with", () => {
  test.each<[string, Run]>([
    [
      "a new step before the wait",
      async (ctx) => {
        await ctx.step("new", () => 1);
        return before(ctx);
      },
    ],
    [
      "a new question before the wait",
      async (ctx) => {
        await ask(ctx, "new");
        return before(ctx);
      },
    ],
    [
      "other names",
      async (ctx) => {
        await ctx.step("hold-table", () => 1);
        ctx.now();
        await ask(ctx);
        return "done";
      },
    ],
    ["a branch around recorded effects", (ctx) => ctx.branch("new", () => before(ctx))],
    ["a return over what was recorded", async () => "early"],
    [
      "an error over what was recorded",
      async () => {
        throw new Error("early");
      },
    ],
    ["a restart over what was recorded", (ctx) => ctx.restart({})],
    [
      "another message of the question",
      async (ctx) => {
        await ctx.step("hold", () => 1);
        ctx.now();
        await ask(ctx, "go", { message: "Really?" });
        return "done";
      },
    ],
  ])("%s", async (_what, run) => {
    expect(await changedTo(run)).toBe("REPLAY_DIVERGED");
  });
});

test("a waiting task keeps the default that applied when it was called", async () => {
  const greets = (greeting: string) =>
    defineTool({
      name: "greets",
      input: z.object({ greeting: z.string().default(greeting) }),
      async run(args, ctx) {
        await ask(ctx);
        return args.greeting;
      },
    });
  const running = await startTool(greets("Hello"));
  running.redeploy(greets("Good day"));
  await running.answer({ go: { go: true } });
  expect(running.text).toBe("Hello");
});

test("arguments that the new input schema refuses are a divergence as well", async () => {
  const running = await startTool(tool(before), {});
  running.redeploy(defineTool({ name: "changing", input: z.object({ needed: z.string() }), run: () => "done" }));
  await running.answer({ go: { go: true } });
  expect(running.error).toMatchObject({ data: { code: "REPLAY_DIVERGED" } });
});

/**
 * A handler that does nothing new might be busy outside of ctx, so it has until its runTimeout to reach the recorded
 * calls.
 */
describe("a waiting task fails, at the latest when its run has used up its time, with", () => {
  const FAILED = expect.stringMatching(/^(REPLAY_DIVERGED|RUN_TIMEOUT)$/);

  test.each<[string, Run]>([
    [
      "a step that is gone",
      async (ctx) => {
        ctx.now();
        await ask(ctx);
        return "done";
      },
    ],
    [
      "a reading of the clock that is gone",
      async (ctx) => {
        await ctx.step("hold", () => 1);
        await ask(ctx);
        return "done";
      },
    ],
    [
      "recorded effects in another order",
      async (ctx) => {
        ctx.now();
        await ask(ctx);
        await ctx.step("hold", () => 1);
        return "done";
      },
    ],
  ])("%s", async (_what, run) => {
    expect(await changedTo(run, "1s")).toEqual(FAILED);
  });

  test("a withdrawn question that was removed", async () => {
    const withdrawing = (withdraws: boolean) =>
      tool(async (ctx) => {
        const enough = new AbortController();
        void ask(ctx, "maybe", { signal: enough.signal });
        await ask(ctx);
        if (withdraws) enough.abort();
        await ask(ctx, "last");
        return "done";
      }, "1s");
    const running = await startTool(withdrawing(true));
    await running.answer({ go: { go: true } });
    running.redeploy(withdrawing(false));
    await running.answer({ last: { go: true } });
    expect(running.error).toMatchObject({ data: { code: FAILED } });
  });
});

test("a fact drawn before another one of the same name shifts it: waiting tasks see another value after their wait", async () => {
  const ids: string[] = [];
  const drawing = (extra: boolean) =>
    tool(async (ctx) => {
      if (extra) ctx.uuid();
      ids.push(ctx.uuid());
      await ask(ctx);
      return "done";
    });
  const running = await startTool(drawing(false));
  running.redeploy(drawing(true));
  await running.answer({ go: { go: true } });
  expect(running.text).toBe("done");
  expect(ids[0]).not.toBe(ids[1]);
});

describe("an await of something outside ctx", () => {
  const outside = () => new Promise((resolve) => setTimeout(resolve, 2));

  test("before a name that another item of a Promise.all also uses is distinguished by the item; what is not recorded cannot be", async () => {
    const mapped = (effect: (ctx: Context) => Promise<unknown>) =>
      tool(async (ctx) => {
        await Promise.all(
          ["eu", "us"].map(async () => {
            await outside();
            await effect(ctx);
          }),
        );
        return "done";
      });
    expect((await runTool(mapped((ctx) => ctx.step("save", () => 1)))).text).toBe("done");
    expect((await runTool(mapped(async (ctx) => ctx.uuid()))).error).toMatchObject({ data: { code: "AMBIGUOUS_EFFECT" } });
  });

  test("in a helper before its step, in every round of a loop, is right: the loop awaits one helper after another", async () => {
    const looping = tool(async (ctx) => {
      const save = async (region: string) => {
        await outside();
        return await ctx.step("save", () => region);
      };
      const saved: string[] = [];
      for (const region of ["eu", "us"]) saved.push(await save(region));
      await ask(ctx);
      return saved.join();
    });
    const run = await runTool(looping, {}, { answers: { go: { go: true } }, crashAt: "every", strict: false });
    expect([run.text, run.journal.filter((key) => key.startsWith("step:"))]).toEqual(["eu,us", ["step:save", "step:save#2"]]);
  });

  test.each<[string, Run]>([
    [
      "one name each",
      async (ctx) => {
        await Promise.all(["eu", "us"].map((region) => outside().then(() => ctx.step(`save-${region}`, () => region))));
        return "done";
      },
    ],
    [
      "the read in a step",
      async (ctx) => {
        await Promise.all(["eu", "us"].map((region) => ctx.step("load", outside).then(() => ctx.step("save", () => region))));
        return "done";
      },
    ],
    [
      "a branch each",
      async (ctx) => {
        await Promise.all(["eu", "us"].map((region) => ctx.branch(region, () => outside().then(() => ctx.step("save", () => region)))));
        return "done";
      },
    ],
    [
      "a loop that calls the step itself",
      async (ctx) => {
        for (const region of ["eu", "us"]) {
          await outside();
          await ctx.step("save", () => region);
        }
        return "done";
      },
    ],
    [
      "outside work before anything has used the name",
      async (ctx) => {
        await outside();
        await Promise.all(["eu", "us"].map((region) => ctx.step("save", () => region)));
        return "done";
      },
    ],
  ])("is fine with %s", async (_what, run) => {
    expect((await runTool(tool(run))).text).toBe("done");
  });

  test("beside an open question is cut off when the run parks, and repeated by the next run", async () => {
    let begun = 0;
    let ended = 0;
    const racing = tool(async (ctx) => {
      const work = async () => {
        begun += 1;
        await new Promise((resolve) => setTimeout(resolve, 30));
        ended += 1;
      };
      await Promise.all([ask(ctx), work()]);
      return `${begun} ${ended}`;
    });
    const run = await runTool(racing, {}, { answers: { go: { go: true } }, strict: false });
    expect(run.text.startsWith("2 ")).toBe(true);
  });
});
