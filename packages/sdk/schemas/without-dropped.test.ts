import { describe, expect, test, vi } from "vitest";
import type { JsonObject } from "@parley/core";
import { z } from "zod";
import { defineTool, jsonSchema, type Schema } from "../index.ts";

const kept = async (input: Schema, args: unknown) => {
  const read = await defineTool({ name: "tool", input, run: () => "done" }).readArguments(args as JsonObject);
  return read.ok ? (read.sent ?? read.args) : read.violations;
};
const junk = { junk: "x".repeat(10) };

describe("arguments that the schema does not know", () => {
  test("are dropped if it drops them, at any depth", async () => {
    const input = z.object({ a: z.string(), deep: z.object({ b: z.array(z.object({ c: z.number() })) }).optional() });
    expect(await kept(input, { a: "1", ...junk })).toEqual({ a: "1" });
    expect(await kept(input, { a: "1", deep: { b: [{ c: 1, ...junk }, { c: 2 }], ...junk }, ...junk })).toEqual({
      a: "1",
      deep: { b: [{ c: 1 }, { c: 2 }] },
    });
  });

  test("are dropped even if only one of several has some", async () => {
    const input = z.object({ a: z.string(), deep: z.object({ b: z.int() }), list: z.array(z.object({ c: z.int() })) });
    const args = { a: "1", deep: { b: 1, ...junk }, list: [{ c: 1 }, { c: 2, ...junk }] };
    expect(await kept(input, args)).toStrictEqual({ a: "1", deep: { b: 1 }, list: [{ c: 1 }, { c: 2 }] });
  });

  const item = z.object({ a: z.int().optional() });

  test.each<[string, z.ZodType, unknown]>([
    ["a shorter list", z.array(item).transform((list) => list.slice(0, 1)), [{ a: 1, ...junk }, { ...junk }]],
    ["no list", z.array(item).transform((list) => list.length), [{ ...junk }]],
    ["a number", item.transform(() => 5), { ...junk }],
    ["null", item.transform(() => null), { ...junk }],
    ["an object in place of null", z.null().transform(() => ({ a: 1 })), null],
  ])("are kept whole if it turns them into %s", async (_what, schema, value) => {
    expect(await kept(z.object({ value: schema }), { value })).toStrictEqual({ value });
  });

  test("are refused if it refuses them", async () => {
    expect(await kept(z.strictObject({ a: z.string() }), { a: "1", ...junk })).toMatchObject([
      { message: expect.stringContaining("junk") },
    ]);
    expect(await kept(jsonSchema({ type: "object", additionalProperties: false }), junk)).toEqual([
      { path: "/junk", message: "is not a known field" },
    ]);
    const none = await defineTool({ name: "tool", run: () => "done" }).readArguments(junk);
    expect(none).toEqual({ ok: false, violations: [{ path: "/junk", message: "is not known: the tool takes no arguments" }] });
  });

  test("are kept if it keeps them", async () => {
    const args = { a: "1", ...junk };
    for (const input of [
      z.looseObject({ a: z.string() }),
      z.object({ a: z.string() }).catchall(z.string()),
      z.record(z.string(), z.string()),
      jsonSchema({ type: "object", properties: { a: { type: "string" } } }),
    ]) {
      expect(await kept(input, args)).toBe(args);
    }
  });

  test("are dropped by the alternative that accepts the arguments", async () => {
    const input = z.union([z.object({ kind: z.literal("a"), a: z.string() }), z.looseObject({ kind: z.literal("b") })]);
    expect(await kept(input, { kind: "a", a: "1", ...junk })).toEqual({ kind: "a", a: "1" });
    expect(await kept(input, { kind: "b", ...junk })).toEqual({ kind: "b", ...junk });
  });

  test("may have any name, even one that every object has", async () => {
    const args = JSON.parse('{"a":"1","__proto__":{"polluted":1},"constructor":2,"toString":3}') as JsonObject;
    expect(await kept(z.object({ a: z.string() }), args)).toEqual({ a: "1" });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("arguments that the schema changes", () => {
  test("are still recognised as they were sent", async () => {
    const input = z.object({ at: z.iso.date().transform((day) => new Date(day)), count: z.coerce.number(), by: z.string().default("me") });
    const args = { at: "2026-12-24", count: "4" };
    expect(await kept(input, args)).toBe(args);
    expect(await kept(input, { ...args, ...junk })).toEqual(args);
  });

  test("are kept whole if the part that looks dropped matters", async () => {
    const args = { a: "1", dry: true };
    const fields = z.object({ a: z.string(), dry: z.boolean().optional() });
    for (const input of [
      fields.transform(({ a, dry }) => ({ a, mode: dry ? "dry" : "wet" })),
      fields.transform(({ a, dry }) => ({ renamed: a, how: dry })),
      fields.transform(({ a }) => a),
      z.looseObject({ a: z.string() }).transform((all) => ({ a: all.a, count: Object.keys(all).length })),
    ]) {
      expect(await kept(input as Schema, args)).toBe(args);
    }
  });

  test("are kept whole if they parse differently each time", async () => {
    let drawn = 0;
    const input = z.object({ id: z.string().default(() => `${(drawn += 1)}`) });
    const args = { ...junk };
    expect(await kept(input, args)).toBe(args);
  });
});

test("arguments without anything unknown are validated once", async () => {
  const judge = vi.fn<(value: string) => boolean>(() => true);
  const input = z.object({ a: z.string().refine(judge), list: z.array(z.object({ b: z.number() })) });
  const args = { a: "1", list: [{ b: 1 }] };
  expect(await kept(input, args)).toBe(args);
  expect(judge).toHaveBeenCalledTimes(1);
});
