import { ElicitRequestFormParamsSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type JsonObject, ParleyError } from "@parley/core";
import { formSchema } from "./ask-schema.ts";
import { jsonOf } from "./schema.ts";

function formOf(schema: z.ZodType): JsonObject {
  return formSchema("question", jsonOf("the ask", schema, "input"));
}

function violationsOf(schema: JsonObject): unknown {
  try {
    formSchema("question", schema);
  } catch (error) {
    if (error instanceof ParleyError && error.code === "INVALID_ASK") return error.violations;
  }
  throw new Error("the schema was not refused");
}

describe("what zod says becomes MCP's form", () => {
  test("an object of texts, numbers and booleans loses what only generators need", () => {
    const form = formOf(
      z.object({
        name: z.string().min(2).max(40).describe("As on the passport"),
        partySize: z.number().int().min(1).max(20),
        seats: z.int(),
        budget: z.number().nonnegative(),
        when: z.iso.date(),
        at: z.iso.datetime(),
        mail: z.email(),
        page: z.url(),
        id: z.uuid(),
        code: z.string().regex(/^[A-Z]{3}$/),
        vegan: z.boolean().default(false),
        note: z.string().optional(),
      }),
    );
    expect(form).toMatchObject({
      type: "object",
      properties: {
        name: { type: "string", minLength: 2, maxLength: 40, description: "As on the passport" },
        partySize: { type: "integer", minimum: 1, maximum: 20 },
        seats: { type: "integer" },
        budget: { type: "number", minimum: 0 },
        when: { type: "string", format: "date" },
        at: { type: "string", format: "date-time" },
        mail: { type: "string", format: "email" },
        page: { type: "string", format: "uri" },
        id: { type: "string" },
        code: { type: "string", pattern: "^[A-Z]{3}$" },
        vegan: { type: "boolean", default: false },
        note: { type: "string" },
      },
      required: ["name", "partySize", "seats", "budget", "when", "at", "mail", "page", "id", "code"],
    });
    expect(form).not.toHaveProperty("$schema");
    expect(form).not.toHaveProperty("additionalProperties");
    const { when, seats } = form["properties"] as Record<string, JsonObject>;
    expect(when).toEqual({ type: "string", format: "date" });
    expect(seats).toEqual({ type: "integer" });
  });

  test("an exclusive bound becomes the next whole number", () => {
    expect(formOf(z.object({ n: z.int().gt(3).lt(9) }))["properties"]).toEqual({ n: { type: "integer", minimum: 4, maximum: 8 } });
  });

  test("choices stay choices, however they are spelt", () => {
    const form = formOf(
      z.object({
        plain: z.enum(["a", "b"]),
        literal: z.literal("only"),
        union: z.union([z.literal("a"), z.literal("b")]),
        titled: z.union([z.literal("a").meta({ title: "Letter A" }), z.literal("b")]).meta({ title: "Letter" }),
        several: z
          .array(z.enum(["a", "b"]))
          .min(1)
          .max(2),
        severalTitled: z.array(z.union([z.literal("a").meta({ title: "Letter A" }), z.literal("b").meta({ title: "Letter B" })])),
      }),
    );
    expect(form["properties"]).toEqual({
      plain: { type: "string", enum: ["a", "b"] },
      literal: { type: "string", enum: ["only"] },
      union: { type: "string", enum: ["a", "b"] },
      titled: {
        type: "string",
        title: "Letter",
        oneOf: [
          { const: "a", title: "Letter A" },
          { const: "b", title: "b" },
        ],
      },
      several: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["a", "b"] } },
      severalTitled: {
        type: "array",
        items: {
          anyOf: [
            { const: "a", title: "Letter A" },
            { const: "b", title: "Letter B" },
          ],
        },
      },
    });
  });

  test("the official schema of MCP knows every keyword of the form", () => {
    const form = formOf(
      z.strictObject({
        name: z
          .string()
          .min(2)
          .max(40)
          .trim()
          .meta({ title: "Name", examples: ["Ada"] }),
        size: z.number().positive().multipleOf(0.5).default(1),
        day: z.iso.date(),
        sure: z.boolean().readonly(),
        one: z.enum({ a: "x", b: "y" }).default("x"),
        titled: z.union([z.literal("a").meta({ title: "Letter A", description: "The first" }), z.literal("b")]),
        several: z
          .array(z.enum(["a", "b"]))
          .min(1)
          .default(["a"]),
      }),
    );
    // zod drops what a schema does not know: what comes out equal was known.
    expect(ElicitRequestFormParamsSchema.parse({ message: "?", requestedSchema: form }).requestedSchema).toEqual(form);
  });

  test("a schema that generators name and refer to is written out", () => {
    const size = z.int().min(1).meta({ id: "Size" });
    expect(formOf(z.object({ first: size, second: size }))["properties"]).toMatchObject({
      first: { type: "integer", minimum: 1 },
      second: { type: "integer", minimum: 1 },
    });
  });
});

describe("JSON Schema that is a form already", () => {
  test("passes as it is, older titles included", () => {
    const form: JsonObject = {
      type: "object",
      properties: {
        untitledSingle: { type: "string", enum: ["a", "b"], default: "a" },
        titledSingle: { type: "string", oneOf: [{ const: "a", title: "A" }] },
        legacyEnum: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
        untitledMulti: { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["a"] },
        titledMulti: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
        score: { type: "number", default: 95.5 },
      },
      required: ["legacyEnum"],
    };
    expect(formSchema("question", form)).toEqual(form);
  });
});

describe("what cannot be asked is refused, naming the field and the way out", () => {
  test.each([
    ["a nested object", { type: "object", properties: { street: { type: "string" } } }, /nested object: forms are flat/],
    ["a free list", { type: "array", items: { type: "string" } }, /list of something else than choices/],
    ["null", { type: ["string", "null"] }, /forms have no null, so make the field optional/],
    ["null among alternatives", { anyOf: [{ type: "string" }, { type: "null" }] }, /forms have no null/],
    ["numbers to choose from", { enum: [1, 2] }, /choose among strings/],
    ["several types", { anyOf: [{ type: "string" }, { type: "number" }] }, /alternatives of several types/],
    ["no type", {}, /no type that forms know/],
  ])("%s", (_what, property, message) => {
    expect(violationsOf({ type: "object", properties: { field: property } })).toEqual([
      { path: "/field", message: expect.stringMatching(message) },
    ]);
  });

  test("what is not an object at all", () => {
    expect(violationsOf({ type: "string" })).toEqual([{ path: "", message: expect.stringMatching(/one flat object/) }]);
  });

  test("a password by its format", () => {
    expect(violationsOf({ type: "object", properties: { login: { type: "string", format: "password" } } })).toEqual([
      { path: "/login", message: expect.stringMatching(/use url mode/) },
    ]);
  });

  test("every field that is wrong is named", () => {
    expect(
      violationsOf({ type: "object", properties: { list: { type: "array" }, "a/b": { type: "object" }, fine: { type: "string" } } }),
    ).toMatchObject([{ path: "/list" }, { path: "/a~1b" }]);
  });
});
