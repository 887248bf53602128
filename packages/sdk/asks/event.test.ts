/** `ctx.event`: what another system reports counts once, wherever the worker dies. */
import { type Answer, eventKey, type JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Context } from "../context/context.ts";
import { dryRun } from "../context/dry-run.ts";
import { createEvent, receivedUnless } from "./event.ts";
import { jsonSchema, type Schema } from "../schemas/schema.ts";
import { accept, decline, runTool, startTool, timeout } from "../testing/testing.ts";
import { defineTool } from "../define/tool.ts";

const unread = () => ({ kept: undefined, keep: () => undefined });
const PAID = z.object({ amount: z.number().positive() });

function tool(run: (ctx: Context) => Promise<string>) {
  return defineTool({ name: "tool", run: (_args, ctx) => run(ctx) });
}

/** The address that the other system received. */
function checkout(log: string[] = []) {
  return tool(async (ctx) => {
    const paid = ctx.event("paid", { schema: PAID, timeout: "1 day" });
    await ctx.step("checkout", () => void log.push(paid.url));
    const { amount } = await paid.received();
    await ctx.step("ship", () => void log.push(`shipped for ${amount}`));
    return `paid ${amount}`;
  });
}

describe("an event", () => {
  test("is awaited without a question, and its body is returned as its schema's output", async () => {
    const log: string[] = [];
    const run = await startTool(checkout(log));
    expect(run.task).toMatchObject({ status: "working", asks: [] });
    expect(run.asks).toEqual([]);
    expect(log).toEqual([expect.stringMatching(/^https:\/\/parley\.test\/events\/0-test-\d+\.[\w-]+\.[\w-]+$/)]);

    expect(await run.tell("paid", { amount: 12 })).toBe("accepted");
    expect(run.text).toBe("paid 12");
    expect(log[1]).toBe("shipped for 12");
    expect(run.journal).toEqual(["step:checkout", "ask:event:paid", "step:ship"]);
  });

  test("is accepted once: the same body again is a duplicate, a different one is late, even after the end", async () => {
    const run = await startTool(
      tool(async (ctx) => {
        const paid = ctx.event("paid", { schema: PAID });
        await paid.received();
        await ctx.confirm("more", { message: "More?" });
        return "done";
      }),
    );
    await run.tell("paid", { amount: 1 });
    expect(await run.tell("paid", { amount: 1 })).toBe("duplicate");
    await expect(run.tell("paid", { amount: 2 })).rejects.toMatchObject({ code: "EVENT_LATE" });
    await run.answer({ more: true });
    expect(await run.tell("paid", { amount: 1 })).toBe("duplicate");
    await expect(run.tell("paid", { amount: 2 })).rejects.toMatchObject({ code: "EVENT_LATE" });
  });

  test("that is invalid is refused with the field, and stays open", async () => {
    const run = await startTool(checkout());
    await expect(run.tell("paid", { amount: "12" })).rejects.toMatchObject({
      code: "INVALID_EVENT",
      violations: [{ path: "/amount", message: "must be a number" }],
    });
    await expect(run.tell("paid", null)).rejects.toMatchObject({ code: "INVALID_EVENT" });
    await expect(run.tell("paid", { amount: 1, note: "x".repeat(262_144) })).rejects.toMatchObject({ code: "TOO_LARGE" });
    await run.tell("paid", { amount: 12 });
    expect(run.text).toBe("paid 12");
  });

  test("that was never waited for is not found", async () => {
    const run = await startTool(checkout());
    await expect(run.tell("refunded", { amount: 1 })).rejects.toMatchObject({ code: "EVENT_NOT_FOUND" });
  });

  test("has the same result wherever the worker dies, and nothing is repeated", async () => {
    const expected: string[] = [];
    const { text, journal } = await runTool(checkout(expected), {}, { events: { paid: { amount: 12 } } });
    for (let after = 1; after <= journal.length; after += 1) {
      const log: string[] = [];
      const run = await runTool(checkout(log), {}, { events: { paid: { amount: 12 } }, crashAt: after });
      expect([after, run.text, run.journal, log.filter((line) => line.startsWith("shipped"))]).toEqual([
        after,
        text,
        journal,
        ["shipped for 12"],
      ]);
    }
  });

  test("that is not reported in time throws TimedOut, or takes the tool's default", async () => {
    expect((await runTool(checkout(), {}, { events: { paid: timeout } })).text).toBe(
      'The event "paid" was not reported in time. The tool stopped there.',
    );
    const withDefault = tool(async (ctx) => {
      const paid = ctx.event("paid", { schema: PAID, timeout: "1 hour", onTimeout: { default: { amount: 7 } } });
      return String((await paid.received()).amount);
    });
    expect((await runTool(withDefault, {}, { events: { paid: timeout } })).text).toBe("7");
    const failing = tool(async (ctx) => JSON.stringify(await ctx.event("paid", { timeout: "1 hour", onTimeout: "fail" }).received()));
    expect((await runTool(failing, {}, { events: { paid: timeout } })).error).toMatchObject({ data: { code: "ASK_TIMEOUT" } });
  });

  test.each(["default", null, {}, 5])("whose onTimeout is %j is refused, because nothing would come of it", async (onTimeout) => {
    const odd = tool(async (ctx) => JSON.stringify(await ctx.event("paid", { onTimeout: onTimeout as never }).received()));
    const message = 'must be "throw", "fail" or { default: { … } }';
    expect((await runTool(odd)).error?.data).toMatchObject({ code: "INVALID_ASK", violations: [{ path: "/onTimeout", message }] });
  });

  test("that is withdrawn is late", async () => {
    const run = await startTool(
      tool(async (ctx) => {
        const given = new AbortController();
        const paid = ctx.event("paid", { signal: given.signal });
        const first = await Promise.race([paid.received(), ctx.confirm("wait", { message: "Wait?" })]);
        if (first !== false) return "waited";
        given.abort();
        await ctx.confirm("sure", { message: "Sure?" });
        return "given up";
      }),
    );
    await run.answer({ wait: false });
    await expect(run.tell("paid", {})).rejects.toMatchObject({ code: "EVENT_LATE" });
    await run.answer({ sure: true });
    expect(run.text).toBe("given up");
  });

  test("and a question can race: the first one wins, in every run", async () => {
    const racing = tool(async (ctx) => {
      const paid = ctx.event("paid", { schema: PAID });
      const winner = await Promise.race([
        paid.received().then(({ amount }) => `paid ${amount}`),
        ctx.confirm("stop", { message: "Stop?" }).then((stop) => `stop ${stop}`),
      ]);
      await ctx.step("note", () => winner);
      await ctx.confirm("end", { message: "End?" });
      return winner;
    });
    const run = await startTool(racing, {}, { crashAt: "every" });
    await run.tell("paid", { amount: 5 });
    await run.answer({ stop: true });
    await run.answer({ end: true });
    expect(run.text).toBe("paid 5");
  });

  test("has a token of its own for each occurrence, branch and restart", async () => {
    const tokens: string[] = [];
    const many = tool(async (ctx) => {
      const events = [ctx.event("paid"), ctx.event("paid"), await ctx.branch("ann", async () => ctx.event("paid"))];
      await ctx.step("hand-out", () => void tokens.push(...events.map(({ token }) => token)));
      return JSON.stringify(await Promise.all(events.map((event) => event.received())));
    });
    const run = await runTool(many, {}, { events: { paid: 1, "paid#2": 2, "ann/paid": 3 } });
    expect(run.text).toBe("[1,2,3]");
    expect(new Set(tokens).size).toBe(3);
  });

  test("that violates the author's schema but not its JSON Schema throws INVALID_EVENT in the run", async () => {
    const even = z.object({ amount: z.number().refine((amount) => amount % 2 === 0, "must be even") });
    const run = await startTool(tool(async (ctx) => String((await ctx.event("paid", { schema: even }).received()).amount)));
    await run.tell("paid", { amount: 3 });
    expect(run.error).toMatchObject({
      message: 'the body of the event "paid" is invalid: /amount must be even',
      data: { code: "INVALID_EVENT", violations: [{ path: "/amount", message: "must be even" }] },
    });
  });

  test("cannot be answered by a client, with or without early replies", async () => {
    const early = defineTool({
      name: "early",
      earlyReplies: true,
      run: async (_args, ctx) => String((await ctx.event("paid", { schema: PAID }).received()).amount),
    });
    const run = await startTool(early, {}, { early: { [eventKey("paid")]: { body: { amount: 1_000 } } } });
    expect(run.task.status).toBe("working");
    await expect(run.answer({ [eventKey("paid")]: { body: { amount: 1_000 } } })).rejects.toThrow(/is not asked/);
    await run.tell("paid", { amount: 1 });
    expect(run.text).toBe("1");
  });

  const broken = "this is not a valid JSON Schema: ";

  test.each<[string, object, string, object]>([
    ["no JSON Schema", { type: "nothing" }, broken, { path: "", message: expect.stringContaining(broken) }],
    [
      "a pattern that could block",
      z.object({ code: z.string().regex(/^(a+)+$/) }),
      'the event "paid": /code ',
      { path: "/code", message: expect.stringContaining("pattern") },
    ],
  ])("with a schema that cannot be checked is INVALID_ASK: %s", async (_what, schema, message, violation) => {
    const run = await runTool(tool(async (ctx) => JSON.stringify(await ctx.event("paid", { schema: schema as JsonObject }).received())));
    expect(run.error).toMatchObject({ message: expect.stringContaining(message), data: { code: "INVALID_ASK", violations: [violation] } });
  });

  test("with a schema that throws otherwise throws that error", async () => {
    let thrown: unknown;
    await runTool(
      tool(async (ctx) => {
        try {
          ctx.event("paid", { schema: { "~standard": undefined } as never });
        } catch (error) {
          thrown = error;
        }
        return "";
      }),
    );
    expect(thrown).toBeInstanceOf(TypeError);
  });

  test("with a constant schema has it converted once, in all runs", async () => {
    let converted = 0;
    const { "~standard": standard } = jsonSchema({ type: "object" });
    const input = () => ({ type: "object", round: (converted += 1) });
    const constant: Schema<JsonObject> = { "~standard": { ...standard, jsonSchema: { input, output: input } } };
    const waiting = tool(async (ctx) => {
      const both = [ctx.event("paid", { schema: constant }), ctx.event("shipped", { schema: constant })];
      return JSON.stringify(await Promise.all(both.map((event) => event.received())));
    });
    const run = await runTool(waiting, {}, { events: { paid: { n: 1 }, shipped: { n: 2 } }, crashAt: "every" });
    expect([run.text, converted]).toStrictEqual(['[{"n":1},{"n":2}]', 1]);
  });

  test("that is withdrawn throws Withdrawn, whenever its signal is aborted", async () => {
    const giving = tool(async (ctx) => {
      const stop = new AbortController();
      const late = ctx.event("late", { signal: stop.signal }).received();
      const early = ctx.event("early", { signal: AbortSignal.abort() }).received();
      const both = [early, late].map((given) => given.then(String, String));
      await ctx.sleep("nap", "1 minute");
      stop.abort();
      return (await Promise.all(both)).join("\n");
    });
    const [early, late] = ["early", "late"].map((name) => `Withdrawn: The tool gave up waiting for "${name}".`);
    expect((await runTool(giving)).text).toBe(`${early}\n${late}`);
  });

  test("is passed to the engine with its schema and options", () => {
    const asked: unknown[] = [];
    const event = createEvent({
      mustBeAwaited: (promise) => promise,
      event(...given) {
        asked.push(given);
        return { token: "t", url: "https://parley.test/events/t", answer: new Promise(() => undefined), reading: unread };
      },
    });
    event("any");
    event("fails", { schema: PAID, timeout: "1 hour", onTimeout: "fail" });
    event("throws", { schema: { type: "object" }, onTimeout: "throw" });
    event("default", { onTimeout: { default: { amount: 7 } } });
    const signal = expect.any(AbortSignal);
    const paid = { type: "object", properties: { amount: { type: "number", exclusiveMinimum: 0 } }, required: ["amount"] };
    expect(asked).toStrictEqual([
      ["any", { type: "event", schema: {} }, { signal }],
      ["fails", { type: "event", schema: paid }, { timeoutMs: 3_600_000, onTimeout: "fail", signal }],
      ["throws", { type: "event", schema: { type: "object" } }, { signal }],
      ["default", { type: "event", schema: {} }, { onTimeout: { default: { body: { amount: 7 } } }, signal }],
    ]);
  });
});

describe("the address of an event", () => {
  test.each<[string, (ctx: Context, url: string) => unknown]>([
    ["a step's result", (ctx, url) => ctx.step("echo", () => ({ callback: url }))],
    ["a question", (ctx, url) => ctx.confirm("go", { message: `Go to ${url}?` })],
    ["a page's address", (ctx, url) => ctx.url("go", { message: "Go?", url: `https://pay.example/?back=${url}` })],
    ["the status", (ctx, url) => ctx.status(url)],
    ["a log line", (ctx, url) => ctx.log("info", { url })],
    ["progress", (ctx, url) => ctx.progress(1, 2, url)],
    ["what is emitted", (ctx, url) => ctx.emit("toast", { url })],
    ["the text for the model", (ctx, url) => ctx.immediateResponse(url)],
    ["the arguments of a restart", (ctx, url) => ctx.restart({ url })],
  ])("is not in %s", async (_where, leak) => {
    const run = await startTool(
      tool(async (ctx) => {
        await leak(ctx, ctx.event("paid").url);
        return "leaked";
      }),
    );
    expect(JSON.stringify([run.error, run.text])).toMatch(/EVENT_TOKEN_MISPLACED|holds the token of an event/);
    expect(JSON.stringify([run.task, run.feed])).not.toMatch(/parley\.test\/events/);
  });

  test("is neither in the result, nor in an error", async () => {
    const telling = tool(async (ctx) => ctx.event("paid").url);
    expect((await runTool(telling)).error).toMatchObject({ data: { code: "EVENT_TOKEN_MISPLACED" } });
    const failing = tool(async (ctx) => {
      const { url } = ctx.event("paid");
      await ctx.step("checkout", () => {
        throw new Error(`cannot reach ${url}`);
      });
      return "";
    });
    const { text } = await runTool(failing);
    expect(text).toContain("cannot reach https://parley.test/events/[event token]");
  });
});

describe("a page that an event completes", () => {
  const visiting = tool(async (ctx) => {
    const paid = ctx.event("paid", { schema: PAID, timeout: "1 day" });
    const page = await ctx.step("checkout", () => "https://pay.example/1");
    const { amount } = await ctx.url("pay", { message: "Please pay.", url: page, completedBy: paid });
    return `paid ${amount}`;
  });

  test("is done when the event was reported, whether the client accepted before or never", async () => {
    for (const agrees of [true, false]) {
      const run = await startTool(visiting);
      expect(run.task).toMatchObject({ status: "input_required", asks: [{ key: "pay", request: { url: "https://pay.example/1" } }] });
      if (agrees) await run.answer({ pay: accept });
      expect(run.text).toBe("");
      await run.tell("paid", { amount: 12 });
      expect(run.text).toBe("paid 12");
    }
  });

  test("by something other than an event is a mistake", async () => {
    const mistaken = tool(async (ctx) => {
      const paid = { ...ctx.event("paid") };
      return await ctx.url("pay", { message: "Pay.", url: "https://pay.example/1", completedBy: paid }).then(String);
    });
    expect((await runTool(mistaken)).text).toBe("completedBy must be an event that ctx.event returned");
  });

  test("withdraws the event if the person declines", async () => {
    const run = await startTool(visiting);
    await run.answer({ pay: decline });
    expect(run.text).toBe('The user declined to answer "pay". The tool stopped there.');
    await expect(run.tell("paid", { amount: 12 })).rejects.toMatchObject({ code: "EVENT_LATE" });
  });

  const carryingOn = tool(async (ctx) => {
    const paid = ctx.event("paid", { schema: PAID });
    const paying = ctx.url("pay", { message: "Please pay.", url: "https://pay.example/1", completedBy: paid });
    const how = await paying.then(
      ({ amount }) => `paid ${amount}`,
      (error: Error) => error.name,
    );
    await ctx.confirm("more", { message: "More?" });
    return how;
  });

  test("disappears when the tool continues after the event", async () => {
    const run = await startTool(carryingOn);
    expect(run.task.asks).toMatchObject([{ key: "pay", request: { type: "url", completedBy: "event" } }]);
    await run.tell("paid", { amount: 12 });
    expect(run.task.asks.map(({ key }) => key)).toStrictEqual(["more"]);
    await run.answer({ more: true });
    expect(run.text).toBe("paid 12");
  });

  test("leaves no open event when the tool continues after its end", async () => {
    const run = await startTool(carryingOn);
    await run.answer({ pay: decline });
    expect([run.task.status, run.task.events ?? []]).toStrictEqual(["input_required", []]);
    await expect(run.tell("paid", { amount: 12 })).rejects.toMatchObject({ code: "EVENT_LATE" });
    await run.answer({ more: true });
    expect(run.text).toBe("Declined");
  });

  test("ends with the event's timeout", async () => {
    const run = await runTool(visiting, {}, { answers: { pay: timeout }, events: { paid: timeout } });
    expect(run.text).toBe('The event "paid" was not reported in time. The tool stopped there.');
  });

  test("has the same result wherever the worker dies", async () => {
    for (const crashAt of [1, 2, 3, 4, "every"] as const) {
      const run = await runTool(visiting, {}, { answers: { pay: timeout }, events: { paid: { amount: 12 } }, crashAt });
      expect(run.text).toBe("paid 12");
    }
  });
});

describe("an event that is awaited until something else ends it", () => {
  function waited(answer?: Answer) {
    const signals: (AbortSignal | undefined)[] = [];
    const event = createEvent({
      mustBeAwaited: (promise) => promise,
      event(_name, _request, { signal } = {}) {
        signals.push(signal);
        const withdrawn = new Promise<Answer>((resolve) => {
          signal?.addEventListener("abort", () => resolve({ action: "withdrawn" } as Answer));
        });
        return { token: "t", url: "https://parley.test", answer: answer ? Promise.resolve(answer) : withdrawn, reading: unread };
      },
    })("paid");
    return { event, isGivenUp: () => signals.map((signal) => signal?.aborted) };
  }

  test("is withdrawn at that end, or before it began", async () => {
    const ended = new AbortController();
    const { event, isGivenUp } = waited();
    const waiting = receivedUnless(event, ended.signal).catch(String);
    expect(isGivenUp()).toStrictEqual([false]);
    ended.abort();
    expect(await waiting).toBe('Withdrawn: The tool gave up waiting for "paid".');
    expect(await receivedUnless(waited().event, AbortSignal.abort()).catch(String)).toMatch(/^Withdrawn/);
  });

  test("is not withdrawn once it was received", async () => {
    const ended = new AbortController();
    const { event, isGivenUp } = waited({ action: "accept", content: { body: 1 } });
    expect(await receivedUnless(event, ended.signal)).toBe(1);
    ended.abort();
    expect(isGivenUp()).toStrictEqual([false]);
    expect(await receivedUnless(event, undefined)).toBe(1);
  });
});

test("a dry run continues with the given body, and stops if none can be made up", async () => {
  expect(await dryRun(checkout(), {}, { answers: { paid: { amount: 1 } } })).toEqual({ asks: [], steps: ["checkout", "ship"] });
  expect(await dryRun(checkout())).toMatchObject({ stopped: expect.stringContaining('"paid"') });
});
