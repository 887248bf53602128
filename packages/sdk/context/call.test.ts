import { type ChildEnd, DEFAULT_SETTINGS, type JsonObject } from "@parley/core";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type CallOptions, createCall } from "./call.ts";
import { ChildFailed, type Context, defineTool, ParleyError, TimedOut, ToolError, Withdrawn } from "../index.ts";
import { decline, runTool, startTool } from "../testing/testing.ts";

const bookHotel = defineTool({
  name: "book_hotel",
  input: z.object({ city: z.string() }),
  output: z.object({ hotel: z.string(), nights: z.number() }),
  async run({ city }, ctx) {
    const hotel = await ctx.step("find", () => `Grand ${city}`);
    const { nights } = await ctx.elicit("nights", { message: `How many nights at ${hotel}?`, schema: z.object({ nights: z.number() }) });
    return { hotel, nights };
  },
});

const shout = defineTool({ name: "shout", input: z.object({ word: z.string() }), run: ({ word }) => `${word}!` });

/** A tool that does what the test says, and may call the others. */
function calling(run: (ctx: Context) => Promise<string>, name = "caller") {
  return defineTool({ name, run: (_args, ctx) => run(ctx) });
}

describe("the end of a child", () => {
  const ending = (end: ChildEnd, options?: CallOptions) =>
    createCall({ storedValueMax: 1_000, callTool: async () => end })("shop/hotel", {}, options);
  const result = (result: JsonObject): ChildEnd => ({ type: "result", result });
  const text = { type: "text", text: "Grand" };

  test.each([
    ["its data, if it has any", { content: [text], structuredContent: { hotel: "Grand" } }, { hotel: "Grand" }],
    ["its texts, line by line", { content: [text, { type: "image", data: "" }, { type: "text", text: "Oslo" }] }, "Grand\nOslo"],
    ["nothing but texts", { content: [text, { text: 1 }, "Oslo", null] }, "Grand"],
    ["nothing, of a result without content", {}, ""],
    ["nothing, of content that is not a list", { content: text }, ""],
    ["its text, if it says that it has not failed", { content: [text], isError: false }, "Grand"],
  ] as const)("is %s", async (_what, given, value) => {
    expect(await ending(result(given as unknown as JsonObject))).toStrictEqual(value);
  });

  const failed = { name: "ChildFailed", call: "shop.hotel", tool: "shop/hotel", status: "failed" };

  test.each<[string, ChildEnd, object]>([
    [
      "with isError",
      result({ content: [text], isError: true }),
      { ...failed, reason: "Grand", message: "The tool shop/hotel failed: Grand" },
    ],
    [
      "as an error",
      { type: "error", error: { code: 1, message: "gone" } },
      { ...failed, reason: "gone", message: "The tool shop/hotel failed: gone" },
    ],
    [
      "cancelled",
      { type: "cancelled" },
      { ...failed, status: "cancelled", reason: "it was cancelled", message: "The tool shop/hotel was stopped: it was cancelled" },
    ],
    [
      "out of time",
      { type: "timeout" },
      { name: "TimedOut", ask: "shop.hotel", message: "The tool shop/hotel did not finish in time and was cancelled." },
    ],
    ["withdrawn", { type: "withdrawn" }, { name: "Withdrawn", ask: "shop.hotel", message: "The tool gave up calling shop/hotel." }],
  ])("is an error if it ended %s", async (_how, end, error) => {
    const { name, message, ...facts } = (await ending(end).catch((thrown: unknown) => thrown)) as Error;
    expect({ name, message, ...facts }).toStrictEqual(error);
  });
});

test("a call passes on the tool, its arguments and its options, under its key", async () => {
  const asked: unknown[] = [];
  const call = createCall({
    storedValueMax: 1_000,
    async callTool(...given) {
      asked.push(given);
      return { type: "cancelled" };
    },
  });
  const { signal } = new AbortController();
  await call(shout, { word: "a" }).catch(() => undefined);
  await call("a/b/c", undefined, { key: "own/key", timeout: "1 hour", signal }).catch(() => undefined);

  expect(asked).toStrictEqual([
    ["shout", { tool: "shout", arguments: { word: "a" } }, {}],
    ["own/key", { tool: "a/b/c", arguments: {} }, { timeoutMs: 3_600_000, signal }],
  ]);
});

describe("ctx.call", () => {
  test("runs another tool as a task of its own, whose questions are shown with the caller's", async () => {
    const trip = calling(async (ctx) => {
      const { hotel, nights } = await ctx.call(bookHotel, { city: "Bergen" }, { key: "hotel" });
      return `${nights} nights at ${hotel}`;
    });
    const running = await startTool(trip, {}, { tools: [bookHotel] });
    expect(running.task).toMatchObject({
      status: "input_required",
      asks: [{ key: "hotel:nights", request: { message: "How many nights at Grand Bergen?" } }],
    });

    await running.answer({ "hotel:nights": { nights: 3 } });

    expect(running.text).toBe("3 nights at Grand Bergen");
    expect(running.journal).toStrictEqual(["ask:call:hotel"]);
  });

  test("returns a string for a tool without output, and the result of a tool called by name", async () => {
    const both = calling(async (ctx) => `${await ctx.call(shout, { word: "one" })} ${String(await ctx.call("shout", { word: "two" }))}`);

    expect(await runTool(both, {}, { tools: [shout] })).toMatchObject({
      text: "one! two!",
      journal: ["ask:call:shout", "ask:call:shout#2"],
    });
  });

  test("has the same result when the worker dies after every record, and each effect happens once", async () => {
    const done: string[] = [];
    const hotel = defineTool({
      name: "hotel",
      input: z.object({ n: z.number() }),
      async run({ n }, ctx) {
        await ctx.step("hold", () => void done.push(`hold ${n}`));
        const ok = await ctx.confirm("ok", { message: `Hold ${n}?` });
        return await ctx.step("book", () => {
          done.push(`book ${n}`);
          return `${n} ${ok ? "booked" : "left"}`;
        });
      },
    });
    const trip = calling(async (ctx) => {
      await ctx.step("begin", () => void done.push("begin"));
      const booked = await Promise.all([1, 2].map((n) => ctx.call(hotel, { n })));
      await ctx.step("end", () => void done.push("end"));
      return booked.join(", ");
    });
    const answers = { "hotel:ok": true, "hotel#2:ok": false };

    const plain = await runTool(trip, {}, { tools: [hotel], answers });
    expect(plain.text).toBe("1 booked, 2 left");
    const once = done.splice(0).toSorted();
    const crashing = await runTool(trip, {}, { tools: [hotel], answers, crashAt: "every" });

    expect([crashing.text, crashing.journal, done.toSorted()]).toStrictEqual([plain.text, plain.journal, once]);
  });

  test("asks under keys of its own, even if the caller uses the same name", async () => {
    const both = calling(async (ctx) => {
      const [own, booked] = await Promise.all([
        ctx.number("nights", { message: "And you?" }),
        ctx.call(bookHotel, { city: "Oslo" }, { key: "hotel" }),
      ]);
      return `${own} ${booked.nights}`;
    });
    const running = await startTool(both, {}, { tools: [bookHotel] });
    expect(running.task.asks.map(({ key }) => key)).toStrictEqual(["nights", "hotel:nights"]);

    await running.answer({ "hotel:nights": { nights: 1 }, nights: 2 });

    expect(running.text).toBe("2 1");
  });

  test("nests five levels, and no deeper", async () => {
    const nest = defineTool({
      name: "nest",
      input: z.object({ depth: z.number() }),
      run: ({ depth }, ctx) => (depth === 0 ? "bottom" : ctx.call("nest", { depth: depth - 1 }).then(String)),
    });

    expect((await runTool(nest, { depth: 5 })).text).toBe("bottom");
    expect((await runTool(nest, { depth: 6 })).text).toMatch(
      /tools may call each other at most 5 levels deep: nest → nest → nest → nest → nest → nest$/,
    );
  });

  test("of one tool among all the tools of a module, which a test may pass as they are", async () => {
    const trip = calling((ctx) => ctx.call(shout, { word: "a" }));
    expect((await runTool(trip, {}, { tools: [shout, trip] })).text).toBe("a!");
  });

  test("of tools that call each other in a circle ends", async () => {
    const ping = defineTool({ name: "ping", run: (_args, ctx) => ctx.call("pong", {}).then(String) });
    const pong = defineTool({ name: "pong", run: (_args, ctx) => ctx.call("ping", {}).then(String) });

    expect((await runTool(ping, {}, { tools: [pong] })).result).toMatchObject({ isError: true });
  });

  describe("a call fails", () => {
    const failing = (run: () => never) => defineTool({ name: "failing", run });
    const caught = (tool: ReturnType<typeof failing>) =>
      calling(async (ctx) => {
        try {
          return String(await ctx.call(tool, {}));
        } catch (error) {
          if (!(error instanceof ChildFailed)) throw error;
          return `${error.call} ${error.tool} ${error.status}: ${error.reason}`;
        }
      });

    test("with exactly what clients see of the child", async () => {
      const refusing = failing(() => {
        throw new ToolError("sold out");
      });
      const broken = failing(() => {
        throw new Error("password=hunter2");
      });

      expect((await runTool(caught(refusing), {}, { tools: [refusing] })).text).toBe("failing failing failed: sold out");
      const hidden = await runTool(caught(broken), {}, { tools: [broken], showErrors: false });
      expect(hidden.text).toMatch(/^failing failing failed: tool failing failed. What went wrong is in the server's log, under defect /);
      expect(hidden.text).not.toContain("hunter2");
    });

    test("and so does the caller, if nothing catches it", async () => {
      const refusing = failing(() => {
        throw new ToolError("sold out");
      });
      const running = await runTool(
        calling((ctx) => ctx.call(refusing, {})),
        {},
        { tools: [refusing] },
      );

      expect(running.result).toStrictEqual({ content: [{ type: "text", text: "The tool failing failed: sold out" }], isError: true });
    });

    test("if the person declines the child's question", async () => {
      const running = await startTool(
        defineTool({ name: "trip", run: (_args, ctx) => ctx.call(bookHotel, { city: "Rome" }).then(JSON.stringify) }),
        {},
        { tools: [bookHotel] },
      );
      await running.answer({ "book_hotel:nights": decline });

      expect(running.text).toMatch(/^The tool book_hotel failed: The user declined/);
    });

    test.each([
      ["a tool that no worker serves", "nowhere", {}, "TOOL_NOT_FOUND"],
      ["arguments that do not fit", "shout", { word: 1 }, "INVALID_ARGUMENTS"],
      ["arguments that are too large", "shout", { word: "x".repeat(300_000) }, "TOO_LARGE"],
    ])("for %s, and again when it is replayed", async (_what, name, args, code) => {
      const running = await runTool(
        calling(async (ctx) => {
          const failure = await ctx.call(name, args).then(
            () => "none",
            (error: unknown) => (error instanceof ParleyError ? error.code : String(error)),
          );
          await ctx.step("behind", () => 1);
          await ctx.confirm("go", { message: "Go on?" });
          return failure;
        }),
        {},
        { tools: [shout], crashAt: "every", answers: { go: true } },
      );

      expect(running.text).toBe(code);
    });

    test.each(["event", "call", "compensation"])("for the key %s, which is reserved", async (key) => {
      const running = await runTool(
        calling((ctx) => ctx.call(shout, { word: "a" }, { key })),
        {},
        { tools: [shout] },
      );

      expect(running.error).toMatchObject({
        data: { code: "INVALID_NAME" },
        message: `the call of shout cannot have the key "${key}", which has a meaning of its own: give it another key`,
      });
    });

    test("for arguments that are not plain data", async () => {
      const running = await runTool(
        calling((ctx) => ctx.call("shout", { word: 1n } as never).then(String)),
        {},
        { tools: [shout] },
      );

      expect(running.error?.message).toBe("the arguments of the call of shout is not plain data: /word is a bigint");
    });
  });

  async function refusedFor(timeout: "31 days"): Promise<ParleyError> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const catching = calling((ctx) => ctx.call(shout, { word: "a" }, { timeout }).catch((error: unknown) => String(resolve(error))));
    await runTool(catching, {}, { tools: [shout] });
    return (await promise) as ParleyError;
  }

  describe("a call ends early", () => {
    const slow = defineTool({
      name: "slow",
      async run(_args, ctx) {
        await ctx.confirm("ok", { message: "OK?" });
        return "slow";
      },
    });

    test("at its timeout, and the question is gone", async () => {
      const running = await startTool(
        calling(async (ctx) => {
          const failure = await ctx.call(slow, {}, { timeout: "1 hour" }).catch((error: unknown) => error);
          await ctx.confirm("after", { message: String(failure instanceof TimedOut) });
          return "over";
        }),
        {},
        { tools: [slow] },
      );
      expect(running.task.asks.map(({ key }) => key)).toStrictEqual(["slow:ok"]);

      await running.advance("1 hour");

      expect(running.task.asks).toMatchObject([{ key: "after", request: { message: "true" } }]);
    });

    test("without a timeout at the longest wait that is allowed", async () => {
      const running = await startTool(
        calling((ctx) => ctx.call(slow, {})),
        {},
        { tools: [slow] },
      );
      const { deadlineMs = 0, askedAtMs = 0 } = running.task.calls?.[0] ?? {};
      expect(deadlineMs - askedAtMs).toBe(DEFAULT_SETTINGS.askTimeoutMaxMs);
      expect((await refusedFor("31 days")).code).toBe("INVALID_ASK");
    });

    test("by its signal", async () => {
      const running = await startTool(
        calling(async (ctx) => {
          const stop = new AbortController();
          const call = ctx.call(slow, {}, { signal: stop.signal }).catch((error: unknown) => error);
          await ctx.sleep("nap", "1 minute");
          stop.abort();
          return String((await call) instanceof Withdrawn);
        }),
        {},
        { tools: [slow] },
      );
      expect(running.task.asks).toHaveLength(1);
      await running.advance("1 minute");

      expect(running.text).toBe("true");
    });

    test("with a race that it lost, when its caller ends", async () => {
      const running = await startTool(
        calling(async (ctx) => await Promise.race([ctx.call(slow, {}), ctx.sleep("patience", "1 hour").then(() => "gave up")])),
        {},
        { tools: [slow] },
      );
      expect(running.task.status).toBe("input_required");
      await running.advance("1 hour");

      expect([running.text, running.task.asks]).toStrictEqual(["gave up", []]);
    });

    test("with a caller that does not wait for it, and with one that is cancelled", async () => {
      const cancelled: string[] = [];
      const undone = defineTool({
        name: "undone",
        async run(_args, ctx) {
          await ctx.step("hold", () => "held");
          await ctx.confirm("ok", { message: "OK?" });
          return "kept";
        },
        compensate: (_args, ctx) => void cancelled.push(...ctx.done.map(({ key }) => key)),
      });
      const careless = calling(async (ctx) => {
        ctx.call(undone, {}).catch(() => undefined);
        await ctx.sleep("a-while", "1 hour");
        return "ended";
      });
      const ending = await startTool(careless, {}, { tools: [undone] });
      expect(ending.task.asks).toHaveLength(1);
      await ending.advance("1 hour");
      expect([ending.text, cancelled.splice(0)]).toStrictEqual(["ended", ["hold"]]);

      const stopped = await startTool(careless, {}, { tools: [undone] });
      await stopped.cancel();
      expect([stopped.task.status, stopped.task.asks, cancelled]).toStrictEqual(["cancelled", [], ["hold"]]);
    });
  });

  test("and is exported as an open call, without the child's questions", async () => {
    const running = await startTool(
      calling((ctx) => ctx.call(bookHotel, { city: "Bergen" }, { key: "hotel" }).then(JSON.stringify)),
      {},
      { tools: [bookHotel] },
    );

    expect(await running.exported()).toMatchObject({
      asks: [],
      calls: [{ key: "call:hotel", request: { type: "call", tool: "book_hotel" } }],
    });
  });

  test("the types of a tool's arguments and result are known", () => {
    const check = (ctx: Context) => {
      expectTypeOf(ctx.call(bookHotel, { city: "Oslo" })).resolves.toEqualTypeOf<{ hotel: string; nights: number }>();
      expectTypeOf(ctx.call(shout, { word: "a" })).resolves.toEqualTypeOf<string>();
      expectTypeOf(ctx.call("shout", { word: "a" })).resolves.toEqualTypeOf<unknown>();
      // @ts-expect-error a number is no city
      void ctx.call(bookHotel, { city: 1 });
      // @ts-expect-error the city is missing
      void ctx.call(bookHotel, {});
    };
    expect(check).toBeTypeOf("function");
  });
});
