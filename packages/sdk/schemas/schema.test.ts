import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { type JsonObject, VIOLATIONS_WANTED } from "@parley/core";
import { DefinitionError } from "../failures.ts";
import { type OutputOf, type Schema, check, jsonOf, jsonSchema } from "./schema.ts";

describe("jsonSchema", () => {
  test("keeps the given object itself", () => {
    const schema: JsonObject = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      "x-own": [1],
      $defs: { a: { $anchor: "a" } },
    };
    expect(jsonOf("it", jsonSchema(schema), "input")).toBe(schema);
  });

  test("validates by the schema, references and formats included, with paths", async () => {
    const schema = jsonSchema({
      type: "object",
      $defs: { day: { type: "string", format: "date" } },
      properties: { day: { $ref: "#/$defs/day" }, deep: { type: "object", properties: { "a/b": { enum: ["x", "y"] } } } },
      required: ["day"],
      additionalProperties: false,
    });
    expect(await check(schema, { day: "2026-11-21" })).toEqual({ ok: true, value: { day: "2026-11-21" } });
    expect(await check(schema, { day: "soon", deep: { "a/b": 1 }, more: 1 })).toEqual({
      ok: false,
      violations: expect.arrayContaining([
        { path: "/day", message: "must be a date that exists, such as 2026-12-24" },
        { path: "/deep/a~1b", message: 'must be one of "x", "y"' },
        { path: "/more", message: "is not a known field" },
      ]),
    });
  });

  test("lets a Standard Schema validate what JSON Schema cannot express", async () => {
    const schema = jsonSchema(
      { type: "object" },
      z.object({ n: z.number() }).transform(({ n }) => n * 2),
    );
    expectTypeOf<OutputOf<typeof schema>>().toEqualTypeOf<number>();
    expect(await check(schema, { n: 2 })).toEqual({ ok: true, value: 4 });
    expect(await check(schema, { n: "2" })).toMatchObject({ ok: false, violations: [{ path: "/n" }] });
  });

  test("refuses what is not JSON Schema, and keeps the cause", () => {
    expect(() => jsonSchema({ type: "nothing" })).toThrow(DefinitionError);
    const refused = caught(() => jsonSchema({ $ref: "#/$defs/missing" }));
    expect(refused.message).toMatch(/^this is not a valid JSON Schema: can't resolve reference #\/\$defs\/missing/);
    expect(refused.cause).toBeInstanceOf(Error);
  });

  test("has the properties that Standard Schema requires", () => {
    const json = { type: "object" };
    const standard = jsonSchema(json)["~standard"];
    expect({ ...standard }).toStrictEqual({
      version: 1,
      vendor: "parley",
      validate: expect.any(Function),
      jsonSchema: { input: expect.any(Function), output: expect.any(Function) },
    });
    const target = { target: "draft-2020-12" } as const;
    expect([standard.jsonSchema.input(target), standard.jsonSchema.output(target)]).toStrictEqual([json, json]);
    expect(standard.validate([])).toStrictEqual({ issues: [{ path: [], message: "must be an object" }] });
  });

  test("escapes field names that contain path characters", async () => {
    const schema = jsonSchema({ properties: { "a~1/b~": { type: "string" } } });
    expect(await check(schema, { "a~1/b~": 1 })).toStrictEqual({
      ok: false,
      violations: [{ path: "/a~01~1b~0", message: "must be a text" }],
    });
    expect(schema["~standard"].validate({ "a~1/b~": 1 })).toStrictEqual({ issues: [{ path: ["a~1/b~"], message: "must be a text" }] });
  });
});

describe("jsonOf", () => {
  test("drops what zod adds and no client needs, and changes no data", () => {
    const schema = z.object({ n: z.int().default(Number.MAX_SAFE_INTEGER), day: z.iso.date() });
    expect(jsonOf("it", schema, "input")).toEqual({
      type: "object",
      properties: { n: { type: "integer", default: Number.MAX_SAFE_INTEGER }, day: { type: "string", format: "date" } },
      required: ["day"],
    });
  });

  test("drops every redundant bound and pattern, and no other", () => {
    const number = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
    const shown = { minimum: Number.MAX_SAFE_INTEGER, maximum: Number.MIN_SAFE_INTEGER };
    const formats = ["date", "time", "date-time", "duration", "email", "uuid", "ipv4", "ipv6", "uri"];
    const patterned = (format: unknown) => ({ type: "string", format, pattern: "^a$" });
    const given = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      allOf: [{ ...number, title: "n" }, null, true],
      properties: {
        shown,
        ...Object.fromEntries(formats.map((format) => [format, patterned(format)])),
        hostname: patterned("hostname"),
        odd: patterned(5),
        plain: { pattern: "^a$" },
        data: { default: number, const: number, enum: [number], examples: [number], required: ["minimum"] },
      },
    };
    expect(jsonOf("it", converting(given), "output")).toStrictEqual({
      allOf: [{ title: "n" }, null, true],
      properties: {
        shown,
        ...Object.fromEntries(formats.map((format) => [format, { type: "string", format }])),
        hostname: patterned("hostname"),
        odd: patterned(5),
        plain: { pattern: "^a$" },
        data: given.properties.data,
      },
    });
  });

  test("has no pattern with flags, which JSON Schema lacks: without them it would refuse what the author accepts", () => {
    const schema = z.object({
      any: z.string().regex(/^ab$/i),
      lines: z.string().regex(/^a.b$/ms),
      both: z.string().regex(/^a/).regex(/b$/i),
      exact: z.string().regex(/^cd$/u),
    });
    for (const side of ["input", "output"] as const) {
      expect(jsonOf("it", schema, side)["properties"]).toMatchObject({
        any: { type: "string" },
        lines: { type: "string" },
        exact: { type: "string", pattern: "^cd$" },
      });
      expect(JSON.stringify(jsonOf("it", schema, side)).match(/"pattern":"[^"]*"/g)).toEqual(['"pattern":"^a"', '"pattern":"^cd$"']);
    }
  });

  test("asks the converter for the side and the dialect, and only zod for its flags", () => {
    const asked: unknown[] = [];
    const converter = (side: string) => (options: object) => {
      asked.push([side, options]);
      return {};
    };
    const schema = (vendor: string): Schema => ({
      "~standard": {
        version: 1,
        vendor,
        validate: (value) => ({ value }),
        jsonSchema: { input: converter("input"), output: converter("output") },
      },
    });
    jsonOf("it", schema("valibot"), "input");
    jsonOf("it", schema("valibot"), "output");
    jsonOf("it", schema("zod"), "input");
    expect(asked).toStrictEqual([
      ["input", { target: "draft-2020-12" }],
      ["output", { target: "draft-2020-12" }],
      ["input", { target: "draft-2020-12", libraryOptions: expect.any(Object) }],
    ]);
  });

  test("reports a type without JSON Schema, and why", () => {
    const refused = caught(() => jsonOf("the input of tool x", z.object({ at: z.date() }), "input"));
    expect(refused).toBeInstanceOf(DefinitionError);
    expect(refused.message).toBe(
      "the input of tool x has no JSON Schema: Date cannot be represented in JSON Schema; use z.iso.date() or z.iso.datetime()",
    );
    expect(refused.cause).toBeInstanceOf(Error);
    const throwing = () => {
      throw "no reason"; // oxlint-disable-line no-throw-literal, typescript/only-throw-error -- what a library may do
    };
    const odd = converting({});
    Object.assign(odd["~standard"].jsonSchema, { input: throwing });
    expect(caught(() => jsonOf("it", odd, "input")).message).toBe("it has no JSON Schema: no reason");
  });

  test("says what to do with a schema that cannot be converted to JSON Schema", () => {
    const mute = { "~standard": { version: 1, vendor: "valibot", validate: (value: unknown) => ({ value }) } } as unknown as Schema;
    expect(caught(() => jsonOf("the input of tool x", mute, "input"))).toStrictEqual(
      new DefinitionError(
        "the input of tool x: valibot schemas cannot be converted to JSON Schema automatically; convert it and pass jsonSchema(converted, schema)",
      ),
    );
    expect(caught(() => jsonOf("the input of tool x", z3.object({}) as never, "input"))).toStrictEqual(
      new DefinitionError(
        "the input of tool x: schemas of zod before version 4 cannot be converted to JSON Schema automatically; use zod 4, or convert it and pass jsonSchema(converted, schema)",
      ),
    );
  });

  test("refuses on the input side a pattern with which a caller could block a process", () => {
    const schema = converting({ properties: { code: { type: "string", pattern: "^(a+)+$" } } });
    const refused = caught(() => jsonOf("the input of tool x", schema, "input"));
    expect(refused).toMatchObject({ violations: [{ path: "/code" }] });
    expect(refused.message).toMatch(/^the input of tool x: \/code /);
    expect(jsonOf("it", schema, "output")).toStrictEqual({ properties: { code: { type: "string", pattern: "^(a+)+$" } } });
  });
});

describe("check", () => {
  test("returns the schema's output, or a bounded list of violations", async () => {
    const schema = z.object({ "a/b": z.array(z.int()) });
    expect(await check(schema, { "a/b": [1] })).toStrictEqual({ ok: true, value: { "a/b": [1] } });
    const wrong = await check(schema, { "a/b": Array.from({ length: 100 }, () => "x") });
    expect(wrong.ok ? [] : wrong.violations).toHaveLength(VIOLATIONS_WANTED);
    expect(wrong.ok ? [] : wrong.violations[1]).toStrictEqual({
      path: "/a~1b/1",
      message: "Invalid input: expected number, received string",
    });
  });

  test("reads every spelling of a path", async () => {
    const issues = [{ message: "one" }, { message: "two", path: [{ key: "a" }, "b", 0] }];
    const schema = { "~standard": { ...converting({})["~standard"], validate: async () => ({ issues }) } };
    expect(await check(schema, {})).toStrictEqual({
      ok: false,
      violations: [
        { path: "", message: "one" },
        { path: "/a/b/0", message: "two" },
      ],
    });
  });

  test("checks no string that is too long for its pattern", async () => {
    const judged: unknown[] = [];
    const schema = jsonSchema<unknown>(
      { type: "string", maxLength: 50, pattern: "^a*a*$" },
      {
        "~standard": {
          version: 1,
          vendor: "test",
          validate(value) {
            judged.push(value);
            return { value };
          },
        },
      },
    );
    jsonOf("it", schema, "input");
    expect(await check(schema, "a".repeat(50))).toStrictEqual({ ok: true, value: "a".repeat(50) });
    // Up to twice the limit the author's schema decides.
    const tooLong = (message: string) => ({ ok: false, violations: [{ path: "", message }] });
    expect(await check(schema, "a".repeat(100))).toStrictEqual(tooLong("must have at most 50 characters"));
    expect(await check(schema, "a".repeat(101))).toStrictEqual(tooLong("must have at most 50 characters"));
    expect(judged).toHaveLength(1);
  });
});

function caught(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

/** A schema of another library with this JSON Schema. */
function converting(json: object): Schema {
  const convert = () => json as Record<string, unknown>;
  return {
    "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }), jsonSchema: { input: convert, output: convert } },
  };
}
