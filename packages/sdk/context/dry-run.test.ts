import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject, ParleyError, Tool } from "@parley/core";
import { leastContent } from "./dry-run.ts";
import { type Context, type Secret, type ToolGenerator, defineTool, dryRun } from "../index.ts";
import { MESSAGE_WANTED } from "../asks/wrong-ask.ts";

function asking(run: (ctx: Context) => ToolGenerator | Promise<string>) {
  return defineTool({ name: "tool", run: (_args, ctx) => run(ctx) });
}

describe("a dry run", () => {
  test("lists what a tool would ask, without side effects", async () => {
    const done: string[] = [];
    const tool = defineTool({
      name: "book",
      input: z.object({ day: z.string() }),
      async run({ day }, ctx) {
        await ctx.step("hold", () => done.push("hold"));
        const size = await ctx.number("size", { message: `How many on ${day}?`, min: 2 });
        if (size > 5) await ctx.confirm("large", { message: "So many?", to: "tenant" });
        await ctx.sleep("night", "1 day");
        await ctx.url("pay", { message: "Pay", url: "https://pay.example/" });
        return "x";
      },
    });
    const plan = await dryRun(tool, { day: "Monday" });
    expect(plan).toEqual({
      asks: [
        { name: "size", type: "form", message: "How many on Monday?", schema: expect.objectContaining({ required: ["value"] }) },
        { name: "pay", type: "url", message: "Pay", url: "https://pay.example/" },
      ],
      steps: ["hold"],
    });
    expect(done).toEqual([]);
    const many = await dryRun(tool, { day: "Monday" }, { answers: { size: 6 } });
    expect(many.asks.map(({ name, audience }) => [name, audience])).toEqual([
      ["size", undefined],
      ["large", { to: "tenant" }],
      ["pay", undefined],
    ]);
    await expect(dryRun(tool, { day: 1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  });

  test("handles every kind of ask of a generator, and what comes after its steps", async () => {
    const { asks, stopped } = await dryRun(
      asking(function* () {
        const plans: string[] = yield { step: "plans", run: () => ["a"] };
        yield [
          { ask: "text", message: "T", minLength: 3 },
          { ask: "date", message: "D", min: "2025-01-01" },
          { ask: "select", id: "one", message: "S", options: plans },
        ];
        yield { ask: "select", id: "many", message: "S", options: plans, multi: true, minItems: 1 };
        yield {
          ask: "form",
          id: "f",
          message: "F",
          schema: { type: "object", properties: { mail: { type: "string", format: "email" } }, required: ["mail"] },
        };
      }),
      {},
      { steps: { plans: ["b", "c"] } },
    );
    expect(stopped).toBeUndefined();
    expect(asks.map(({ name }) => name)).toEqual(["ask_0", "ask_1", "one", "many", "f"]);
    expect(asks[2]?.schema).toMatchObject({ properties: { value: { enum: ["b", "c"] } } });
  });

  test("passes a page for a secret, whose steps are not run", async () => {
    const plan = await dryRun(
      asking(function* () {
        const key: Secret = yield { ask: "secret", id: "key", message: "Your key?" };
        yield { step: "use", run: () => key.reveal() };
        yield { ask: "text", id: "name", message: "?" };
      }),
    );
    expect([plan.asks.map(({ name, type }) => [name, type]), plan.steps, plan.stopped]).toEqual([
      [
        ["key", "url"],
        ["name", "form"],
      ],
      ["use"],
      undefined,
    ]);
  });

  test.each<[string, Parameters<typeof asking>[0], string, number]>([
    ["that throws", (ctx) => ctx.text("q", { message: "?" }).then(() => Promise.reject(new Error("broken"))), "broken", 1],
    [
      "that throws something that is not an error",
      () => {
        throw "broken"; // oxlint-disable-line no-throw-literal, typescript/only-throw-error -- what a tool may do
      },
      "broken",
      0,
    ],
    [
      "that says that it failed",
      () =>
        ({
          content: [
            { type: "text", text: "one" },
            { type: "image", data: "", mimeType: "image/png" },
            { type: "text", text: "two" },
          ],
          isError: true,
        }) as never,
      "one\n\ntwo",
      0,
    ],
    [
      "whose answer must be given",
      (ctx) => ctx.text("q", { message: "?", pattern: "^A$" }),
      'no answer could be made up for "q": give one in answers',
      1,
    ],
    [
      "whose schema wants more than its form says",
      (ctx) => ctx.date("q", { message: "?", min: "2027-01-01" }),
      'it refuses the answer that was made up for "q": give one in answers',
      1,
    ],
    [
      "that asks without end",
      async (ctx) => {
        for (;;) await ctx.text("q", { message: "?" });
      },
      "it asks 100 times or more",
      100,
    ],
    [
      "that works without end",
      async (ctx) => {
        for (;;) await ctx.step("s", () => 1);
      },
      "it has 10000 effects or more",
      0,
    ],
    [
      "that sleeps without end",
      async (ctx) => {
        for (;;) await ctx.sleep("s", "1 day");
      },
      "it has 10000 effects or more",
      0,
    ],
    [
      "that calls without end",
      async (ctx) => {
        for (;;) await ctx.call("other", {});
      },
      "it has 10000 effects or more",
      0,
    ],
    ["that begins again", (ctx) => ctx.restart({}), "it begins again", 0],
    ["that asks wrongly", (ctx) => ctx.text("q", { message: "" }), `the ask "q" is invalid: /message ${MESSAGE_WANTED}`, 0],
    [
      "that waits for what cannot be made up",
      (ctx) =>
        ctx
          .event("paid", { schema: { type: "number" } })
          .received()
          .then(String),
      'no body could be made up for the event "paid": give one in answers',
      0,
    ],
  ])("of a tool %s says so", async (_what, run, stopped, asked) => {
    const plan = await dryRun(asking(run));
    expect(plan.stopped).toBe(stopped);
    expect(plan.asks).toHaveLength(asked);
  });

  test("ends at its limits of questions and effects, and no sooner", async () => {
    const times = (count: number, work: (ctx: Context) => Promise<unknown>) =>
      asking(async (ctx) => {
        for (let n = 0; n < count; n += 1) await work(ctx);
        return "x";
      });
    const questions = await dryRun(times(99, (ctx) => ctx.text("q", { message: "?" })));
    expect([questions.asks.length, questions.asks.at(-1)?.name, questions.stopped]).toStrictEqual([99, "q#99", undefined]);
    const things = await dryRun(times(10_000, (ctx) => ctx.step("s", () => 1)));
    expect([things.steps.length, things.steps.at(-1), things.stopped]).toStrictEqual([10_000, "s#10000", undefined]);
  });

  test("refuses arguments that the tool would refuse, and says which", async () => {
    const tool = defineTool({ name: "tool", input: z.object({ n: z.int() }), run: () => "" });
    const refused = (await dryRun(tool, { n: "x" }).catch((error: unknown) => error)) as ParleyError;
    expect([refused.code, refused.message, refused.violations]).toStrictEqual([
      "INVALID_ARGUMENTS",
      "invalid arguments for tool tool",
      [{ path: "/n", message: "Invalid input: expected number, received string" }],
    ]);
  });

  test("has facts of its own, the same each time", async () => {
    let seen: unknown;
    const tool = asking(async (ctx) => {
      const before = ctx.now();
      await ctx.sleep("nap", "1 day");
      const event = ctx.event("paid");
      seen = [
        ctx.taskId,
        ctx.principal,
        ctx.capabilities,
        ctx.signal.aborted,
        before,
        ctx.now(),
        ctx.random(),
        ctx.uuid(),
        ctx.patched("new"),
        ctx.answeredBy("q"),
        event.token,
        event.url,
        await event.received(),
      ];
      ctx.deprecatePatch("new");
      ctx.status("working");
      ctx.progress(1);
      ctx.immediateResponse("text");
      ctx.announce({ type: "tools" } as never);
      return "x";
    });
    expect(await dryRun(tool)).toStrictEqual({ asks: [], steps: [] });
    expect(seen).toStrictEqual([
      "dry-run",
      "dry-run",
      { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true },
      false,
      new Date("2026-01-01T00:00:00Z"),
      new Date("2026-01-02T00:00:00Z"),
      0.5,
      "00000000-0000-4000-8000-000000000000",
      true,
      { principal: "dry-run", isCaller: true },
      "dry-run",
      "https://parley.invalid/events/dry-run",
      {},
    ]);
    await dryRun(tool, {}, { now: new Date("2027-01-01T00:00:00Z"), answers: { paid: { amount: 1 } } });
    expect(seen).toMatchObject({ 4: new Date("2027-01-01T00:00:00Z"), 5: new Date("2027-01-02T00:00:00Z"), 12: { amount: 1 } });
  });

  test("returns the given results of steps and calls, by their key or by their name", async () => {
    const tool = asking(async (ctx) => {
      const steps = [await ctx.step("s", () => 1), await ctx.step("s", () => 1), await ctx.step("none", () => 1)];
      const calls = [
        await ctx.call("data", {}),
        await ctx.call("text", {}),
        await ctx.call("text", {}),
        await ctx.call("list", {}),
        await ctx.call("nothing", {}),
        await ctx.call("none", {}),
      ];
      throw new Error(JSON.stringify([steps, calls]));
    });
    const results = { s: 1, "s#2": 2, data: { a: 1 }, text: "one", "text#2": "two", list: [1], nothing: null };
    const { steps, stopped } = await dryRun(tool, {}, { steps: results });
    expect(JSON.parse(stopped ?? "")).toStrictEqual([
      [1, 2, null],
      [{ a: 1 }, "one", "two", "", "", ""],
    ]);
    expect(steps).toStrictEqual(["s", "s#2", "none"]);
  });

  test("names the questions and steps of branches, which nest and run concurrently", async () => {
    const tool = asking(async (ctx) => {
      await Promise.all(
        ["a", "b"].map((key) =>
          ctx.branch(key, async () => {
            const inner = ctx.branch("c", async () => ctx.step("s", () => 1));
            const beside = ctx.step("s", () => 1);
            await Promise.all([inner, beside]);
          }),
        ),
      );
      await ctx.step("s", () => 1);
      return "x";
    });
    expect((await dryRun(tool)).steps).toStrictEqual(["a/c/s", "a/s", "b/c/s", "b/s", "s"]);
  });

  test("shows the client's own questions by their kind, and makes up their answers", async () => {
    const tool = asking(async (ctx) => {
      const made = await ctx.sample("model", { messages: [], maxTokens: 1 });
      const given = await ctx.sample("given", { messages: [], maxTokens: 1 });
      throw new Error(JSON.stringify([made, given, await ctx.roots()]));
    });
    const { asks, stopped } = await dryRun(tool, {}, { answers: { given: "Paris" } });
    expect(asks).toStrictEqual([
      { name: "model", type: "sampling" },
      { name: "given", type: "sampling" },
      { name: "roots", type: "roots" },
    ]);
    const reply = (text: string) => ({ role: "assistant", content: { type: "text", text }, model: "dry-run" });
    expect(JSON.parse(stopped ?? "")).toStrictEqual([reply(""), reply("Paris"), []]);
  });

  test("passes every page of Parley's own with what it would have collected", async () => {
    const url = "https://shop.example/pay";
    const tool = asking(async (ctx) => {
      const secret = await ctx.secret("secret", { message: "S" });
      const grant = await ctx.oauth("grant", { message: "G", provider: "google", scopes: ["read"] });
      const file = await ctx.file("file", { message: "F" });
      const query = await ctx.url("visit", { message: "V", url, returnTo: "back" });
      const content = await new Response(await ctx.openFile(file)).text();
      const page = await ctx.elicit("page", { message: "P", url });
      throw new Error(
        JSON.stringify([
          await secret.reveal(),
          grant.provider,
          grant.scopes,
          await grant.accessToken(),
          file,
          query,
          content,
          page ?? "none",
        ]),
      );
    });
    const { asks, stopped } = await dryRun(tool);
    expect(JSON.parse(stopped ?? "")).toStrictEqual([
      "left on the page of dry-run",
      "google",
      ["read"],
      "token for dry-run",
      { id: "dry-run", name: "made-up", type: "application/octet-stream", size: 7, sha256: "" },
      {},
      "made up",
      "none",
    ]);
    expect(asks).toStrictEqual([
      { name: "secret", type: "url", message: "S", url: "" },
      { name: "grant", type: "url", message: "G", url: "" },
      { name: "file", type: "url", message: "F", url: "" },
      { name: "visit", type: "url", message: "V", url },
      { name: "page", type: "url", message: "P", url },
    ]);
  });

  test("hands a tool without ctx what the engine would hand it", async () => {
    const seen: unknown[] = [];
    const tool: Tool = {
      ...asking(async () => "x"),
      async run(_args, { ask, callTool, tookPatch }) {
        const called = async (name: string) => await callTool(name, { tool: "child", arguments: {} });
        seen.push(
          await ask("link", { type: "url", message: "?", url: "https://pay.example/" }),
          await ask("visit", {
            type: "url",
            message: "?",
            url: "",
            page: { kind: "visit", url: "https://pay.example/", returnTo: "back" },
          }),
          await ask("roots", { type: "roots" }),
          await called("data"),
          await called("text"),
          await called("list"),
          await called("nothing"),
          await called("none"),
          tookPatch("change"),
        );
        return {};
      },
    };
    const { asks } = await dryRun(tool, {}, { steps: { data: { a: 1 }, text: "one", list: [1], nothing: null } });
    const result = (text: string) => ({ type: "result", result: { content: [{ type: "text", text }] } });
    expect(seen).toStrictEqual([
      { action: "accept" },
      { action: "accept", content: { query: {} } },
      { action: "reply", result: { roots: [] } },
      { type: "result", result: { content: [{ type: "text", text: "" }], structuredContent: { a: 1 } } },
      result("one"),
      result(""),
      result(""),
      result(""),
      false,
    ]);
    expect(asks.map(({ url }) => url)).toStrictEqual(["https://pay.example/", "https://pay.example/", undefined]);
  });

  test("stops at a quorum whose form accepts nothing that could be made up", async () => {
    const schema = z.object({ code: z.string().regex(/^[A-Z]{3}$/) });
    const tool = asking(async (ctx) => {
      await ctx.elicit("pay", { message: "?", schema, to: { groups: ["finance"] }, quorum: 2 });
      return "x";
    });
    expect((await dryRun(tool)).stopped).toBe('no answer could be made up for "pay": give one in answers');
  });

  test("makes up as many acceptances as a quorum requires", async () => {
    const schema = z.object({ note: z.string().default("-") });
    const tool = asking(async (ctx) => {
      throw new Error(JSON.stringify(await ctx.elicit("pay", { message: "?", schema, to: { groups: ["finance"] }, quorum: 2 })));
    });
    const { asks, stopped } = await dryRun(tool);
    const at = "2026-01-01T00:00:00.000Z";
    expect(JSON.parse(stopped ?? "")).toStrictEqual([
      { principal: "dry-run 1", isCaller: false, content: { note: "-" }, at },
      { principal: "dry-run 2", isCaller: false, content: { note: "-" }, at },
    ]);
    expect(asks).toMatchObject([{ name: "pay", audience: { to: { groups: ["finance"] }, quorum: 2 } }]);
  });
});

describe("the smallest content of a form", () => {
  test.each<[string, JsonObject, unknown]>([
    ["yes", { type: "boolean" }, true],
    ["its default", { type: "boolean", default: false }, false],
    ["zero", { type: "number" }, 0],
    ["the least number", { type: "integer", minimum: 3, maximum: 5 }, 3],
    ["the most, below zero", { type: "number", maximum: -2 }, -2],
    ["zero, where more may be", { type: "number", maximum: 2 }, 0],
    ["the first choice", { enum: ["a", "b"] }, "a"],
    ["as many choices as must be", { type: "array", minItems: 2, items: { enum: ["a", "b", "c"] } }, ["a", "b"]],
    ["no choice, where none must be", { type: "array", items: { enum: ["a"] } }, []],
    ["a character", { type: "string" }, "x"],
    ["as many as must be", { type: "string", minLength: 3 }, "xxx"],
    ["none, where none must be", { type: "string", minLength: 0 }, ""],
    ["as many as are worth it", { type: "string", minLength: 10_001 }, "x".repeat(10_000)],
    ["a day", { type: "string", format: "date", minLength: 3 }, "2026-01-01"],
    ["a moment", { type: "string", format: "date-time" }, "2026-01-01T00:00:00Z"],
    ["an address", { type: "string", format: "email" }, "ada@example.com"],
    ["a page", { type: "string", format: "uri" }, "https://example.com/"],
  ])("is %s", (_what, property, least) => {
    const schema = { type: "object", properties: { field: property, more: { type: "string" } }, required: ["field"] };
    expect(leastContent(schema)).toStrictEqual({ field: least });
  });

  test("is replaced by given answers: the content, or the value of the one field", async () => {
    const tool = asking(async (ctx) => {
      const schema: JsonObject = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] };
      const form = { message: "?", schema };
      const got = [await ctx.elicit("none", form), await ctx.elicit("content", form), await ctx.elicit("value", form)];
      throw new Error(JSON.stringify(got));
    });
    const { stopped } = await dryRun(tool, {}, { answers: { content: { a: "c" }, value: "v" } });
    expect(JSON.parse(stopped ?? "")).toStrictEqual([{ a: "x" }, { a: "c" }, { a: "v" }]);
    const several = asking(async (ctx) => {
      throw new Error(JSON.stringify(await ctx.select("q", { message: "?", options: ["a", "b"], multi: true })));
    });
    expect((await dryRun(several, {}, { answers: { q: ["b"] } })).stopped).toBe('["b"]');
    expect(
      (
        await dryRun(
          asking((ctx) => ctx.elicit("q", { message: "?", schema: { type: "object" } }).then(String)),
          {},
          { answers: { q: 1 } },
        )
      ).stopped,
    ).toBe(undefined);
  });
});
