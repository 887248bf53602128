import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Context, type Secret, type ToolGenerator, defineTool, dryRun } from "./index.ts";

function asking(run: (ctx: Context) => ToolGenerator | Promise<string>) {
  return defineTool({ name: "tool", run: (_args, ctx) => run(ctx) });
}

describe("a dry run", () => {
  test("lists what a tool would ask, and does nothing", async () => {
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

  test("knows every kind of ask of a generator, and what comes after its steps", async () => {
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

  test("passes a page that takes a secret, whose steps are not run", async () => {
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

  test.each<[string, Parameters<typeof asking>[0], RegExp, number]>([
    ["that throws", (ctx) => ctx.text("q", { message: "?" }).then(() => Promise.reject(new Error("broken"))), /^broken$/, 1],
    ["whose answer must be given", (ctx) => ctx.text("q", { message: "?", pattern: "^A$" }), /no answer could be made up for "q"/, 1],
    [
      "whose schema wants more than its form says",
      (ctx) => ctx.date("q", { message: "?", min: "2027-01-01" }),
      /refuses the answer that was made up for "q"/,
      1,
    ],
    [
      "that asks without end",
      async (ctx) => {
        for (;;) await ctx.text("q", { message: "?" });
      },
      /asks 100 times/,
      100,
    ],
    [
      "that works without end",
      async (ctx) => {
        for (;;) await ctx.step("s", () => 1);
      },
      /10000 things/,
      0,
    ],
    ["that begins again", (ctx) => ctx.restart({}), /begins again/, 0],
    ["that asks wrongly", (ctx) => ctx.text("q", { message: "" }), /cannot be put/, 0],
  ])("of a tool %s says so", async (_what, run, stopped, asked) => {
    const plan = await dryRun(asking(run));
    expect(plan.stopped).toMatch(stopped);
    expect(plan.asks).toHaveLength(asked);
  });
});
