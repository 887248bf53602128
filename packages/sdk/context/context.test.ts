import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { canonicalJson, type Effects, type FileRef, type JsonObject, type Settled } from "@parley/core";
import { MESSAGE_WANTED } from "../asks/wrong-ask.ts";
import { createContext } from "./create-context.ts";
import {
  type AskResult,
  type Context,
  type FormAsk,
  type Schema,
  type ToolReturn,
  Declined,
  ParleyError,
  StepFailed,
  TimedOut,
  ToolError,
  defineTool,
  jsonSchema,
} from "../index.ts";
import { accept, cancel, decline, runTool, startTool, timeout, unavailable } from "../testing/testing.ts";
import { textDigest } from "../replay/ports.ts";

function tool(run: (ctx: Context) => ToolReturn | Promise<ToolReturn | void>) {
  return defineTool({ name: "tool", run: (_args, ctx) => run(ctx) });
}

function asking<S extends Schema>(ask: FormAsk<S>) {
  return tool(async (ctx) => JSON.stringify(await ctx.elicit("question", ask)));
}

/** A context over the effects that a test provides. */
function over(effects: Partial<Effects>) {
  const asked: unknown[] = [];
  const ask: Effects["ask"] = async (...given) => {
    asked.push(given);
    return effects.ask ? await effects.ask(...given) : { action: "cancel" };
  };
  const { signal } = new AbortController();
  const call = { principal: "ann", capabilities: {} };
  return { asked, ctx: createContext({ taskId: "task", call, signal, mustBeAwaited: (promise) => promise, ...effects, ask } as Effects) };
}

const COUNT = z.object({ count: z.int().min(1).max(20) });

describe("elicit", () => {
  test("returns the answer as the schema's output", async () => {
    const run = await runTool(
      tool(async (ctx) => {
        const answer = await ctx.elicit("question", {
          message: "When?",
          schema: z.object({ day: z.iso.date(), note: z.string().trim().default("-") }),
        });
        expectTypeOf(answer).toEqualTypeOf<{ day: string; note: string }>();
        return JSON.stringify(answer);
      }),
      {},
      { answers: { question: { day: "2026-12-24" } } },
    );
    expect(run.text).toBe('{"day":"2026-12-24","note":"-"}');
    expect(run.asks).toMatchObject([{ key: "question", request: { type: "form", message: "When?", schema: { required: ["day"] } } }]);
  });

  test("refuses an answer that violates the form, and keeps the question open", async () => {
    const running = await startTool(asking({ message: "How many?", schema: COUNT }));
    await expect(running.answer({ question: { count: 21 } })).rejects.toThrow(/is refused: Count must be between 1 and 20/);
    expect(running.task.status).toBe("input_required");
    await running.answer({ question: { count: 20 } });
    expect(running.text).toBe('{"count":20}');
  });

  test("offers choices that are numbers, and gives the author null for what was left out", async () => {
    const schema = z.object({ at: z.literal([1, 2, 3]), nick: z.string().nullable() });
    const running = await startTool(asking({ message: "?", schema }), {}, { crashAt: "every" });
    await expect(running.answer({ question: { at: 5 } })).rejects.toThrow(/At must be one of 1, 2, 3/);
    await running.answer({ question: { at: 2 } });
    expect(running.text).toBe('{"at":2,"nick":null}');
  });

  test("is the question of a version that left out choices that are numbers, so that its waiting tasks continue", async () => {
    const { asked, ctx } = over({});
    await ctx.ask("question", { message: "?", schema: z.object({ at: z.literal([1, 2]) }) });
    const identity = { schema: { type: "object", properties: { at: { type: "number" } }, required: ["at"] } };
    expect(asked).toMatchObject([["question", { schema: { properties: { at: { enum: [1, 2] } } } }, { identity }]]);
  });

  test("asks again with the form filled in, and with each problem at its field", async () => {
    const trip = z
      .object({ from: z.iso.date().meta({ title: "Start" }), to: z.iso.date().meta({ title: "Return" }), note: z.string().optional() })
      .refine(({ from, to }) => to >= from, { message: "the return must not be before the start", path: ["to"] });
    const running = await startTool(asking({ message: "When?", schema: trip, hints: { size: "wide" } }));
    await running.answer({ question: { from: "2026-12-24", to: "2026-12-20", note: "two\nlines " } });
    const [ask] = running.task.asks;
    expect(ask?.request).toMatchObject({
      message: "When?\n\nThe last answer does not fit: Return: the return must not be before the start",
      schema: { properties: { from: { default: "2026-12-24" }, to: { default: "2026-12-20" }, note: { default: "two\nlines " } } },
      hints: { size: "wide", problems: { to: "the return must not be before the start" } },
    });
    // As the version before asked it, whose waiting tasks must go on: with the first form, and the problem in its own words.
    const day = { type: "string", format: "date" };
    const before = {
      type: "form",
      message: "When?\n\nThe last answer does not fit: Return the return must not be before the start",
      schema: {
        type: "object",
        properties: { from: { ...day, title: "Start" }, to: { ...day, title: "Return" }, note: { type: "string" } },
        required: ["from", "to"],
      },
      hints: { size: "wide" },
    };
    expect(ask?.digest).toBe(textDigest(canonicalJson(before)));
    await running.answer({ "question#2": { from: "2026-12-24", to: "2026-12-25" } });
    expect(running.text).toBe('{"from":"2026-12-24","to":"2026-12-25"}');
  });

  test("asks again, with the reason, when the answer matches the form but not the author's schema", async () => {
    const even = COUNT.refine(({ count }) => count % 2 === 0, { message: "must be even", path: ["count"] });
    const running = await startTool(asking({ message: "How many?", schema: even }));
    await running.answer({ question: { count: 3 } });
    expect(running.task.asks).toMatchObject([
      { key: "question#2", request: { message: "How many?\n\nThe last answer does not fit: Count must be even" } },
    ]);
    await running.answer({ "question#2": { count: 4 } });
    expect(running.text).toBe('{"count":4}');
  });

  test("gives up on a client whose answers never match the author's schema", async () => {
    const even = COUNT.refine(({ count }) => count % 2 === 0, { message: "must be even", path: ["count"] });
    const running = await startTool(asking({ message: "How many?", schema: even }));
    while (running.task.status === "input_required") await running.answer({ [running.task.asks[0]!.key]: { count: 3 } });
    expect(running.task.run).toBe(11);
    expect(running.error).toMatchObject({
      message: 'the ask "question" was answered 10 times, but never as its schema requires',
      data: { code: "INVALID_ANSWER", violations: [{ path: "/count", message: "must be even" }] },
    });
  });

  test("throws the outcome of the question", async () => {
    const outcomes: unknown[] = [];
    const all = tool(async (ctx) => {
      for (const name of ["a", "b", "c"]) {
        await ctx.elicit(name, { message: "?", schema: COUNT, timeout: "1 minute" }).catch((error: Error) => outcomes.push(error.name));
      }
      return outcomes.slice(-3).join();
    });
    const run = await runTool(all, {}, { answers: { a: decline, b: cancel, c: timeout } });
    expect(run.text).toBe("Declined,Cancelled,TimedOut");
    expect(run.now).toEqual(new Date("2026-01-01T00:01:00Z"));
  });

  test("ends by its policy at the deadline", async () => {
    const ask = { message: "How many?", schema: COUNT, timeout: "2 days" } as const;
    expect((await runTool(asking({ ...ask, onTimeout: { default: { count: 7 } } }), {}, { answers: { question: timeout } })).text).toBe(
      '{"count":7}',
    );
    expect((await runTool(asking({ ...ask, onTimeout: "decline" }), {}, { answers: { question: timeout } })).text).toMatch(/declined/);
    const failed = await runTool(asking({ ...ask, onTimeout: "fail" }), {}, { answers: { question: timeout } });
    expect(failed.error).toMatchObject({ data: { code: "ASK_TIMEOUT" } });
  });

  test("takes plain JSON Schema", async () => {
    const run = await runTool(
      tool(async (ctx) => {
        const content = await ctx.elicit("question", { message: "?", schema: { type: "object", properties: { n: { type: "number" } } } });
        expectTypeOf(content).toEqualTypeOf<{ [field: string]: string | number | boolean | string[] }>();
        return String(content["n"]);
      }),
      {},
      { answers: { question: { n: 5 } } },
    );
    expect(run.text).toBe("5");
  });

  test.each([
    [
      "a nested object",
      { schema: z.object({ address: z.object({ street: z.string() }) }) },
      "/address",
      /^the ask "question" is invalid: \/address is a nested object/,
    ],
    ["a secret", { schema: z.object({ password: z.string() }) }, "/password", /\/password /],
    ["what has no JSON Schema", { schema: z.object({ at: z.date() }) }, "", /^the ask "question" has no JSON Schema: /],
    ["a pattern that could block", { schema: z.object({ code: z.string().regex(/^(a+)+$/) }) }, "/code", /^the ask "question": \/code /],
    [
      "a default that its own schema refuses",
      { schema: COUNT, onTimeout: { default: { count: 0 } } },
      "/onTimeout/default/count",
      /^the ask "question" has a default that its own schema refuses: \/onTimeout\/default\/count Too small/,
    ],
    [
      "several people where only the caller is asked",
      { schema: COUNT, quorum: 2 },
      "/quorum",
      /^the ask is invalid: \/quorum needs several people, but only the caller is asked: say in `to` who may accept$/,
    ],
    [
      "no message",
      { message: undefined, schema: COUNT },
      "/message",
      /^the ask "question" is invalid: \/message must be the text that the/,
    ],
    ["no schema", {}, "/schema", /^the ask "question" is invalid: \/schema must be a schema, such as z.object\({ … }\)$/],
  ])("asks no question with %s", async (_what, ask, path, message) => {
    const run = await runTool(asking({ message: "?", ...ask } as FormAsk<Schema>));
    expect(run.asks).toEqual([]);
    expect(run.error).toMatchObject({
      message: expect.stringMatching(message),
      data: { code: "INVALID_ASK", violations: [{ path }] },
    });
  });

  const CALLED = "ctx.call calls a tool or the name of one, and was given";
  const SIGNAL = "signal must be an AbortSignal, such as controller.signal, and is";
  test.each<[string, (ctx: Context) => Promise<unknown>, string]>([
    [
      "an ask with its message only",
      (ctx) => ctx.elicit(...(["Who are you?"] as unknown as [string, never])),
      'the ask "Who are you?" has no options: call it with a name and { message, schema }',
    ],
    [
      "an ask without a name",
      (ctx) => ctx.ask(...([{ message: "?", schema: COUNT }] as unknown as [string, never])),
      "an ask has no options: call it with a name and { message, schema }",
    ],
    ["a step without work", (ctx) => ctx.step("load", undefined as never), 'the step "load" has no work: give a function after the name'],
    [
      "a form that is a page too",
      (ctx) => ctx.elicit("pay", { message: "?", schema: COUNT, url: "https://pay.example/" } as never),
      'the ask "pay" is invalid: /schema and url are two questions: a form takes content, and a page takes none. Give one of them',
    ],
    [
      "a request to the model without its options",
      (ctx) => ctx.sample("capital", undefined as never),
      'the ask "capital" has no request: call it with a name and { messages, maxTokens }',
    ],
    [
      "a branch without work",
      (ctx) => ctx.branch("ada", undefined as never),
      'the branch "ada" has no work: give an async function after the key',
    ],
    [
      "a secret without its options",
      (ctx) => ctx.secret("key", undefined as never),
      'the ask "key" has no options: call it with a name and { message }',
    ],
    [
      "a secret whose message stands alone",
      (ctx) => ctx.secret("key", "Your key?" as never),
      'the ask "key" has no options: call it with a name and { message }',
    ],
    ["a secret without a message", (ctx) => ctx.secret("key", {} as never), `the ask "key" is invalid: /message ${MESSAGE_WANTED}`],
    ["access without a message", (ctx) => ctx.oauth("key", {} as never), `the ask "key" is invalid: /message ${MESSAGE_WANTED}`],
    ["a file without its options", (ctx) => ctx.file("scan", undefined as never), `the ask "scan" is invalid: /message ${MESSAGE_WANTED}`],
    [
      "an event whose timeout stands alone",
      (ctx) => ctx.event("paid", "1 day" as never).received(),
      'the options of the event "paid" are a string: give an object, such as { schema, timeout: "1 day" }',
    ],
    [
      "an event whose schema is none",
      (ctx) => ctx.event("paid", { schema: 5 as never }).received(),
      'the ask "event:paid" is invalid: /schema must be a schema, such as z.object({ … })',
    ],
    ["a call of nothing", (ctx) => ctx.call(undefined as never, {} as never), `${CALLED} undefined: write ctx.call(bookHotel, { … })`],
    ["a call of a function", (ctx) => ctx.call((() => "") as never, {} as never), `${CALLED} a function: write ctx.call(bookHotel, { … })`],
    [
      "a question with a controller for its signal",
      (ctx) => ctx.elicit("size", { message: "?", schema: COUNT, signal: new AbortController() as never }),
      `${SIGNAL} an AbortController`,
    ],
    ["a sleep with a word for its signal", (ctx) => ctx.sleep("pause", "1 hour", { signal: "stop" as never }), `${SIGNAL} a string`],
    ["a sleep until then with none", (ctx) => ctx.sleepUntil("pause", 0, { signal: null as never }), `${SIGNAL} null`],
    [
      "a call with a controller for its signal",
      (ctx) => ctx.call("find", {}, { signal: new AbortController() as never }),
      `${SIGNAL} an AbortController`,
    ],
    [
      "a sleep without a duration",
      async (ctx) => ctx.sleep(...(["1 hour"] as unknown as [string, never])),
      'the sleep "1 hour" has no duration: give one after the name, such as "2 days"',
    ],
  ])("%s is refused, and the message says how it is called", async (_what, wrong, message) => {
    const run = await runTool(tool(async (ctx) => void (await wrong(ctx))));
    expect(run.error?.message ?? run.text).toBe(message);
  });

  test("asks no question that cannot be answered", async () => {
    const run = await runTool(asking({ message: "?", schema: COUNT, not: "caller" }));
    expect(run.error).toMatchObject({ message: "no one could answer: `not` excludes the caller, and `to` names no one else" });
  });

  test("throws a schema's own unexpected error", async () => {
    const { ctx } = over({});
    await expect(ctx.elicit("question", { message: "?", schema: { "~standard": undefined } as never })).rejects.toThrow(TypeError);
  });

  test("converts a constant schema once, in all runs", async () => {
    let converted = 0;
    const input = () => ({ type: "object", properties: { n: { type: "integer", minimum: (converted += 1) } } });
    const { "~standard": standard } = jsonSchema({ type: "object" });
    const constant: Schema<JsonObject> = { "~standard": { ...standard, jsonSchema: { input, output: input } } };
    const run = await runTool(asking({ message: "?", schema: constant }), {}, { answers: { question: { n: 1 } }, crashAt: "every" });
    expect([run.text, converted]).toStrictEqual(['{"n":1}', 1]);
  });

  test("sends the person to a page and waits for their consent", async () => {
    const connecting = tool(async (ctx) => {
      const nothing = await ctx.elicit("connect", { message: "Connect", url: new URL("https://accounts.example/go?state=1") });
      expectTypeOf(nothing).toEqualTypeOf<void>();
      return "connected";
    });
    const run = await runTool(connecting, {}, { answers: { connect: accept } });
    expect(run.asks).toMatchObject([{ request: { type: "url", url: "https://accounts.example/go?state=1" } }]);
    expect(run.text).toBe("connected");
    const written = tool((ctx) => ctx.elicit("connect", { message: "Connect", url: "HTTPS://Accounts.example:443" }));
    expect((await startTool(written)).asks).toMatchObject([{ request: { url: "https://accounts.example/" } }]);
  });

  describe("the audience", () => {
    const pay = (more: object) =>
      tool(async (ctx) => {
        const { count } = await ctx.elicit("pay", { message: "Pay?", schema: COUNT, ...more });
        return `paid ${count}`;
      });

    test("can be others, with `to`: the caller is refused, and a member is accepted", async () => {
      const run = await startTool(pay({ to: { groups: ["finance"] } }));
      expect(run.asks).toMatchObject([{ audience: { to: { groups: ["finance"] } } }]);
      await expect(run.answer({ pay: { count: 1 } }, { principal: "tester" })).rejects.toThrow(
        '"pay" is for other people: {"to":{"groups":["finance"]}}',
      );
      await expect(run.answer({ pay: { count: 1 } }, { groups: ["sales"] })).rejects.toThrow("is for other people");
      await run.answer({ pay: { count: 1 } }, { groups: ["sales", "finance"] });
      expect(run.text).toBe("paid 1");
    });

    test("excludes the caller with `not`, even if `to` includes them", async () => {
      const run = await startTool(pay({ to: "tenant", not: "caller" }));
      await expect(run.answer({ pay: { count: 1 } }, { principal: "tester" })).rejects.toThrow("is for other people");
      await run.answer({ pay: { count: 2 } }, { principal: "bob" });
      expect(run.text).toBe("paid 2");
    });

    test("is the caller by default, and the test kit picks a member unless the test names one", async () => {
      expect((await runTool(pay({ to: "caller" }), {}, { answers: { pay: { count: 3 } } })).text).toBe("paid 3");
      expect((await runTool(pay({ to: { people: ["ada"] } }), {}, { answers: { pay: { count: 4 } } })).text).toBe("paid 4");
    });

    test("must not be empty", async () => {
      for (const nobody of [{ not: "caller" }, { to: {} }, { to: { group: ["finance"] } }, { to: "caller", not: "caller" }])
        expect((await runTool(pay(nobody))).error).toMatchObject({ data: { code: "INVALID_ASK" } });
    });
  });

  test("allows the deployment's schemes and secret names", async () => {
    const local = tool((ctx) => ctx.elicit("open", { message: "Open", url: "vscode://file/x" }));
    expect((await runTool(local)).error).toMatchObject({ data: { code: "INVALID_ASK" } });
    expect((await runTool(local, {}, { askUrlSchemes: ["vscode"], answers: { open: accept } })).result).toBeDefined();
    const swap = tool(async (ctx) => void (await ctx.elicit("swap", { message: "Swap", schema: z.object({ token: z.string() }) })));
    expect((await runTool(swap)).error).toMatchObject({ data: { code: "INVALID_ASK", violations: [{ path: "/token" }] } });
    expect((await runTool(swap, {}, { secretNames: ["-token"], answers: { swap: { token: "ETH" } } })).result).toBeDefined();
  });

  test.each(["/relative", "https://user:word@accounts.example/", "javascript:alert(1)"])(
    "puts no question with the url %s",
    async (url) => {
      const run = await runTool(tool((ctx) => ctx.elicit("connect", { message: "Connect", url })));
      expect(run.error).toMatchObject({ data: { code: "INVALID_ASK", violations: [{ path: "/url" }] } });
    },
  );
});

test("a mistake in a question is reported where it is", () => {
  const types = async (ctx: Context) => {
    await ctx.elicit("q", {
      message: "?",
      schema: COUNT,
      // @ts-expect-error Did you mean to write 'timeout'?
      timout: "1 minute",
    });
    await ctx.ask("q", {
      message: "?",
      schema: COUNT,
      // @ts-expect-error 'total' does not exist in type '{ count: number }'
      onTimeout: { default: { total: 1 } },
    });
    await ctx.elicit("q", {
      message: "?",
      schema: COUNT,
      // @ts-expect-error a question is a form or a page
      url: "https://x.example",
    });
    // @ts-expect-error a question has a schema or a url
    await ctx.elicit("q", { message: "?" });
    // @ts-expect-error a default would count people who have not accepted
    await ctx.elicit("q", { message: "?", schema: COUNT, quorum: 2, onTimeout: { default: { count: 1 } } });
    expectTypeOf(await ctx.ask("q", { message: "?", url: "https://x.example" })).toEqualTypeOf<AskResult<undefined>>();
    expectTypeOf(await ctx.file("q", { message: "?" })).toEqualTypeOf<FileRef>();
    expectTypeOf(await ctx.file("q", { message: "?", count: 2 })).toEqualTypeOf<readonly FileRef[]>();
  };
  expectTypeOf(types).toBeFunction();
});

describe("ask", () => {
  test("returns the outcome of the question, typed", async () => {
    const all = tool(async (ctx) => {
      const words: string[] = [];
      for (const name of ["a", "b", "c", "d"]) {
        const result = await ctx.ask(name, { message: "?", schema: COUNT, timeout: "1 minute" });
        if (result.action === "accept") expectTypeOf(result.content).toEqualTypeOf<{ count: number }>();
        words.push(result.action === "accept" ? String(result.content.count) : result.action);
      }
      return words.join();
    });
    expect((await runTool(all, {}, { answers: { a: { count: 2 }, b: decline, c: cancel, d: timeout } })).text).toBe(
      "2,decline,cancel,timeout",
    );
  });

  test("makes questions that are asked together wait together", async () => {
    const both = tool(async (ctx) => {
      const answers = await Promise.all(["left", "right"].map((name) => ctx.elicit(name, { message: name, schema: COUNT })));
      return answers.map(({ count }) => count).join();
    });
    const running = await startTool(both);
    expect(running.task.asks.map(({ key }) => key)).toEqual(["left", "right"]);
    await running.answer({ right: { count: 2 } });
    expect(running.task.asks.map(({ key }) => key)).toEqual(["left"]);
    await running.answer({ left: { count: 1 } });
    expect(running.text).toBe("1,2");
  });
});

describe("step", () => {
  test("runs once, and has its own idempotency key", async () => {
    const keys: string[] = [];
    const stepping = tool(async (ctx) => {
      const first = await ctx.step("charge", ({ idempotencyKey }) => keys.push(idempotencyKey));
      await ctx.elicit("question", { message: "?", schema: COUNT });
      const second = await ctx.step("charge", ({ idempotencyKey }) => keys.push(idempotencyKey));
      return `${first} ${second}`;
    });
    const run = await runTool(stepping, {}, { answers: { question: { count: 1 } }, crashAt: "every" });
    expect(run.text).toBe("1 2");
    expect(new Set(keys).size).toBe(2);
    expect(keys).toHaveLength(2);
    expect(run.journal).toEqual(["step:charge", "ask:question", "step:charge#2"]);
  });

  test("returns its result after a JSON round trip, in the first run too, and its type says so", async () => {
    const dated = tool(async (ctx) => {
      const order = await ctx.step("order", () => ({ at: new Date(0), lines: [{ n: 1, f: undefined as string | undefined }] }));
      expectTypeOf(order).toEqualTypeOf<{ at: string; lines: { n: number; f: string | undefined }[] }>();
      return JSON.stringify(order);
    });
    expect((await runTool(dated)).text).toBe('{"at":"1970-01-01T00:00:00.000Z","lines":[{"n":1}]}');
  });

  test("may return the query of a database library, which is a thenable and no promise", async () => {
    interface Query<T> extends PromiseLike<T> {
      limit(count: number): Query<T>;
    }
    const rows = Promise.resolve([{ id: 7 }]);
    // oxlint-disable-next-line unicorn/no-thenable -- query builders are such objects
    const query: Query<{ id: number }[]> = { limit: () => query, then: rows.then.bind(rows) as typeof rows.then };
    const querying = tool(async (ctx) => {
      const found = await ctx.step("find", () => query.limit(1));
      expectTypeOf(found).toEqualTypeOf<{ id: number }[]>();
      return JSON.stringify(found);
    });
    expect((await runTool(querying)).text).toBe('[{"id":7}]');
  });

  test("is attempted as often as configured, then throws StepFailed", async () => {
    const tries: number[] = [];
    const failing = tool(async (ctx) => {
      try {
        await ctx.step(
          "charge",
          ({ attempt }) => {
            tries.push(attempt);
            throw new Error("card refused");
          },
          { attempts: 3, backoff: "1 hour" },
        );
      } catch (error) {
        if (error instanceof StepFailed) return `${error.step}: ${error.message}`;
      }
      return "charged";
    });
    expect((await runTool(failing)).text).toBe("charge: card refused");
    expect(tries).toEqual([1, 2, 3]);
  });

  test.each([0, -1, Number.NaN, "three", null])("is not tried with attempts %j, which says nothing about how often", async (attempts) => {
    const tries: number[] = [];
    const step = (ctx: Context) => ctx.step("charge", ({ attempt }) => tries.push(attempt), { attempts: attempts as number });
    const run = await runTool(tool(async (ctx) => `${await step(ctx)}`));
    expect(run.text).toBe(`the step "charge" has attempts ${JSON.stringify(attempts)}, and needs a number from 1: it was not tried`);
    expect(tries).toEqual([]);
  });

  test("that is recorded does not need its attempts", async () => {
    const before = tool(
      async (ctx) => `${await ctx.step("charge", () => 7)} ${(await ctx.elicit("size", { message: "?", schema: COUNT })).count}`,
    );
    const running = await startTool(before);
    running.redeploy(
      tool(
        async (ctx) =>
          `${await ctx.step("charge", () => 8, { attempts: 0 })} ${(await ctx.elicit("size", { message: "?", schema: COUNT })).count}`,
      ),
    );
    await running.answer({ size: { count: 2 } });
    expect(running.text).toBe("7 2");
  });

  test("may be tried without end", async () => {
    let tries = 0;
    const work = () => {
      tries += 1;
      if (tries < 5) throw new Error("not yet");
      return tries;
    };
    const run = await runTool(tool(async (ctx) => `${await ctx.step("poll", work, { attempts: Infinity })}`));
    expect(run.text).toBe("5");
  });

  test("stops an attempt that takes too long", async () => {
    const hanging = tool(async (ctx) => {
      await ctx.step("charge", () => new Promise(() => undefined), { timeout: 5 });
      return "charged";
    });
    expect((await runTool(hanging)).text).toMatch(/took longer than 5 ms/);
  });

  test("must return plain data", async () => {
    const run = await runTool(
      tool(async (ctx) => {
        await ctx.step("load", () => ({ rows: new Map() }));
        return "loaded";
      }),
    );
    expect(run.text).toBe('the result of step "load" is not plain data: /rows is a Map');
    expect(run.result).toMatchObject({ isError: true });
  });

  test("may throw a ToolError, which is the tool's answer to the model", async () => {
    const run = await runTool(
      tool(async (ctx) => {
        await ctx.step("book", () => {
          throw new ToolError("no table left");
        });
        return "booked";
      }),
    );
    expect(run.result).toEqual({ content: [{ type: "text", text: "no table left" }], isError: true });
  });
});

describe("time, random values and reports", () => {
  test("sleeping costs a test no time and moves the clock", async () => {
    const sleeping = tool(async (ctx) => {
      const before = ctx.now();
      await ctx.sleep("night", "8 hours");
      return `${ctx.now().getTime() - before.getTime()}`;
    });
    expect((await runTool(sleeping)).text).toBe("28800000");
    const running = await startTool(sleeping);
    await running.advance("7 hours");
    expect(running.task.status).toBe("working");
    await running.advance("1 hour");
    expect(running.task.status).toBe("completed");
  });

  test("time, random values and ids are the same on every replay", async () => {
    const drawn: string[] = [];
    const drawing = tool(async (ctx) => {
      const chance = ctx.random();
      drawn.push(JSON.stringify([ctx.now(), chance, ctx.uuid(), ctx.uuid()]));
      await ctx.sleep("pause", "1 day");
      return String(chance >= 0 && chance < 1);
    });
    expect((await runTool(drawing)).text).toBe("true");
    expect(drawn).toHaveLength(2);
    expect(drawn[0]).toBe(drawn[1]);
  });

  test("progress, logs, status and text for the model are reported once", async () => {
    const reporting = tool(async (ctx) => {
      ctx.status("working on it");
      ctx.immediateResponse("I have asked the user.");
      ctx.progress(1, 2, "half");
      ctx.log("plain");
      ctx.log("warning", { left: 3 }, "stock");
      ctx.releaseCall();
      await ctx.elicit("question", { message: "?", schema: COUNT });
      ctx.progress(2, 2);
      return "done";
    });
    const running = await startTool(reporting);
    expect(running.task).toMatchObject({ message: "working on it", immediateResponse: "I have asked the user." });
    await running.answer({ question: { count: 1 } });
    expect(running.feed).toEqual([
      { type: "progress", progress: 1, total: 2, message: "half" },
      { type: "log", level: "info", data: "plain" },
      { type: "log", level: "warning", data: { left: 3 }, logger: "stock" },
      { type: "release" },
      { type: "progress", progress: 2, total: 2 },
    ]);
  });

  test("a tool knows the caller, the capabilities, and when it was cancelled", async () => {
    let signal: AbortSignal | undefined;
    const knowing = tool(async (ctx) => {
      signal = ctx.signal;
      expect(ctx.idempotencyKey).toBe(ctx.taskId);
      await ctx.sleep("pause", "1 hour");
      return `${ctx.principal} ${JSON.stringify(ctx.capabilities)}`;
    });
    const running = await startTool(knowing, {}, { principal: "ada", capabilities: { roots: true } });
    await running.cancel();
    expect(running.task.status).toBe("cancelled");
    expect(signal).toBeInstanceOf(AbortSignal);
    expect((await runTool(knowing, {}, { principal: "ada", capabilities: { roots: true } })).text).toBe('ada {"roots":true}');
  });

  const ANNOUNCED = 'ctx.announce takes { type: "tools" }, { type: "prompts" }, { type: "resources" } or { type: "resource", uri }';
  test.each<[string, (ctx: Context) => void, string]>([
    ["a status that is a list", (ctx) => ctx.status(["a", "b"] as never), "the message of ctx.status must be a string, and is a list"],
    [
      "a message of progress that is a number",
      (ctx) => ctx.progress(1, 2, 3 as never),
      "the message of ctx.progress must be a string, and is a number",
    ],
    [
      "a text for the model that is an object",
      (ctx) => ctx.immediateResponse({} as never),
      "the text of ctx.immediateResponse must be a string, and is an object",
    ],
    [
      "a log of a level that MCP does not have",
      (ctx) => ctx.log("warn" as never, "low on stock"),
      "the level of ctx.log must be one of debug, info, notice, warning, error, critical, alert, emergency",
    ],
    [
      "a logger that is an object",
      (ctx) => ctx.log("info", "low on stock", { fruit: "pear" } as never),
      "the logger of ctx.log must be a string, and is an object",
    ],
    ["progress that is not a number", (ctx) => ctx.progress(0 / 0), "the progress of ctx.progress must be a number, and is NaN"],
    ["progress that is a string", (ctx) => ctx.progress("50%" as never), "the progress of ctx.progress must be a number, and is a string"],
    ["a total without end", (ctx) => ctx.progress(1, Infinity), "the total of ctx.progress must be a number, and is Infinity"],
    ["an announcement of nothing", (ctx) => ctx.announce(undefined as never), ANNOUNCED],
    ["an announcement of a word", (ctx) => ctx.announce("tools" as never), ANNOUNCED],
    ["an announcement of an unknown list", (ctx) => ctx.announce({ type: "tool" } as never), ANNOUNCED],
    ["an announcement of a resource without its uri", (ctx) => ctx.announce({ type: "resource" } as never), ANNOUNCED],
  ])("%s is refused where it is reported", async (_what, report, message) => {
    const { text, error } = await runTool(tool(async (ctx) => report(ctx)));
    expect(error?.message ?? text).toContain(message);
  });
});

describe("core", () => {
  const form = { message: "?", schema: COUNT };
  const page = { message: "?", url: "https://pay.example/" };

  test("receives a step's options", async () => {
    const options: unknown[] = [];
    const { ctx } = over({ step: async (_name, _work, given) => void options.push(given) });
    await ctx.step("plain", () => 1);
    await ctx.step("patient", () => 1, { attempts: 3, backoff: "2s", timeout: "1 minute" });
    await ctx.step("waiting", () => 1, { backoff: 0 });
    expect(options).toStrictEqual([{}, { attempts: 3, backoffMs: 2_000, timeoutMs: 60_000 }, { backoffMs: 0 }]);
  });

  test("receives announcements as they are, and log data must be plain", () => {
    const told: unknown[] = [];
    const { ctx } = over({ announce: (announcement) => void told.push(announcement), report: (item) => void told.push(item) });
    ctx.announce({ type: "tools" } as never);
    ctx.log("debug", { n: 1 });
    expect(told).toStrictEqual([{ type: "tools" }, { type: "log", level: "debug", data: { n: 1 } }]);
    expect(() => ctx.log("info", { at: new Map() })).toThrow("log data is not plain data: /at is a Map");
    expect(() => ctx.emit("toast", { at: new Map() })).toThrow("the emitted toast is not plain data: /at is a Map");
  });

  test("receives asks with their options", async () => {
    const { ctx, asked } = over({ ask: async () => ({ action: "cancel" }) });
    const hints = { color: "red" };
    await ctx.ask("form", { ...form, hints, timeout: "1 minute", onTimeout: "decline", to: "tenant", not: "caller" });
    await ctx.ask("plain", { ...form, quorum: 1 } as never);
    await ctx.ask("page", { ...page, hints, completedBy: "event", to: { people: ["ada"] } });
    await ctx.ask("visit", { ...page, hints, returnTo: "back" });
    const schema = { type: "object", properties: { count: { type: "integer", minimum: 1, maximum: 20 } }, required: ["count"] };
    expect(asked).toStrictEqual([
      [
        "form",
        { type: "form", message: "?", schema, hints },
        { timeoutMs: 60_000, onTimeout: "decline", audience: { to: "tenant", not: "caller" } },
      ],
      ["plain", { type: "form", message: "?", schema }, {}],
      ["page", { type: "url", message: "?", url: page.url, hints, completedBy: "event" }, { audience: { to: { people: ["ada"] } } }],
      ["visit", { type: "url", message: "?", url: "", page: { kind: "visit", url: page.url, returnTo: "back" }, hints }, {}],
    ]);
  });

  test.each<[string, Settled, object, object]>([
    ["a page that was agreed to", { action: "accept" }, page, { action: "accept", content: undefined }],
    [
      "a page that was come back from",
      { action: "accept", content: { query: { a: "1" } } },
      { ...page, returnTo: "back" },
      { action: "accept", content: { a: "1" } },
    ],
    [
      "a page that was come back from with nothing",
      { action: "accept", content: {} },
      { ...page, returnTo: "back" },
      { action: "accept", content: {} },
    ],
    ["a page that was not gone to", { action: "decline" }, { ...page, returnTo: "back" }, { action: "decline" }],
    ["a form that was declined", { action: "decline" }, form, { action: "decline" }],
    ["a form that was not answered", { action: "timeout" }, form, { action: "timeout" }],
    ["a form without a quorum", { action: "timeout", accepted: [] } as never, form, { action: "timeout" }],
    [
      "a form that too few accepted",
      { action: "timeout", accepted: [] } as never,
      { ...form, to: "tenant", quorum: 2 },
      { action: "timeout", accepted: 0, quorum: 2 },
    ],
    [
      "a form that one declined, of several",
      { action: "decline", accepted: [] } as never,
      { ...form, to: "tenant", quorum: 2 },
      { action: "decline" },
    ],
  ])("an ask returns the outcome %s", async (_what, settled, ask, result) => {
    const { ctx } = over({ ask: async () => settled });
    expect(await ctx.ask("question", ask as never)).toStrictEqual(result);
  });

  test("an answer of the wrong kind is a defect", async () => {
    const reply = over({ ask: async () => ({ action: "reply", result: {} }) }).ctx;
    await expect(reply.ask("question", form)).rejects.toThrow(new Error("an ask was answered by reply"));
    const accepting = over({ ask: async () => ({ action: "accept", content: {} }) }).ctx;
    await expect(accepting.roots()).rejects.toThrow(new Error("an ask was answered by accept"));
    const empty = over({ ask: async () => ({ action: "reply", result: {} }) }).ctx;
    expect(await empty.roots()).toStrictEqual([]);
  });
});

describe("questions to the client", () => {
  test("are answered by its model and its roots", async () => {
    const asking = tool(async (ctx) => {
      const [reply, roots] = await Promise.all([
        ctx.sample("capital", { messages: [{ role: "user", content: { type: "text", text: "Capital of France?" } }], maxTokens: 10 }),
        ctx.roots(),
      ]);
      return `${reply.content.type === "text" ? reply.content.text : ""} ${roots.map(({ uri }) => uri).join()}`;
    });
    const run = await runTool(asking, {}, { answers: { capital: "Paris", roots: ["file:///home"] } });
    expect(run.text).toBe("Paris file:///home");
  });

  const said = { role: "user", content: { type: "text", text: "?" } };
  test.each<[unknown, string, string]>([
    [{}, "/messages", "must be a list of { role, content }, and is undefined"],
    [{ messages: "Capital of France?", maxTokens: 10 }, "/messages", "must be a list of { role, content }, and is a string"],
    [{ messages: ["Capital of France?"], maxTokens: 10 }, "/messages/0", "must be { role, content }, and is a string"],
    [{ messages: [said, { ...said, role: "system" }], maxTokens: 10 }, "/messages/1/role", 'must be "user" or "assistant"'],
    [
      { messages: [{ role: "user", content: "?" }], maxTokens: 10 },
      "/messages/0/content",
      'must be a block such as { type: "text", text }, and is a string',
    ],
    [
      { messages: [{ role: "user", content: { type: "text" } }], maxTokens: 10 },
      "/messages/0/content",
      "is no block that a client can read: /text must be a string, and is undefined",
    ],
    [{ messages: [said] }, "/maxTokens", "must be a whole number, and is undefined"],
    [{ messages: [said], maxTokens: "10" }, "/maxTokens", "must be a whole number, and is a string"],
    [{ messages: [said], maxTokens: 10, systemPrompt: said }, "/systemPrompt", "must be a string, and is an object"],
  ])("are not asked if no client could read them: %j", async (request, path, message) => {
    const run = await runTool(tool(async (ctx) => void (await ctx.sample("capital", request as never))));
    expect(run.error).toMatchObject({
      message: `the ask "capital" is invalid: ${path} ${message}`,
      data: { code: "INVALID_ASK", violations: [{ path, message }] },
    });
  });

  test("may have several blocks, and those of tools", async () => {
    const content = [{ type: "tool_use", id: "1", name: "find", input: {} }, said.content];
    const params = { messages: [{ role: "assistant", content }], maxTokens: 10, tools: [] };
    const { ctx, asked } = over({ ask: async () => ({ action: "reply", result: {} }) });
    await ctx.sample("capital", params as never);
    expect(asked).toStrictEqual([["capital", { type: "sampling", params }, {}]]);
  });

  test("throw Declined and Cancelled as well", async () => {
    const both = tool(async (ctx) => {
      const names: string[] = [];
      await ctx.sample("model", { messages: [], maxTokens: 1 }).catch((error: Error) => names.push(error.name));
      await ctx.roots("folders").catch((error: Error) => names.push(error.name));
      return names.join();
    });
    expect((await runTool(both, {}, { answers: { model: decline, folders: cancel } })).text).toBe("Declined,Cancelled");
    expect((await runTool(both, {}, { answers: { model: cancel, folders: decline } })).text).toBe("Cancelled,Declined");
  });

  test("throw TimedOut as well", async () => {
    const asking = tool(async (ctx) => {
      try {
        await ctx.roots("roots", { timeout: "1 minute" });
      } catch (error) {
        return String(error instanceof TimedOut && !(error instanceof Declined));
      }
      return "answered";
    });
    expect((await runTool(asking, {}, { answers: { roots: timeout } })).text).toBe("true");
  });
});

describe("a client that cannot be asked", () => {
  const every = {
    form: (ctx: Context) => ctx.elicit("question", { message: "How many?", schema: COUNT }),
    ask: (ctx: Context) => ctx.ask("question", { message: "How many?", schema: COUNT }),
    url: (ctx: Context) => ctx.elicit("question", { message: "Pay here", url: "https://example.com/pay" }),
    sampling: (ctx: Context) => ctx.sample("question", { messages: [], maxTokens: 1 }),
    tools: (ctx: Context) => ctx.sample("question", { messages: [], maxTokens: 1, tools: [] } as never),
    roots: (ctx: Context) => ctx.roots("question"),
  };
  const required = {
    form: { elicitation: { form: {} } },
    ask: { elicitation: { form: {} } },
    url: { elicitation: { url: {} } },
    sampling: { sampling: {} },
    tools: { sampling: { tools: {} } },
    roots: { roots: {} },
  };

  test.each(Object.keys(every) as (keyof typeof every)[])(
    "%s throws the missing capability, and the model reads what to do",
    async (kind) => {
      let thrown: unknown;
      const run = await runTool(
        tool(async (ctx) => {
          await every[kind](ctx).catch((error: unknown) => {
            thrown = error;
            throw error;
          });
        }),
        {},
        { answers: { question: unavailable } },
      );
      expect(thrown).toMatchObject({ name: "ParleyError", code: "CAPABILITY_REQUIRED", data: { requiredCapabilities: required[kind] } });
      expect(run.task.status).toBe("completed");
      expect(run.result).toMatchObject({ isError: true });
      const capability = { form: "elicitation", ask: "elicitation", url: "elicitation.url", tools: "sampling.tools" } as Record<
        string,
        string
      >;
      expect(run.text).toContain(`"question"`);
      expect(run.text).toContain(`a client that declares the capability ${capability[kind] ?? kind} and`);
    },
  );

  test("lets a tool take another way", async () => {
    const polite = tool((ctx) =>
      ctx.elicit("question", { message: "How many?", schema: COUNT }).then(
        ({ count }) => `for ${count}`,
        (error: unknown) => {
          if (error instanceof ParleyError && error.code === "CAPABILITY_REQUIRED") return "call us";
          throw error;
        },
      ),
    );
    expect((await runTool(polite, {}, { answers: { question: unavailable } })).text).toBe("call us");
    expect((await runTool(polite, {}, { answers: { question: { count: 2 } } })).text).toBe("for 2");
  });

  test("gets the timeout default if the deployment says so, and only then", async () => {
    const withDefault = asking({ message: "How many?", schema: COUNT, onTimeout: { default: { count: 7 } } });
    const script = { answers: { question: unavailable } } as const;
    expect((await runTool(withDefault, {}, { ...script, withoutCapability: "default" })).text).toBe('{"count":7}');
    expect((await runTool(withDefault, {}, script)).result).toMatchObject({ isError: true });
    const without = asking({ message: "How many?", schema: COUNT });
    expect((await runTool(without, {}, { ...script, withoutCapability: "default" })).result).toMatchObject({ isError: true });
  });
});
