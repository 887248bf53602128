import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../index.ts";
import type { Context } from "../context/context.ts";
import { accept, type Reply, runTool, type Script, startTool, timeout } from "./testing.ts";

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

/** Three bytes. */
const TEXT_FILE = { name: "a.txt", text: "aä" };

describe("runTool", () => {
  test("names the question that the script does not answer", async () => {
    await expect(runTool(asking("How many?"))).rejects.toThrow(new Error('the tool asks "count" and the script has no answer: How many?'));
  });

  test("says why an answer is refused", async () => {
    await expect(runTool(asking("How many?"), {}, { answers: { count: { count: "two" } } })).rejects.toThrow(
      'the answer to "count" is refused: Count must be a whole number',
    );
  });

  test("has the error of a failed task as its text, where a test looks first", async () => {
    const misnamed = defineTool({ name: "misnamed", run: async (_args, ctx) => await ctx.text("lunch of Ann", { message: "What?" }) });
    const run = await runTool(misnamed);
    expect([run.text, run.error?.message, run.result]).toEqual([
      expect.stringContaining('"lunch of Ann" is not allowed'),
      run.text,
      undefined,
    ]);
  });

  test("returns a task whose state the console shows", async () => {
    const run = await startTool(asking("How many?"));
    expect(inspect(run)).toBe("{ status: 'input_required', open: [ 'count' ], text: '', journal: [] }");
    await run.answer({ count: { count: 4 } });
    expect(inspect(run)).toContain("text: '4'");
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
      await expect(runTool(quick, {}, { crashAt: crashAt as never })).rejects.toThrow(
        new TypeError(`crashAt must be "every" or the number of a record, counted from 1, and is ${JSON.stringify(crashAt)}`),
      );
    },
  );

  test("with crashAt, a tool that decides by something outside of ctx is detected", async () => {
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

/** A tool that does what the test says. */
function doing(run: (ctx: Context) => Promise<unknown>) {
  return defineTool({ name: "doing", run: async (_args, ctx) => String(await run(ctx)) });
}

describe("a script", () => {
  test("that reports no event fails with the event's name", async () => {
    await expect(runTool(doing((ctx) => ctx.event("paid").received()))).rejects.toThrow(
      new Error('the tool waits for the event "paid", and the test does not report it'),
    );
  });

  test("names a question without a message by its kind", async () => {
    await expect(runTool(doing((ctx) => ctx.roots("folders")))).rejects.toThrow(
      new Error('the tool asks "folders" and the script has no answer: roots'),
    );
  });

  test("may answer by more than a content: with the value of the one field, a reply of the model, folders", async () => {
    const tool = doing(async (ctx) => {
      const text = await ctx.text("q", { message: "?" });
      const reply = await ctx.sample("model", { messages: [], maxTokens: 1 });
      const more = await ctx.sample("more", { messages: [], maxTokens: 1 });
      const all = await ctx.select("all", { message: "?", options: ["a", "b"], multi: true });
      return JSON.stringify([text, reply, more, await ctx.roots(), all]);
    });
    const whole = { role: "user", content: { type: "text", text: "whole" }, model: "other" };
    const run = await runTool(tool, {}, { answers: { q: "x", model: "short", more: whole, roots: ["file:///a"], all: ["b"] } });
    expect(JSON.parse(run.text)).toStrictEqual([
      "x",
      { role: "assistant", content: { type: "text", text: "short" }, model: "test" },
      whole,
      [{ uri: "file:///a" }],
      ["b"],
    ]);
  });

  test("answers a question of any name", async () => {
    const odd = defineTool({ name: "odd", run: async (_args, ctx) => String(await ctx.confirm("__proto__", { message: "Sure?" })) });
    const answers = JSON.parse('{"__proto__":true}') as Script;
    expect((await runTool(odd, {}, { answers })).text).toBe("true");
  });

  test("finds no answer that the script does not give, not even for a question named constructor", async () => {
    const odd = doing(async (ctx) => String(await ctx.confirm("constructor", { message: "Sure?" })));
    await expect(runTool(odd)).rejects.toThrow('the tool asks "constructor" and the script has no answer');
    const waiting = doing(async (ctx) => JSON.stringify(await ctx.event("constructor", { timeout: "1 hour" }).received()));
    await expect(runTool(waiting)).rejects.toThrow('the tool waits for the event "constructor"');
  });

  test("lets an event and a question time out at their deadlines", async () => {
    const tool = doing(async (ctx) => {
      const paid = ctx.event("paid", { timeout: "2 hours" }).received();
      const names = [await ctx.confirm("q", { message: "?", timeout: "1 hour" }).then(String, (error: Error) => error.name)];
      names.push(await paid.then(String, (error: Error) => error.name));
      return names.join();
    });
    const run = await runTool(tool, {}, { answers: { q: timeout }, events: { paid: timeout } });
    expect([run.text, run.now]).toStrictEqual(["TimedOut,TimedOut", new Date("2026-01-01T02:00:00Z")]);
  });
});

describe("startTool", () => {
  const page = (ask: (ctx: Context) => Promise<unknown>) => startTool(doing(ask));
  const two = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } };

  test.each<[string, (ctx: Context) => Promise<unknown>, Reply, string]>([
    [
      "a time that runs out",
      (ctx) => ctx.confirm("q", { message: "?" }),
      timeout,
      '"q" cannot be answered with timeout: advance the clock',
    ],
    ["one value of two", (ctx) => ctx.elicit("q", { message: "?", schema: two }), "x", '"x" is not an answer to a form with 2 fields'],
    [
      "a value of none",
      (ctx) => ctx.elicit("q", { message: "?", schema: { type: "object" } }),
      ["x"],
      '["x"] is not an answer to a form with 0 fields',
    ],
    [
      "agreement to a page of Parley's",
      (ctx) => ctx.secret("q", { message: "?" }),
      accept,
      '"q" is answered on its page: { secret: "…" }, { grant: "…" }, { returned: { … } } or { file: { name, text } }',
    ],
    ["no secret", (ctx) => ctx.secret("q", { message: "?" }), "x", '"q" asks for a secret: answer { secret: "…" }'],
    [
      "a secret that is not a text",
      (ctx) => ctx.secret("q", { message: "?" }),
      { secret: 1 },
      '"q" asks for a secret: answer { secret: "…" }',
    ],
    [
      "no grant",
      (ctx) => ctx.oauth("q", { message: "?", provider: "google", scopes: [] }),
      { secret: "x" },
      '"q" asks for access at google: answer { grant: "an access token" }',
    ],
    ["no file", (ctx) => ctx.file("q", { message: "?" }), {}, '"q" asks for files: answer { file: { name, text } } or { files: […] }'],
    [
      "an empty list of files",
      (ctx) => ctx.file("q", { message: "?" }),
      { files: [] },
      '"q" asks for files: answer { file: { name, text } } or { files: […] }',
    ],
    ["one file too many", (ctx) => ctx.file("q", { message: "?" }), { files: [TEXT_FILE, TEXT_FILE] } as never, '"q" takes at most 1 file'],
    [
      "more files than the tool takes",
      (ctx) => ctx.file("q", { message: "?", count: 2 }),
      { files: [TEXT_FILE, TEXT_FILE, TEXT_FILE] } as never,
      '"q" takes at most 2 files',
    ],
    [
      "a file that is too large",
      (ctx) => ctx.file("q", { message: "?", maxBytes: 2 }),
      { file: TEXT_FILE } as never,
      '"q": a.txt is larger than 2 bytes',
    ],
    [
      "a file of another type",
      (ctx) => ctx.file("q", { message: "?", accept: ["image/*", "application/pdf", ".csv"] }),
      { file: TEXT_FILE } as never,
      '"q" takes image/*, application/pdf, .csv, and a.txt is text/plain',
    ],
    ...[undefined, null, ["a"], "a"].map((returned): [string, (ctx: Context) => Promise<unknown>, Reply, string] => [
      `nothing from a visit but ${JSON.stringify(returned)}`,
      (ctx) => ctx.url("q", { message: "?", url: "https://pay.example", returnTo: "back" }),
      { returned } as never,
      '"q" asks to visit a page and come back: answer { returned: { … } }, with the parameters',
    ]),
  ])("refuses an answer that says %s", async (_what, ask, reply, message) => {
    const running = await page(ask);
    await expect(running.answer({ q: reply })).rejects.toThrow(new Error(message));
    expect(running.task.status).toBe("input_required");
  });

  test("takes a file of an accepted type, ending or size", async () => {
    for (const options of [{ accept: ["TEXT/*"] }, { accept: ["text/plain"] }, { accept: [".TXT"] }, { maxBytes: 3 }]) {
      const running = await page((ctx) => ctx.file("q", { message: "?", ...options }));
      await running.answer({ q: { file: TEXT_FILE } as never });
      expect(running.task.asks).toEqual([]);
    }
  });

  test("lists what is open, or says that nothing is", async () => {
    const running = await page(async (ctx) => await Promise.all([ctx.confirm("a", { message: "?" }), ctx.confirm("b", { message: "?" })]));
    await expect(running.answer({ c: true })).rejects.toThrow(new Error('"c" is not asked; open are: a, b'));
    await running.answer({ a: true, b: true });
    await expect(running.answer({ a: true })).rejects.toThrow(new Error('"a" is not asked; open are: none'));
  });

  test("begins with an empty feed, at the test's own time", async () => {
    const running = await startTool(
      doing((ctx) => ctx.confirm("q", { message: "?" })),
      {},
      { now: new Date("2027-01-01T00:00:00Z") },
    );
    expect([running.text, running.result, running.error, running.now]).toStrictEqual([
      "",
      undefined,
      undefined,
      new Date("2027-01-01T00:00:00Z"),
    ]);
    expect((await startTool(doing(async () => "x"))).now).toStrictEqual(new Date("2026-01-01T00:00:00Z"));
  });

  test("moves the clock by the given time, past everything that becomes due on the way", async () => {
    const running = await startTool(
      doing(async (ctx) => {
        await ctx.sleep("a", "1 hour");
        await ctx.sleep("b", "1 hour");
        return ctx.now().toISOString();
      }),
    );
    await running.advance("30 minutes");
    await running.advance("29 minutes");
    expect([running.journal, running.now]).toStrictEqual([["sleep:a"], new Date("2026-01-01T00:59:00Z")]);
    await running.advance("1 minute");
    expect(running.journal).toStrictEqual(["sleep:a", "sleep:b"]);
    await running.advance("3 hours");
    expect([running.text, running.now]).toStrictEqual(["2026-01-01T02:00:00.000Z", new Date("2026-01-01T04:00:00Z")]);
  });

  test("shows a changed question under a waiting task as a divergence", async () => {
    const running = await startTool(asking("How many?"));
    running.redeploy(asking("How many, please?"));
    await running.answer({ count: { count: 1 } });
    expect(running.error).toMatchObject({ data: { code: "REPLAY_DIVERGED" } });
  });

  test("refuses answers to questions that were not asked", async () => {
    const running = await startTool(asking("How many?"));
    await expect(running.answer({ cuont: { count: 1 } })).rejects.toThrow('"cuont" is not asked; open are: count');
  });
});
