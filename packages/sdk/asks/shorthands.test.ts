import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ParleyError } from "@parley/core";
import { type AskResult, type Context, defineTool } from "../index.ts";
import { createEvent } from "./event.ts";
import { createShorthands, type AskQuestion, type Shorthands } from "./shorthands.ts";
import { type Reply, type Script, cancel, decline, runTool, startTool, timeout, unavailable } from "../testing/testing.ts";
import { MESSAGE_WANTED } from "./wrong-ask.ts";

/** What the tool received, as JSON; the error's name and code if it threw. */
function asking(ask: (ctx: Context) => Promise<unknown>) {
  return defineTool({
    name: "tool",
    async run(_args, ctx) {
      try {
        return JSON.stringify({ got: await ask(ctx) });
      } catch (error) {
        const { name, code, message, violations } = error as Error & { code?: string; violations?: readonly { path: string }[] };
        return JSON.stringify({ name, code, message, path: violations?.[0]?.path });
      }
    },
  });
}

async function got(ask: (ctx: Context) => Promise<unknown>, ...replies: readonly Reply[]): Promise<unknown> {
  const answers: Script = Object.fromEntries<Reply>(replies.map((reply, index) => [index === 0 ? "q" : `q#${index + 1}`, reply]));
  return (JSON.parse((await runTool(asking(ask), {}, { answers, crashAt: "every" })).text) as { got?: unknown }).got;
}

async function refused(
  ask: (ctx: Context) => Promise<unknown>,
  ...replies: readonly Reply[]
): Promise<{ name: string; code?: string; path?: string; message: string }> {
  const answers: Script = Object.fromEntries<Reply>(replies.map((reply, index) => [index === 0 ? "q" : `q#${index + 1}`, reply]));
  return JSON.parse((await runTool(asking(ask), {}, { answers })).text) as never;
}

async function putBy(ask: (ctx: Context) => Promise<unknown>) {
  const { asks } = await startTool(asking(ask));
  const request = asks[0]?.request;
  if (request?.type !== "form") throw new Error("no form was put");
  const { properties, required } = request.schema as { properties: Record<string, object>; required?: string[] };
  return { message: request.message, hints: request.hints, value: properties["value"], isRequired: required?.includes("value") ?? false };
}

const unread = () => ({ kept: undefined, keep: () => undefined });
describe("a text", () => {
  test("has everything that a form can express, and the rest in its description", async () => {
    const put = await putBy((ctx) =>
      ctx.text("nick-name", {
        message: "Who are you?",
        hint: "As others call you",
        placeholder: "Ada",
        minLength: 2,
        maxLength: 10,
        pattern: "^[A-Z]",
      }),
    );
    expect(put).toEqual({
      message: "Who are you?",
      hints: { hint: "As others call you", placeholder: "Ada" },
      value: {
        type: "string",
        title: "Nick name",
        description: "As others call you. Example: Ada.",
        minLength: 2,
        maxLength: 10,
        pattern: "^[A-Z]",
      },
      isRequired: true,
    });
    expect(await got((ctx) => ctx.text("q", { message: "?" }), { value: "Ada" })).toBe("Ada");
    expect(await putBy((ctx) => ctx.text("mail", { message: "?", format: "email" }))).toMatchObject({ value: { format: "email" } });
  });

  test("that is left empty is its default, or undefined if it is optional", async () => {
    const preset = (ctx: Context) => ctx.text("q", { message: "?", default: "Guest" });
    expect(await putBy(preset)).toMatchObject({ value: { default: "Guest" }, isRequired: false });
    expect(await got(preset, {})).toBe("Guest");
    expect(await got(preset, { value: "" })).toBe("Guest");
    expect(await got(preset, { value: "Ada" })).toBe("Ada");
    const optional = (ctx: Context) => ctx.text("q", { message: "?", required: false });
    expect(await putBy(optional)).toMatchObject({ isRequired: false });
    expect(await got(optional, {})).toBeUndefined();
    expect(await got(optional, { value: "" })).toBeUndefined();
    expect(await got((ctx) => ctx.text("q", { message: "?" }), { value: "" })).toBe("");
  });

  test.each([
    [{ format: "email" }, "a@b.example"],
    [{ minLength: 2 }, "Guest"],
    [{ pattern: "^[A-Z]+$" }, "GUEST"],
  ] as const)("that is left empty with %j may be sent as an empty text", async (options, preset) => {
    const text = (more: object) => (ctx: Context) => ctx.text("q", { message: "?", ...options, ...more });
    expect(await got(text({ required: false }), { value: "" })).toBeUndefined();
    expect(await got(text({ default: preset }), { value: "" })).toBe(preset);
    const running = await startTool(asking(text({})));
    await expect(running.answer({ q: "" })).rejects.toThrow(/is refused: Q /);
  });

  test("that exceeds its limits is refused, and stays open", async () => {
    const running = await startTool(asking((ctx) => ctx.text("q", { message: "?", minLength: 2, pattern: "^[A-Z]+$" })));
    await expect(running.answer({ q: "a" })).rejects.toThrow(/Q must have at least 2 characters/);
    await expect(running.answer({ q: "ab" })).rejects.toThrow(/is not written as expected/);
    await running.answer({ q: "AB" });
    expect(running.text).toBe('{"got":"AB"}');
  });
});

describe("a number", () => {
  test("has its bounds, and its steps are checked on the server", async () => {
    const ask = (ctx: Context) => ctx.number("q", { message: "How much?", min: 1, max: 10, step: 0.1 });
    expect((await putBy(ask)).value).toEqual({
      type: "number",
      title: "Q",
      description: "In steps of 0.1 from 1.",
      minimum: 1,
      maximum: 10,
    });
    expect(await got(ask, 1.3)).toBe(1.3);
    const running = await startTool(asking(ask));
    await running.answer({ q: 1.25 });
    expect(running.asks[1]).toMatchObject({
      key: "q#2",
      request: { message: "How much?\n\nThe last answer does not fit: Q must be in steps of 0.1 from 1" },
    });
    await running.answer({ "q#2": 10 });
    expect(running.text).toBe('{"got":10}');
  });

  test("with integer steps is an integer", async () => {
    expect((await putBy((ctx) => ctx.number("q", { message: "?", step: 1 }))).value).toEqual({ type: "integer", title: "Q" });
    const tens = await putBy((ctx) => ctx.number("q", { message: "?", step: 10, min: 5 }));
    expect(tens.value).toEqual({ type: "integer", title: "Q", description: "In steps of 10 from 5.", minimum: 5 });
    expect((await putBy((ctx) => ctx.number("q", { message: "?", step: 1, min: 0.5 }))).value).toMatchObject({ type: "number" });
    expect((await putBy((ctx) => ctx.number("q", { message: "?" }))).value).toEqual({ type: "number", title: "Q" });
  });

  test("keeps a default of 0", async () => {
    expect(await got((ctx) => ctx.number("q", { message: "?", default: 0 }), {})).toBe(0);
  });
});

describe("a confirmation", () => {
  test("is false for no, and an error when the question is refused", async () => {
    const ask = (ctx: Context) => ctx.confirm("q", { message: "Delete?", dangerous: true, submitLabel: "Delete", cancelLabel: "Keep" });
    expect(await putBy(ask)).toEqual({
      message: "⚠️ Delete?",
      hints: { dangerous: true, submitLabel: "Delete", cancelLabel: "Keep" },
      value: { type: "boolean", title: "Q", description: "Accept: “Delete”. Decline: “Keep”." },
      isRequired: true,
    });
    expect(await got(ask, false)).toBe(false);
    expect(await got(ask, true)).toBe(true);
    expect(await refused(ask, cancel)).toMatchObject({ name: "Cancelled" });
    expect(await got((ctx) => ctx.confirm("q", { message: "?", default: false }), {})).toBe(false);
  });

  test("shows its icon and its warning", async () => {
    const put = await putBy((ctx) => ctx.confirm("q", { message: "Send?", icon: "📨", destructive: true, preview: "Dear Ada" }));
    expect(put.message).toBe("⚠️ 📨 Send?\n\nDear Ada");
    // The name of a picture is a hint for pages.
    expect(await putBy((ctx) => ctx.confirm("q", { message: "Send?", icon: "mail.png" }))).toMatchObject({
      message: "Send?",
      hints: { icon: "mail.png" },
    });
  });
});

describe("a choice", () => {
  const plans = [
    { value: "free", title: "Free", description: "for one", price: "0 €" },
    { value: "pro", label: "Pro", badge: "popular", category: "paid", quantity: 3 },
    { value: "old", label: "Old", disabled: true, disabledReason: "sold out", image: "https://x.example/old.png" },
    "none",
  ] as const;

  test("among strings is an enum", async () => {
    const ask = (ctx: Context) => ctx.select("q", { message: "Which?", options: ["a", "b"], default: "b" });
    expect(await putBy(ask)).toEqual({
      message: "Which?",
      hints: undefined,
      value: { type: "string", title: "Q", enum: ["a", "b"], default: "b" },
      isRequired: false,
    });
    expect(await got(ask, "a")).toBe("a");
    expect(await got(ask, {})).toBe("b");
  });

  test("with titles shows those, with all details of an option, and omits disabled ones", async () => {
    const put = await putBy((ctx) => ctx.select("q", { message: "Which?", options: plans, searchable: true }));
    expect(put.value).toEqual({
      type: "string",
      title: "Q",
      description: "Not available: Old (sold out).",
      oneOf: [
        { const: "free", title: "Free – for one (0 €)" },
        { const: "pro", title: "Pro (paid, 3, popular)" },
        { const: "none", title: "none" },
      ],
    });
    // What forms cannot express is a hint for pages.
    expect(put.hints).toEqual({ options: plans, searchable: true });
  });

  test("of several is a list", async () => {
    const ask = (ctx: Context) =>
      ctx.select("q", { message: "Which?", options: plans, multi: true, default: ["free"], minItems: 1, maxItems: 2 });
    expect((await putBy(ask)).value).toMatchObject({
      type: "array",
      minItems: 1,
      maxItems: 2,
      default: ["free"],
      items: { anyOf: [{}, {}, {}] },
    });
    expect(await got(ask, ["pro", "none"])).toEqual(["pro", "none"]);
    expect(await got(ask, ["pro", "pro"], ["pro"])).toEqual(["pro"]);
    const plain = await putBy((ctx) => ctx.select("q", { message: "?", options: ["a"], multi: true }));
    expect(plain.value).toMatchObject({ items: { type: "string", enum: ["a"] } });
  });
});

describe("a date", () => {
  test("has its format, and its bounds are checked on the server", async () => {
    const ask = (ctx: Context) => ctx.date("q", { message: "When?", min: "2026-12-01", max: "2026-12-24" });
    expect((await putBy(ask)).value).toEqual({ type: "string", format: "date", title: "Q", description: "From 2026-12-01 to 2026-12-24." });
    expect(await got(ask, "2026-12-24")).toBe("2026-12-24");
    expect(await got(ask, "2026-12-25", "2026-11-30", "2026-12-01")).toBe("2026-12-01");
    const running = await startTool(asking(ask));
    await expect(running.answer({ q: "2026-02-31" })).rejects.toThrow(/must be a date that exists, such as 2026-12-24/);
  });

  test("with a time is a moment", async () => {
    const ask = (ctx: Context) => ctx.date("q", { message: "When?", includeTime: true, min: "2026-12-24T18:00:00Z" });
    expect((await putBy(ask)).value).toMatchObject({ format: "date-time", description: "2026-12-24T18:00:00Z or later." });
    // The same moment in another time zone.
    expect(await got(ask, "2026-12-24T18:59:59+01:00", "2026-12-24T19:00:00+01:00")).toBe("2026-12-24T19:00:00+01:00");
  });
});

describe("a form and a page", () => {
  test("are asked as they are", async () => {
    const schema = z.object({ name: z.string(), age: z.int() });
    expect(await got((ctx) => ctx.form("q", { message: "Who?", schema }), { name: "Ada", age: 36 })).toEqual({ name: "Ada", age: 36 });
    const visit = await runTool(
      asking((ctx) => ctx.url("q", { message: "Pay", url: "https://pay.example/1", icon: "💶" })),
      {},
      { answers: { q: decline } },
    );
    expect(visit.asks).toMatchObject([
      { request: { type: "url", message: "💶 Pay", url: "https://pay.example/1", hints: { icon: "💶" } } },
    ]);
    expect(visit.text).toContain('"Declined"');
  });
});

describe("an unanswered question", () => {
  const text = (options: object) => (ctx: Context) => ctx.text("q", { message: "?", ...options });

  test.each([
    [decline, "Declined", "onDecline"],
    [cancel, "Cancelled", "onCancel"],
    [timeout, "TimedOut", "onTimeout"],
  ] as const)("throws, or takes the default where the author says so", async (reply, name, option) => {
    expect(await refused(text({}), reply)).toMatchObject({ name });
    expect(await refused(text({ default: "x" }), reply)).toMatchObject({ name });
    expect(await got(text({ default: "x", [option]: "default" }), reply)).toBe("x");
    expect(await got(text({ required: false, [option]: "default" }), reply)).toBeUndefined();
    expect(await refused(text({ [option]: "default" }))).toMatchObject({ code: "INVALID_ASK", path: `/${option}` });
    expect(await refused(text({ default: "x", [option]: "throw" }), reply)).toMatchObject({ name });
  });

  test("with ten invalid answers throws INVALID_ANSWER, or takes the default", async () => {
    const odd = Array.from({ length: 10 }, () => 3);
    const even = (options: object) => (ctx: Context) => ctx.number("q", { message: "?", step: 2, ...options });
    expect(await refused(even({}), ...odd)).toMatchObject({ code: "INVALID_ANSWER" });
    expect(await got(even({ default: 4, onInvalid: "default" }), ...odd)).toBe(4);
    expect(await got(even({}), ...odd.slice(1), 2)).toBe(2);
  });

  test("that the client cannot be asked: the tool gets an error, and no default unless the deployment says so", async () => {
    const tool = asking(text({ default: "x", onTimeout: "default" }));
    const run = await runTool(tool, {}, { answers: { q: unavailable } });
    expect(run.text).toContain('"CAPABILITY_REQUIRED"');
    expect((await runTool(tool, {}, { answers: { q: unavailable }, withoutCapability: "default" })).text).toBe('{"got":"x"}');
  });

  test("waits as long as it says, also with the alias", async () => {
    const { asks } = await startTool(asking(text({ expires: "2 hours" })));
    expect((asks[0]?.deadlineMs ?? 0) - (asks[0]?.askedAtMs ?? 0)).toBe(2 * 3_600_000);
  });
});

describe("ctx.ask", () => {
  const message = "?";
  const url = "https://pay.example/1";

  function over(settled: AskResult<unknown> | Error) {
    const asked: unknown[] = [];
    const put: AskQuestion = async (name, { ...ask }) => {
      if ("schema" in ask) delete (ask as { schema?: unknown }).schema;
      asked.push([name, ask]);
      if (settled instanceof Error) throw settled;
      return settled;
    };
    return { asked, ask: createShorthands(put) };
  }

  test("receives the question with its hints, its audience and its timeout", async () => {
    const { asked, ask } = over({ action: "accept", content: { value: "x" } });
    const { signal } = new AbortController();
    const people = { to: "tenant", not: "caller", signal } as const;
    expect(await ask.text("plain", { message })).toBe("x");
    await ask.text("all", { message, icon: "📨", ...people, timeout: "1 day", expires: "2 days", onTimeout: "throw" });
    await ask.text("default", { message, default: "y", onTimeout: "default", expires: "2 days" });
    await ask.text("nothing", { message, required: false, onTimeout: "default", quorum: undefined } as never);
    await ask.text("fails", { message, onTimeout: "fail" as never });
    expect(await ask.form("form", { message, schema: {}, hint: "h", default: { a: 1 } as never, onTimeout: "default" })).toStrictEqual({
      value: "x",
    });
    await ask.url("page", { message, url });
    await ask.url("visit", { message, url, icon: "💶", ...people, timeout: "1 day", returnTo: "back", onTimeout: "decline" } as never);
    await ask.url("patient", { message, url, onTimeout: "throw" });
    expect(asked).toStrictEqual([
      ["plain", { message }],
      ["all", { message: "📨 ?", ...people, timeout: "1 day", hints: { icon: "📨" } }],
      ["default", { message, timeout: "2 days", onTimeout: { default: { value: "y" } } }],
      ["nothing", { message, onTimeout: { default: {} } }],
      ["fails", { message, onTimeout: "fail" }],
      ["form", { message, hints: { hint: "h" }, onTimeout: { default: { a: 1 } } }],
      ["page", { message, url }],
      [
        "visit",
        {
          message: "💶 ?",
          url,
          ...people,
          timeout: "1 day",
          hints: { icon: "💶" },
          returnTo: "back",
          onTimeout: "decline",
        },
      ],
      ["patient", { message, url }],
    ]);
  });

  test.each<[AskResult<unknown>, object, unknown]>([
    [{ action: "decline" }, { onDecline: "default" }, "x"],
    [{ action: "cancel" }, { onCancel: "default" }, "x"],
    [{ action: "decline" }, { onCancel: "default" }, "Declined"],
    [{ action: "cancel" }, { onDecline: "default" }, "Cancelled"],
    [{ action: "timeout" }, { onDecline: "default", onCancel: "default" }, "TimedOut"],
    [{ action: "withdrawn" }, { onDecline: "default", onCancel: "default" }, "Withdrawn"],
  ])("for %j with %j returns the default, or an error: %s", async (settled, options, outcome) => {
    const { ask } = over(settled);
    const of = (asking: Promise<unknown>) => asking.catch((error: Error) => error.name);
    expect(await of(ask.text("q", { message, default: "x", ...options }))).toBe(outcome);
    const form = await of(ask.form("q", { message, schema: {}, default: { a: 1 } as never, ...options }));
    expect(form).toStrictEqual(outcome === "x" ? { a: 1 } : outcome);
  });

  test("returns the default for answers that are never valid, and for no other error", async () => {
    const options = { message, default: "x", onInvalid: "default" } as const;
    const unfit = over(new ParleyError("INVALID_ANSWER", "never"));
    expect(await unfit.ask.text("q", options)).toBe("x");
    await expect(unfit.ask.text("q", { message, default: "x" })).rejects.toThrow("never");
    for (const error of [new ParleyError("INVALID_ASK", "wrong"), new Error("broken")])
      await expect(over(error).ask.text("q", options)).rejects.toBe(error);
  });

  test.each<[string, (ask: Shorthands) => Promise<unknown>, string, string]>([
    ["no default to take", (ask) => ask.text("q", { message, onInvalid: "default" }), "/onInvalid", 'is "default", and the ask has none'],
    [
      "no default of a form",
      (ask) => ask.form("q", { message, schema: {}, onCancel: "default" }),
      "/onCancel",
      'is "default", and the ask has none',
    ],
    [
      "a quorum",
      (ask) => ask.text("q", { message, quorum: 2 } as never),
      "/quorum",
      "is for ctx.elicit and ctx.ask, which return what each person said",
    ],
    [
      "two ways to be done",
      (ask) => ask.url("q", { message, url, completedBy: {}, returnTo: "back" } as never),
      "/returnTo",
      "and completedBy both say when the person is done: give one of them",
    ],
    ["no text for a message", (ask) => ask.text("q", { message: 5 } as never), "/message", MESSAGE_WANTED],
    ["an empty message", (ask) => ask.url("q", { message: "", url }), "/message", MESSAGE_WANTED],
    ["a default of another type", (ask) => ask.number("q", { message, default: "1" as never }), "/default", "must be a number"],
    [
      "a default that breaks the pattern",
      (ask) => ask.text("q", { message, pattern: "^a$", default: "b" }),
      "/default",
      "is not written as expected",
    ],
    ["a default between the steps", (ask) => ask.number("q", { message, step: 2, default: 3 }), "/default", "must be in steps of 2"],
    ["a wrong option", (ask) => ask.number("q", { message, step: 0 }), "/step", "must be more than 0"],
  ])("returns undefined with %s", async (_what, asking, path, problem) => {
    const { asked, ask } = over({ action: "cancel" });
    const error = (await asking(ask).catch((thrown: unknown) => thrown)) as ParleyError;
    expect([error.code, error.message, error.violations, asked]).toStrictEqual([
      "INVALID_ASK",
      `the ask "q" is invalid: ${path} ${problem}`,
      [{ path, message: problem }],
      [],
    ]);
  });

  test("is not called if an option throws, which does not count as an invalid option", async () => {
    const broken = {
      value: "a",
      get title(): string {
        throw new RangeError("no title");
      },
    };
    await expect(over({ action: "cancel" }).ask.select("q", { message, options: [broken] })).rejects.toThrow(new RangeError("no title"));
  });

  test("of a visit that an event completes does not settle by the client's reply", async () => {
    const { asked, ask } = over({ action: "accept", content: undefined });
    const event = createEvent({
      mustBeAwaited: (promise) => promise,
      event: () => ({ token: "t", url: "https://parley.test", answer: new Promise(() => undefined), reading: unread }),
    });
    await expect(ask.url("pay", { message, url, completedBy: event("paid") })).rejects.toThrow(
      new Error('the visit "pay" was accepted by its client'),
    );
    expect(asked).toStrictEqual([["pay", { message, url, signal: expect.any(AbortSignal), completedBy: "event" }]]);
  });

  test("ends a visit that an event completes by its own signal as well", async () => {
    const run = await runTool(
      defineTool({
        name: "tool",
        async run(_args, ctx) {
          const stop = new AbortController();
          const paid = ctx.event("paid");
          const visit = ctx.url("pay", { message, url, completedBy: paid, signal: stop.signal }).then(String, String);
          await ctx.sleep("patience", "1 hour");
          stop.abort();
          return await visit;
        },
      }),
    );
    expect(run.text).toMatch(/^Withdrawn: The tool withdrew the question "pay"/);
  });
});

describe("an invalid question is refused with the path of the option", () => {
  const options = { message: "?" };
  const many = (count: number) => Array.from({ length: count }, (_, index) => String(index));
  test.each<[string, string, (ctx: Context) => Promise<unknown>]>([
    ["no options at all", "/message", (ctx) => ctx.text("q", undefined as never)],
    ["no page", "/message", (ctx) => ctx.url("q", undefined as never)],
    ["a form without a message", "/message", (ctx) => ctx.form("q", { message: "", schema: {} })],
    ["a default out of range", "/default", (ctx) => ctx.date("q", { ...options, max: "2026-12-24", default: "2026-12-25" })],
    ["one option too many", "/options", (ctx) => ctx.select("q", { ...options, options: many(1_001) })],
    ["a default that is not an option", "/default", (ctx) => ctx.select("q", { ...options, options: ["a"], default: "b" as never })],
    ["an unknown policy", "/onDecline", (ctx) => ctx.text("q", { ...options, onDecline: "defualt" as never })],
    ["an unknown policy for the deadline", "/onTimeout", (ctx) => ctx.confirm("q", { ...options, onTimeout: "reject" as never })],
    ["a default for a page", "/onTimeout", (ctx) => ctx.url("q", { ...options, url: "https://x.example", onTimeout: "default" as never })],
    ["a secret", "/value", (ctx) => ctx.text("api-key", options)],
    ["a pattern that blocks", "/value", (ctx) => ctx.text("q", { ...options, pattern: "^(a+)+$" })],
  ])("%s", async (_what, path, ask) => {
    expect(await refused(ask)).toMatchObject({ name: "ParleyError", code: "INVALID_ASK", path });
  });

  test("a thousand options are asked", async () => {
    expect(await got((ctx) => ctx.select("q", { ...options, options: many(1_000) }), "999")).toBe("999");
  });
});

test("the type of the answer follows from the options, and misuse does not compile", () => {
  const options = { message: "?" };
  const types = async (ctx: Context) => {
    expectTypeOf(await ctx.text("q", options)).toEqualTypeOf<string>();
    expectTypeOf(await ctx.text("q", { ...options, required: false })).toEqualTypeOf<string | undefined>();
    expectTypeOf(await ctx.text("q", { message: "?", required: false, default: "x" })).toEqualTypeOf<string>();
    expectTypeOf(await ctx.number("q", options)).toEqualTypeOf<number>();
    expectTypeOf(await ctx.confirm("q", { message: "?", required: false })).toEqualTypeOf<boolean | undefined>();
    expectTypeOf(await ctx.date("q", options)).toEqualTypeOf<string>();
    expectTypeOf(await ctx.select("q", { message: "?", options: ["a", { value: "b", title: "B" }] })).toEqualTypeOf<"a" | "b">();
    expectTypeOf(await ctx.select("q", { message: "?", options: ["a", { value: "b", disabled: true }] })).toEqualTypeOf<"a">();
    expectTypeOf(await ctx.select("q", { message: "?", options: ["a", "b"], multi: true })).toEqualTypeOf<("a" | "b")[]>();
    expectTypeOf(await ctx.select("q", { message: "?", options: ["a"], required: false })).toEqualTypeOf<"a" | undefined>();
    expectTypeOf(await ctx.select("q", { message: "?", options: ["a"] as string[] })).toEqualTypeOf<string>();
    expectTypeOf(await ctx.form("q", { message: "?", schema: z.object({ n: z.int() }) })).toEqualTypeOf<{ n: number }>();
    expectTypeOf(await ctx.url("q", { message: "?", url: "https://x.example" })).toEqualTypeOf<void>();
    // @ts-expect-error a message is needed
    await ctx.text("q", {});
    // @ts-expect-error a default is of the answer's type
    await ctx.number("q", { message: "?", default: "1" });
    // @ts-expect-error a default is one of the options
    await ctx.select("q", { message: "?", options: ["a"], default: "b" });
    // @ts-expect-error a disabled option is no default
    await ctx.select("q", { message: "?", options: ["a", { value: "b", disabled: true }], default: "b" });
    // @ts-expect-error a visit has no default
    await ctx.url("q", { message: "?", url: "https://x.example", onDecline: "default" });
    // @ts-expect-error days are texts
    await ctx.date("q", { message: "?", min: 5 });
    // An option that does not exist would be ignored: this question would go to the caller, and that number would have no minimum.
    // @ts-expect-error the option is `to`
    await ctx.confirm("q", { message: "?", too: { groups: ["finance"] } });
    // @ts-expect-error the option is `min`
    await ctx.number("q", { message: "?", minimum: 1 });
    // @ts-expect-error the option is `maxLength`
    await ctx.text("q", { message: "?", maxlength: 1 });
    // @ts-expect-error the option is `timeout`
    await ctx.date("q", { message: "?", timout: "1 day" });
    // @ts-expect-error the option is `multi`
    await ctx.select("q", { message: "?", options: ["a"], multiple: true });
    // @ts-expect-error the option is `maxBytes`
    await ctx.file("q", { message: "?", maxSize: 1 });
  };
  expectTypeOf(types).toBeFunction();
});
