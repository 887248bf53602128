import { describe, expect, test } from "vitest";
import type { JsonObject } from "@parley/core";
import { z } from "zod";
import { DefinitionError } from "../failures.ts";
import { defineTool, jsonSchema, type Schema } from "../index.ts";
import { isValid, judgePatterns } from "./patterns.ts";
import { check } from "./schema.ts";
import { runTool } from "../testing/testing.ts";

const EVIL = "^(a+)+$";
const EMAIL = "^[^@]+@[^@]+\\.[^@]+$"; // the square of the length: 2,000 characters are allowed

function refusal(input: Schema): DefinitionError {
  try {
    defineTool({ name: "tool", input, run: () => "done" });
  } catch (error) {
    if (error instanceof DefinitionError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}
const pathsOf = (schema: JsonObject) => judgePatterns(schema).problems.map(({ path }) => path);

describe("a pattern with exponential backtracking", () => {
  test("is refused at definition, with the path of its field, in a Standard Schema and in JSON Schema", () => {
    for (const input of [
      z.object({ name: z.string(), code: z.string().regex(/^(a+)+$/) }),
      jsonSchema({ type: "object", properties: { code: { type: "string", pattern: EVIL } } }),
    ]) {
      const { message, violations } = refusal(input);
      expect(message).toMatch(/^the input of tool tool: \/code has the pattern \/\^\(a\+\)\+\$\/u?, which takes time that doubles/);
      expect(violations).toMatchObject([{ path: "/code" }]);
    }
  });

  test("is found anywhere in a schema", () => {
    const evil = { type: "string", pattern: EVIL };
    const object = (more: JsonObject): JsonObject => ({ type: "object", ...more });
    expect(pathsOf(object({ properties: { "a/b": evil, fine: { type: "string", pattern: "^a+$" } } }))).toEqual(["/a~1b"]);
    expect(pathsOf(object({ properties: { deep: object({ properties: { list: { type: "array", items: evil } } }) } }))).toEqual([
      "/deep/list/*",
    ]);
    expect(pathsOf(object({ properties: { pair: { prefixItems: [{}, evil] }, old: { items: [evil] } } }))).toEqual(["/pair/*", "/old/*"]);
    for (const keyword of ["allOf", "anyOf", "oneOf"])
      expect(pathsOf(object({ properties: { a: { [keyword]: [{}, evil] } } }))).toEqual(["/a"]);
    for (const keyword of ["not", "if", "then", "else"])
      expect(pathsOf(object({ properties: { a: { [keyword]: evil } } }))).toEqual(["/a"]);
    expect(pathsOf(object({ additionalProperties: evil }))).toEqual(["/*"]);
    expect(pathsOf(object({ patternProperties: { [EVIL]: {} } }))).toEqual(["/*"]);
    expect(pathsOf(object({ patternProperties: { "^x": evil } }))).toEqual(["/*"]);
    expect(pathsOf(object({ propertyNames: evil }))).toEqual(["/*"]);
    expect(pathsOf(object({ dependentSchemas: { a: { properties: { b: evil } } } }))).toEqual(["/b"]);
    expect(pathsOf(object({ $defs: { code: evil, unused: evil }, properties: { a: { $ref: "#/$defs/code" } } }))).toEqual(["/a"]);
    expect(pathsOf(object({ properties: { again: { $ref: "#" }, a: evil } }))).toEqual(["/again/a", "/a"]);
    expect(pathsOf(object({ $defs: { "a/~b": evil }, properties: { "~": { $ref: "#/$defs/a~1~0b" } } }))).toEqual(["/~0"]);
    expect(pathsOf(object({ $defs: { list: [{}, evil] }, properties: { a: { $ref: "#/$defs/list/1" } } }))).toEqual(["/a"]);
  });

  test("is ignored in data and in unreferenced definitions", () => {
    expect(
      pathsOf({ type: "object", default: { pattern: EVIL }, examples: [{ pattern: EVIL }], properties: { pattern: { const: EVIL } } }),
    ).toEqual([]);
    expect(pathsOf({ type: "object", properties: { a: { $ref: "#/$defs/none" }, b: { $ref: "https://example.com" } } })).toEqual([]);
    expect(pathsOf({ $defs: { code: { pattern: EVIL } }, properties: { a: { $ref: "other.json#x/$defs/code" } } })).toEqual([]);
  });

  test("is judged with the flags that the validator uses, which JSON Schema does not have", () => {
    expect(() => defineTool({ name: "tool", input: z.object({ a: z.string().regex(/^([A-Z][a-z]+)+$/) }), run: () => "" })).not.toThrow();
    expect(refusal(z.object({ a: z.string().regex(/^([A-Z][a-z]+)+$/i) })).message).toContain("/^([A-Z][a-z]+)+$/i, which");
    const stacked = z.object({
      a: z
        .string()
        .max(10)
        .regex(/^b/)
        .regex(/^(a|A)*$/i),
    });
    expect(refusal(stacked).violations).toMatchObject([{ path: "/a" }]);
    expect(refusal(z.object({ r: z.record(z.string().regex(/^(a+)+$/), z.string()) })).violations).toMatchObject([{ path: "/r/*" }]);
  });

  test("is refused in a question before anyone sees it, with the path of its field", async () => {
    for (const schema of [
      z.object({ code: z.string().regex(/^(a+)+$/) }),
      { type: "object", properties: { code: { type: "string", pattern: EVIL } } },
    ]) {
      const run = await runTool(
        defineTool({
          name: "tool",
          run: async (_args, ctx) => void (await ctx.elicit("question", { message: "?", schema: schema as Schema })),
        }),
      );
      expect(run.asks).toEqual([]);
      expect(run.error).toMatchObject({
        data: { code: "INVALID_ASK", violations: [{ path: "/code", message: expect.stringContaining(EVIL) }] },
      });
    }
  });

  test("that cannot be parsed is refused, and in a question also one that forms cannot have", async () => {
    const [problem] = judgePatterns({ type: "object", properties: { a: { pattern: "(" } } }).problems;
    expect(problem).toEqual({ path: "/a", message: expect.stringMatching(/^has the pattern \/\(\/, which cannot be judged: /) });
    expect([isValid("(", "u"), isValid("a", "u")]).toStrictEqual([false, true]);
    const [long] = judgePatterns({ pattern: `(${"a".repeat(100)}` }).problems;
    expect(long?.message).toContain(`has the pattern /(${"a".repeat(99)}…/, which`);
    const [whole] = judgePatterns({ pattern: `(${"a".repeat(99)}` }).problems;
    expect(whole?.message).toContain(`has the pattern /(${"a".repeat(99)}/, which`);
    const run = await runTool(
      defineTool({
        name: "tool",
        run: async (_args, ctx) => void (await ctx.elicit("q", { message: "?", schema: z.object({ a: z.string().regex(/^[\w-.]+$/) }) })),
      }),
    );
    expect(run.error).toMatchObject({ data: { violations: [{ path: "/a", message: expect.stringContaining("flag u") }] } });
  });

  test("is not in any of zod's formats", () => {
    const formats = [
      z.email(),
      z.url(),
      z.httpUrl(),
      z.uuid(),
      z.guid(),
      z.cuid(),
      z.cuid2(),
      z.ulid(),
      z.nanoid(),
      z.xid(),
      z.ksuid(),
      z.emoji(),
      z.base64(),
      z.base64url(),
      z.jwt(),
      z.e164(),
      z.ipv4(),
      z.ipv6(),
      z.cidrv4(),
      z.cidrv6(),
      z.hostname(),
      z.hex(),
      z.hash("sha256"),
      z.iso.date(),
      z.iso.time(),
      z.iso.datetime(),
      z.iso.datetime({ offset: true, local: true }),
      z.iso.duration(),
      z.string().lowercase(),
      z.string().startsWith("a"),
      z.string().endsWith("a"),
      z.templateLiteral(["a", z.number()]),
    ];
    for (const format of formats) {
      const json = JSON.stringify(z.toJSONSchema(format));
      const a = "max" in format ? format.max(100) : format;
      expect(() => defineTool({ name: "tool", input: z.object({ a }), run: () => "" }), json).not.toThrow();
    }
  });
});

describe("a pattern with more than linear cost", () => {
  test("needs a maxLength, at the limit and one beyond", () => {
    const limited = (maxLength?: number): JsonObject => ({
      type: "object",
      properties: { a: { type: "string", pattern: EMAIL, ...(maxLength !== undefined && { maxLength }) } },
    });
    expect(pathsOf(limited(2_000))).toEqual([]);
    expect(pathsOf(limited(2_001))).toEqual(["/a"]);
    const slow = (pattern: string, power: string, most: number) =>
      `has the pattern /${pattern}/u, which takes time that grows with ${power} of a text's length: limit the text to ${most} characters (maxLength), anchor the pattern, or rewrite it`;
    expect(judgePatterns(limited()).problems).toStrictEqual([{ path: "/a", message: slow(EMAIL, "the square", 2_000) }]);
    const cubic = "^\\S+@\\S+\\.\\S+$";
    expect(judgePatterns({ type: "string", pattern: cubic }).problems).toStrictEqual([
      { path: "", message: slow(cubic, "the power of 3", 158) },
    ]);
  });

  test("is refused if a text of a few characters matches in millions of ways", () => {
    expect(pathsOf({ pattern: `^${"a{0,64}".repeat(3)}b` })).toEqual([]);
    const slow = `^${"a{0,64}".repeat(4)}b`;
    expect(judgePatterns({ pattern: slow, maxLength: 10 }).problems).toStrictEqual([
      {
        path: "",
        message: `has the pattern /${slow}/u, whose repetitions and alternatives some texts match in more than 4000000 ways: rewrite it so that a text can match in one way only`,
      },
    ]);
  });

  test("needs a shorter maxLength, the more ways its texts match in", () => {
    const pattern = "a{0,64}a{0,64}b";
    expect(pathsOf({ pattern, maxLength: 946 })).toEqual([]);
    expect(judgePatterns({ pattern, maxLength: 947 }).problems).toStrictEqual([
      {
        path: "",
        message: `has the pattern /${pattern}/u, which takes time 4225 times a text's length: limit the text to 946 characters (maxLength), anchor the pattern, or rewrite it`,
      },
    ]);
  });

  test("may have it beside the pattern or in another part of the same schema", () => {
    expect(pathsOf({ allOf: [{ maxLength: 100 }, { pattern: EMAIL }] })).toEqual([]);
    expect(pathsOf({ maxLength: 100, anyOf: [{ pattern: EMAIL }] })).toEqual([]);
    expect(pathsOf({ anyOf: [{ maxLength: 100 }, { pattern: EMAIL }] })).toEqual([""]);
    expect(pathsOf({ maxLength: 100, $ref: "#/$defs/a", $defs: { a: { pattern: EMAIL } } })).toEqual([]);
    expect(pathsOf({ maxLength: 5_000, allOf: [{ maxLength: 100 }, { maxLength: "1" }, true], pattern: EMAIL })).toEqual([]);
    expect(pathsOf({ maxLength: 100, allOf: [{ maxLength: 5_000 }], pattern: EMAIL })).toEqual([]);
    // A surrounding keyword of another kind does not bound the field's length.
    expect(pathsOf({ maxLength: 100, properties: { a: { pattern: EMAIL } }, items: { pattern: EMAIL } })).toEqual(["/a", "/*"]);
  });

  test("is refused in a recursive schema, where no length can be enforced", () => {
    const tree = z.object({
      mail: z.string().max(100).regex(new RegExp(EMAIL)),
      get next() {
        return tree.optional();
      },
    });
    expect(refusal(tree).violations).toStrictEqual([
      {
        path: "/next/mail",
        message: `has the pattern /${EMAIL}/u, which takes more time than its texts are long, in a schema that contains itself: rewrite the pattern`,
      },
    ]);
  });

  const deep = z.object({
    one: z.string().max(100).regex(new RegExp(EMAIL)).optional(),
    list: z.array(z.object({ "a/b": z.string().max(100).regex(new RegExp(EMAIL)) })).optional(),
    keys: z.record(z.string().max(100).regex(new RegExp(EMAIL)), z.number()).optional(),
    free: z
      .object({ known: z.string() })
      .catchall(z.string().max(100).regex(new RegExp(EMAIL)))
      .optional(),
  });
  defineTool({ name: "tool", input: deep, run: () => "done" });

  test.each([
    [{ one: "@".repeat(201) }, "/one"],
    [{ list: [{ "a/b": "a@b.c" }, { "a/b": "@".repeat(201) }] }, "/list/1/a~1b"],
    [{ keys: { ["@".repeat(201)]: 1 } }, "/keys/*"],
    [{ free: { known: "x", other: "@".repeat(201) } }, "/free/other"],
  ])("is never tried on a longer string: %#", async (value, path) => {
    expect(await check(deep, value)).toEqual({ ok: false, violations: [{ path, message: "must have at most 100 characters" }] });
  });

  test("leaves shorter strings, and values that are not strings, to the schema itself", async () => {
    expect(await check(deep, { one: "a@b.c", free: { known: "x".repeat(10_000) } })).toMatchObject({ ok: true });
    expect(await check(deep, { one: "@".repeat(200) })).toMatchObject({ violations: [{ path: "/one" }, { path: "/one" }] });
    for (const value of [null, "text", { one: 5 }, { list: {} }]) expect((await check(deep, value)).ok).toBe(false);
  });

  test("is reported once per string, by its path in JSON Schema's form", () => {
    const mail = { type: "string", maxLength: 100, allOf: [{ pattern: EMAIL }, { pattern: `${EMAIL}|x` }] };
    const { problems, tooLong } = judgePatterns({ properties: { "a~/b": mail, c: { items: mail } } });
    const long = "@".repeat(201);
    const message = "must have at most 100 characters";
    expect(problems).toStrictEqual([]);
    expect(tooLong?.({ "a~/b": long, c: ["", long] })).toStrictEqual([
      { path: "/a~0~1b", message },
      { path: "/c/1", message },
    ]);
    for (const fine of [null, "text", 5, {}, { "a~/b": Array(201).fill("@") }, { c: "text" }, { c: null }])
      expect(tooLong?.(fine)).toStrictEqual([]);
  });

  test("is judged fast, even with a megabyte", async () => {
    const before = process.threadCpuUsage();
    await check(deep, { one: "@.".repeat(500_000), list: [{ "a/b": "@.".repeat(500_000) }] });
    const { user, system } = process.threadCpuUsage(before);
    expect(user + system).toBeLessThan(500_000);
  });
});

test("an ISO duration of zod is linear, although it looks ahead", () => {
  const duration = z.toJSONSchema(z.object({ at: z.iso.duration() })) as JsonObject;
  expect(judgePatterns(duration)).toEqual({ problems: [] });
  // The same pattern without the format of zod's is judged as any other.
  const { pattern } = (duration["properties"] as { readonly at: { readonly pattern: string } }).at;
  expect(judgePatterns({ type: "string", pattern }).problems).toHaveLength(1);
  const before = performance.now();
  expect(new RegExp(pattern, "u").test(`P${"1".repeat(1_000_000)}W1`)).toBe(false);
  expect(performance.now() - before).toBeLessThan(1_000);
});
