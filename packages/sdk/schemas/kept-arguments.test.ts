import { randomUUID } from "node:crypto";
import type { JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type Schema } from "../index.ts";
import { ImpureHandler, runTool, startTool } from "../testing/testing.ts";

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const day = z.iso.date();
const moment = z.iso.datetime().transform((text) => new Date(text));
/** Read differently each time, as what the clock and chance give is. */
let drawn = 0;
const draw = () => `drawn ${(drawn += 1)}`;

async function kept(input: Schema, args: JsonObject) {
  const read = await defineTool({ name: "tool", input, run: () => "done" }).readArguments(args);
  if (!read.ok) throw new Error("the arguments are refused");
  return read;
}

describe("what a schema draws is stored with the arguments", () => {
  test.each<[string, Schema, JsonObject, JsonObject]>([
    ["a default", z.object({ id: z.string().default(() => randomUUID()) }), {}, { id: UUID }],
    [
      "a default within a list",
      z.object({ l: z.array(z.object({ id: z.string().default(draw) })) }),
      { l: [{}] },
      { l: [{ id: expect.any(String) }] },
    ],
    [
      "a default of an object",
      z.object({ o: z.object({ id: z.string() }).default(() => ({ id: draw() })) }),
      {},
      { o: { id: expect.any(String) } },
    ],
    [
      "what stands for a missing text",
      z.object({
        id: z
          .string()
          .optional()
          .transform((id) => id ?? draw()),
      }),
      {},
      { id: expect.any(String) },
    ],
    [
      "what stands for a word",
      z.object({ on: z.union([z.literal("today"), day]).transform((on) => (on === "today" ? "2026-12-24" : on)) }),
      { on: "today" },
      { on: "2026-12-24" },
    ],
    ["a time", z.object({ at: moment.default(() => new Date()) }), {}, { at: expect.stringMatching(/^\d{4}-.*Z$/) }],
    ["what stands for an invalid value", z.object({ id: z.string().catch(draw) }), { id: 5 }, { id: expect.any(String) }],
  ])("%s", async (_what, input, args, stored) => {
    const read = await kept(input, args);
    expect(read).toStrictEqual({ ok: true, args: stored, sent: args });
    // No run draws again.
    expect(await kept(input, read.args)).toStrictEqual({ ok: true, args: read.args });
  });

  test("beside a transform that does not take its own result, at any depth", async () => {
    const item = z.object({ on: day.transform((on) => new Date(on)), id: z.string().default(draw) });
    const read = await kept(z.object({ id: z.string().default(draw), items: z.array(item) }), { items: [{ on: "2026-12-24", junk: 1 }] });
    expect(read).toStrictEqual({
      ok: true,
      args: { id: expect.any(String), items: [{ on: "2026-12-24", id: expect.any(String) }] },
      sent: { items: [{ on: "2026-12-24", junk: 1 }] },
    });
  });
});

test("what a schema draws beside something that JSON cannot hold is stored, and every run draws no more", async () => {
  const input = z.object({
    cents: z.string().transform(BigInt),
    tags: z.array(z.string()).transform((list) => new Set(list)),
    id: z.string().default(draw),
  });
  const read = await kept(input, { cents: "5", tags: ["a"] });
  expect(read).toStrictEqual({ ok: true, args: { cents: "5", tags: ["a"], id: expect.any(String) }, sent: { cents: "5", tags: ["a"] } });
  expect(await kept(input, read.args)).toStrictEqual({ ok: true, args: read.args });
});

describe("the arguments are stored as they were sent", () => {
  test.each<[string, Schema, JsonObject]>([
    ["where the schema changes nothing", z.object({ a: z.string(), b: z.int().optional() }), { a: "x" }],
    [
      "where a default is of another type than what is sent",
      z.object({
        n: z
          .string()
          .transform((text) => text.length)
          .default(3),
      }),
      {},
    ],
    ["where JSON cannot hold what it makes", z.object({ m: z.array(z.string()).transform((list) => new Set(list)) }), { m: ["a"] }],
    ["where a transform would be applied twice", z.object({ a: z.string().transform((text) => text.slice(1)) }), { a: "xyz" }],
    ["where a transform throws for its own result", z.object({ a: z.any().transform((text: string) => text.split(",")) }), { a: "x,y" }],
    [
      "where the schema makes something else of its own result, with the same JSON",
      z.object({ on: z.string().transform((text) => (text.startsWith("2026") ? text : new Date(text))) }),
      { on: "24 Dec 2026 00:00 UTC" },
    ],
    ["where it changes the shape", z.object({ a: z.string() }).transform(({ a }) => [a]), { a: "x" }],
  ])("%s", async (_what, input, args) => {
    expect(await kept(input, args)).toStrictEqual({ ok: true, args });
  });

  test("where only the private state of what it makes would tell the two apart", async () => {
    class Parcel {
      readonly #weight: string;
      constructor(weight: string) {
        this.#weight = weight;
      }
      toJSON() {
        return { weight: `${this.#weight}!` };
      }
    }
    const parcel = z.union([z.string(), z.object({ weight: z.string() })]);
    const input = z.object({ p: parcel.transform((p) => new Parcel(typeof p === "string" ? p : p.weight)) });
    expect(await kept(input, { p: "heavy" })).toStrictEqual({ ok: true, args: { p: "heavy" } });
  });
});

describe("every run of a handler sees the same arguments", () => {
  const seen: unknown[] = [];
  const asks = (input: Schema) =>
    defineTool({
      name: "asks",
      input,
      async run(args, ctx) {
        seen.push(args);
        await ctx.step("begin", () => "begun");
        await ctx.elicit("go", { message: "Go?", schema: z.object({ go: z.boolean() }) });
        return "gone";
      },
    });
  const answers = { go: { go: true } };

  test("with defaults that are drawn, wherever the worker dies", async () => {
    seen.length = 0;
    const input = z.object({ id: z.string().default(() => randomUUID()), at: moment.default(() => new Date()) });
    await runTool(asks(input), {}, { answers, crashAt: "every" });
    expect(seen.length).toBeGreaterThan(2);
    for (const args of seen) expect(args).toStrictEqual({ id: UUID, at: expect.any(Date) });
    expect(new Set(seen.map((args) => JSON.stringify(args))).size).toBe(1);
  });

  test("and the test kit refuses a schema that would draw again", async () => {
    const input = z.object({ a: z.string() }).transform(({ a }) => ({ a, id: randomUUID() }));
    await expect(startTool(asks(input), { a: "x" })).rejects.toThrow(ImpureHandler);
    await expect(startTool(asks(input), { a: "x" })).rejects.toThrow("crypto.randomUUID at");
  });
});
