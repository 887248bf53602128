import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "@parley/core";
import { DefinitionError } from "./failures.ts";
import { type OutputOf, check, jsonOf, jsonSchema } from "./schema.ts";

describe("jsonSchema", () => {
  test("keeps the very object that was given", () => {
    const schema: JsonObject = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      "x-own": [1],
      $defs: { a: { $anchor: "a" } },
    };
    expect(jsonOf("it", jsonSchema(schema), "input")).toBe(schema);
  });

  test("judges by the schema, references and formats included, and says where", async () => {
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
        { path: "/day", message: 'must match format "date"' },
        { path: "/deep/a~1b", message: 'must be one of ["x","y"]' },
        { path: "/more", message: "is not a known field" },
      ]),
    });
  });

  test("lets a Standard Schema judge what JSON Schema cannot say", async () => {
    const schema = jsonSchema(
      { type: "object" },
      z.object({ n: z.number() }).transform(({ n }) => n * 2),
    );
    expectTypeOf<OutputOf<typeof schema>>().toEqualTypeOf<number>();
    expect(await check(schema, { n: 2 })).toEqual({ ok: true, value: 4 });
    expect(await check(schema, { n: "2" })).toMatchObject({ ok: false, violations: [{ path: "/n" }] });
  });

  test("refuses what is no JSON Schema", () => {
    expect(() => jsonSchema({ type: "nothing" })).toThrow(DefinitionError);
    expect(() => jsonSchema({ $ref: "#/$defs/missing" })).toThrow(/no JSON Schema that can be checked/);
  });
});

describe("jsonOf", () => {
  test("drops what zod adds and no client needs, and touches no data", () => {
    const schema = z.object({ n: z.int().default(Number.MAX_SAFE_INTEGER), day: z.iso.date() });
    expect(jsonOf("it", schema, "input")).toEqual({
      type: "object",
      properties: { n: { type: "integer", default: Number.MAX_SAFE_INTEGER }, day: { type: "string", format: "date" } },
      required: ["day"],
    });
  });

  test("says what has no JSON Schema", () => {
    expect(() => jsonOf("the input of tool x", z.object({ at: z.date() }), "input")).toThrow(/^the input of tool x has no JSON Schema: /);
  });
});
