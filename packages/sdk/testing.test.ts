import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "./index.ts";
import { runTool, startTool } from "./testing.ts";

const COUNT = z.object({ count: z.int() });

function asking(message: string) {
  return defineTool({
    name: "asking",
    async run(_args, ctx) {
      const { count } = await ctx.elicit("count", { message, schema: COUNT });
      return String(count);
    },
  });
}

describe("runTool", () => {
  test("says what the script has no answer for", async () => {
    await expect(runTool(asking("How many?"))).rejects.toThrow('the tool asks "count" and the script has no answer: How many?');
  });

  test("says why an answer is not taken", async () => {
    await expect(runTool(asking("How many?"), {}, { answers: { count: { count: "two" } } })).rejects.toThrow(
      'the answer to "count" is refused: /content/count must be integer',
    );
  });

  test("lets the script see the question", async () => {
    const run = await runTool(
      asking("How many?"),
      {},
      { answers: { count: ({ request }) => ({ count: "message" in request ? request.message.length : 0 }) } },
    );
    expect(run.text).toBe("9");
  });

  test("passes sleeps while a question of the script waits", async () => {
    const reminding = defineTool({
      name: "reminding",
      async run(_args, ctx) {
        const answer = ctx.elicit("count", { message: "How many?", schema: COUNT });
        await Promise.race([answer, ctx.sleep("patience", "1 hour")]);
        return "an hour has passed";
      },
    });
    const run = await runTool(reminding);
    expect(run.text).toBe("an hour has passed");
    expect(run.now).toEqual(new Date("2026-01-01T01:00:00Z"));
  });

  test("with crashAt, the run dies after every step and the tool still does each once", async () => {
    const done: string[] = [];
    const careful = defineTool({
      name: "careful",
      async run(_args, ctx) {
        for (const name of ["a", "b", "c"]) await ctx.step(name, () => void done.push(name));
        return done.join();
      },
    });
    expect((await runTool(careful, {}, { crashAt: "every" })).text).toBe("a,b,c");
  });

  test.each([true, 0, 1.5, -1, "always", null])(
    "crashAt: %j would let a test pass whose worker never dies, and is refused",
    async (crashAt) => {
      const quick = defineTool({ name: "quick", run: async () => "done" });
      await expect(runTool(quick, {}, { crashAt: crashAt as never })).rejects.toThrow(`crashAt must be "every" or the number of a record`);
    },
  );

  test("with crashAt, a tool that decides by something outside of ctx is found out", async () => {
    let starts = 0;
    const careless = defineTool({
      name: "careless",
      async run(_args, ctx) {
        starts += 1;
        await ctx.step(`start-${starts}`, () => 1);
        return "done";
      },
    });
    expect((await runTool(careless)).text).toBe("done");
    expect((await runTool(careless, {}, { crashAt: "every" })).error).toMatchObject({ data: { code: "REPLAY_DIVERGED" } });
  });
});

describe("startTool", () => {
  test("shows a changed question under a waiting task as a divergence", async () => {
    const running = await startTool(asking("How many?"));
    running.redeploy(asking("How many, please?"));
    await running.answer({ count: { count: 1 } });
    expect(running.error).toMatchObject({ data: { code: "REPLAY_DIVERGED" } });
  });

  test("refuses answers to what is not asked", async () => {
    const running = await startTool(asking("How many?"));
    await expect(running.answer({ cuont: { count: 1 } })).rejects.toThrow('"cuont" is not asked; open are: count');
  });
});
