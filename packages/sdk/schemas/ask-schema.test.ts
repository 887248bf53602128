import { ElicitRequestFormParamsSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type JsonObject, ParleyError } from "@parley/core";
import { formSchema as askForm } from "./ask-schema.ts";
import { jsonOf } from "./schema.ts";

const formSchema = (ask: string, schema: JsonObject): JsonObject => askForm(ask, schema).form;

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

describe("a zod schema becomes MCP's form", () => {
  test("an object of strings, numbers and booleans loses what only generators need", () => {
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

  test("an exclusive bound becomes the next integer", () => {
    expect(formOf(z.object({ n: z.int().gt(3).lt(9) }))["properties"]).toEqual({ n: { type: "integer", minimum: 4, maximum: 8 } });
  });

  test("an exclusive bound between two integers allows the next one", () => {
    expect(formOf(z.object({ n: z.int().gt(0.5).lt(3.5) }))["properties"]).toEqual({ n: { type: "integer", minimum: 1, maximum: 3 } });
  });

  test("choices stay choices, in every spelling", () => {
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
    // zod drops what a schema does not know, so an unchanged value was known.
    expect(ElicitRequestFormParamsSchema.parse({ message: "?", requestedSchema: form }).requestedSchema).toEqual(form);
  });

  test("a schema with definitions and references is expanded", () => {
    const size = z.int().min(1).meta({ id: "Size" });
    expect(formOf(z.object({ first: size, second: size }))["properties"]).toMatchObject({
      first: { type: "integer", minimum: 1 },
      second: { type: "integer", minimum: 1 },
    });
  });
});

describe("JSON Schema that is a form already", () => {
  test("is unchanged, older titles included", () => {
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

describe("JSON Schema that a form cannot express", () => {
  const formOfField = (property: JsonObject, beside: JsonObject = {}) =>
    (formSchema("question", { type: "object", properties: { field: property }, ...beside })["properties"] as JsonObject)["field"];

  test.each<[string, JsonObject, JsonObject]>([
    [
      "a text keeps what MCP has for it",
      { type: "string", title: "T", description: "D", minLength: 0, maxLength: 9, pattern: "^a", multipleOf: 2, default: "a" },
      { type: "string", title: "T", description: "D", minLength: 0, maxLength: 9, pattern: "^a", default: "a" },
    ],
    [
      "a text with a format that MCP has",
      { type: "string", format: "email", pattern: "@", minLength: 3, maxLength: 9 },
      { type: "string", minLength: 3, maxLength: 9, format: "email" },
    ],
    ["uri is one", { type: "string", format: "uri" }, { type: "string", format: "uri" }],
    ["date is one", { type: "string", format: "date" }, { type: "string", format: "date" }],
    ["date-time is one", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
    ["another format is left out", { type: "string", format: "uuid", pattern: "^a" }, { type: "string", pattern: "^a" }],
    ["keywords of another type are left out", { type: "string", title: 1, minLength: "1", pattern: 5, default: 1 }, { type: "string" }],
    [
      "a number keeps its bounds",
      { type: "number", minimum: 0, maximum: 9.5, multipleOf: 0.5, default: 0 },
      { type: "number", minimum: 0, maximum: 9.5, default: 0 },
    ],
    [
      "exclusive bounds of a number are its bounds",
      { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 9 },
      { type: "number", minimum: 0, maximum: 9 },
    ],
    ["of a whole one the next", { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 }, { type: "integer", minimum: 1, maximum: 8 }],
    ["of both kinds the inclusive one", { type: "integer", exclusiveMinimum: 0, minimum: 5 }, { type: "integer", minimum: 5 }],
    [
      "bounds that are not numbers are left out",
      { type: "number", exclusiveMinimum: true, minimum: "0", default: "x" },
      { type: "number" },
    ],
    ["a boolean", { type: "boolean", default: false, title: "T" }, { type: "boolean", title: "T", default: false }],
    ["a boolean with another default", { type: "boolean", default: "no" }, { type: "boolean" }],
    ["one constant", { const: "only", title: "T", default: "only" }, { type: "string", title: "T", enum: ["only"], default: "only" }],
    ["names that are not a list", { enum: ["a"], enumNames: "A" }, { type: "string", enum: ["a"] }],
    [
      "choices of which one has a title",
      { oneOf: [{ const: "a", title: "A" }, { const: "b" }], description: "D" },
      {
        type: "string",
        description: "D",
        oneOf: [
          { const: "a", title: "A" },
          { const: "b", title: "b" },
        ],
      },
    ],
    [
      "a list of choices",
      { type: "array", title: "T", minItems: 0, maxItems: 2, uniqueItems: true, items: { enum: ["a", "b"] }, default: ["a"] },
      { type: "array", title: "T", minItems: 0, maxItems: 2, items: { type: "string", enum: ["a", "b"] }, default: ["a"] },
    ],
    [
      "a list of choices of which one has a title",
      { type: "array", items: { oneOf: [{ const: "a", title: "A" }, { const: "b" }] } },
      {
        type: "array",
        items: {
          anyOf: [
            { const: "a", title: "A" },
            { const: "b", title: "b" },
          ],
        },
      },
    ],
    [
      "a list with an empty default",
      { type: "array", items: { enum: ["a"] }, default: [] },
      { type: "array", items: { type: "string", enum: ["a"] } },
    ],
    [
      "a list with a default of numbers",
      { type: "array", items: { enum: ["a"] }, default: [1] },
      { type: "array", items: { type: "string", enum: ["a"] } },
    ],
  ])("%s", (_what, property, shown) => {
    expect(formOfField(property)).toStrictEqual(shown);
  });

  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["by reference", { $ref: "#/$defs/size" }, { $defs: { size: { type: "integer" } } }, { type: "integer" }],
    [
      "by a chain, with what stands beside",
      { $ref: "#/$defs/a", title: "T" },
      { $defs: { a: { $ref: "#/$defs/b", description: "D" }, b: { type: "string", title: "B" } } },
      { type: "string", title: "T", description: "D" },
    ],
    ["by a name with what a path is made of", { $ref: "#/$defs/a~1b~0" }, { $defs: { "a/b~": { type: "boolean" } } }, { type: "boolean" }],
  ])("is found %s", (_how, property, beside, shown) => {
    expect(formOfField(property, beside)).toStrictEqual(shown);
  });

  test("is not found by a reference that only ends like one", () => {
    const schema = { type: "object", $defs: { size: { type: "integer" } }, properties: { field: { $ref: "x/$defs/size" } } };
    expect(violationsOf(schema)).toMatchObject([{ path: "/field", message: expect.stringContaining("no type that forms know") }]);
  });

  test.each(["partysize", "toString"])("is not asked if it requires %s, a field that no one sees", (name) => {
    const schema = { type: "object", properties: { partySize: { type: "integer" } }, required: ["partySize", name] };
    const message = `names "${name}", which is no field of the form`;
    expect(() => formSchema("question", schema)).toThrow(
      new ParleyError("INVALID_ASK", `the ask "question" is invalid: /required ${message}`, {
        violations: [{ path: "/required", message }],
      }),
    );
  });

  test("has no fields and nothing required if it does not mention them", () => {
    expect(formSchema("question", { type: "object" })).toStrictEqual({ type: "object", properties: {} });
    expect(formSchema("question", { type: "object", properties: {}, required: [] })).toStrictEqual({ type: "object", properties: {} });
    expect(formSchema("question", { type: "object", properties: {}, required: "a" })).toStrictEqual({ type: "object", properties: {} });
    const root = { $ref: "#/$defs/form", $defs: { form: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } } };
    expect(formSchema("question", root)).toStrictEqual({ type: "object", properties: { a: { type: "string" } }, required: ["a"] });
  });
});

describe("one meaning in many spellings", () => {
  const ask = (field: JsonObject, more: JsonObject = {}) =>
    askForm("question", {
      type: "object",
      properties: { field },
      required: ["field"],
      $defs: { Level: { enum: ["low", "high"] } },
      ...more,
    });
  const level = { type: "string", enum: ["low", "high"] };

  test.each<[JsonObject, JsonObject]>([
    [
      { allOf: [{ $ref: "#/$defs/Level" }], default: "low" },
      { ...level, default: "low" },
    ],
    [{ oneOf: [{ $ref: "#/$defs/Level" }] }, level],
    [
      { type: "array", items: { $ref: "#/$defs/Level" } },
      { type: "array", items: level },
    ],
    [{ type: ["string", "integer"] }, { type: "string" }],
    [{ anyOf: [{ type: "integer" }, { type: "number" }] }, { type: "number" }],
  ])("%j is asked as %j", (field, shown) => {
    expect(ask(field)).toStrictEqual({ form: { type: "object", properties: { field: shown }, required: ["field"] }, nulls: [] });
  });

  test.each<[JsonObject, JsonObject]>([
    [{ type: ["string", "null"] }, { type: "string" }],
    [
      { anyOf: [{ type: "string", maxLength: 9 }, { type: "null" }], default: null },
      { type: "string", maxLength: 9 },
    ],
    [{ anyOf: [{ $ref: "#/$defs/Level" }, { type: "null" }] }, level],
  ])("%j may be left out, and is null then", (field, shown) => {
    expect(ask(field)).toStrictEqual({ form: { type: "object", properties: { field: shown } }, nulls: ["field"] });
  });

  test.each<[JsonObject, JsonObject]>([
    [
      { type: "number", enum: [1, 2.5] },
      { type: "number", description: "One of 1, 2.5.", enum: [1, 2.5] },
    ],
    [
      { enum: [1, 2], description: "How many." },
      { type: "integer", description: "How many. One of 1, 2.", enum: [1, 2] },
    ],
    [{ const: 7 }, { type: "integer", description: "One of 7.", enum: [7] }],
    [
      { oneOf: [{ const: 1, title: "One" }, { const: 2 }], default: 2 },
      {
        type: "integer",
        description: "One of 1 (One), 2.",
        oneOf: [
          { const: 1, title: "One" },
          { const: 2, title: "2" },
        ],
        default: 2,
      },
    ],
  ])("%j offers its numbers, and names them to people whose client knows no such choices", (field, shown) => {
    expect(ask(field).form["properties"]).toStrictEqual({ field: shown });
  });

  test.each<[string, JsonObject]>([
    ["a number or a word", { anyOf: [{ type: "integer" }, { type: "string", const: "auto" }] }],
    ["a number or a text with a pattern", { anyOf: [{ type: "number" }, { type: "string", pattern: "^[a-z]+$" }] }],
    ["yes, no or a word", { anyOf: [{ type: "boolean" }, { type: "string", const: "auto" }] }],
  ])("%s is a text, as it always was: MCP has no field for it", (_what, property) => {
    expect(ask({ ...property, title: "T" }).form["properties"]).toStrictEqual({ field: { type: "string", title: "T" } });
  });

  test("a question with numbers to choose from is the one that versions asked which left them out", () => {
    const number = { type: "number", title: "T", minimum: 0 };
    expect(ask({ ...number, enum: [1, 2] }).identity).toStrictEqual({ type: "object", properties: { field: number }, required: ["field"] });
    expect(ask({ enum: ["a"] })).not.toHaveProperty("identity");
  });
});

describe("a schema that cannot be asked is refused, naming the field and the alternative", () => {
  const nested = "is a nested object: forms are flat, so give its fields names of their own (addressStreet, addressCity) or ask again";
  const list = "is a list of something else than choices: forms know lists of an enum only, so take one text and split it, or ask again";
  const mixed = "has choices of several types, or choices that are neither strings nor numbers";
  const several = "has alternatives of several types: give each its own optional field, or use an enum of strings";
  const unknown = "has no type that forms know: use string, number, integer, boolean, an enum of strings or a list of those";
  const secret = "has the format password: a secret must not pass through the client, so use ctx.secret";
  const pattern =
    "has a pattern that is not valid with the flag u, by which forms are judged: escape a hyphen next to a class, as in [\\w\\-.]";
  const flat = "must be one flat object, such as z.object({ … }): MCP forms have no other shape";

  test.each<[string, JsonObject[string], string]>([
    ["a nested object", { type: "object", properties: { street: { type: "string" } } }, nested],
    ["a free list", { type: "array", items: { type: "string" } }, list],
    ["a list of anything", { type: "array" }, list],
    ["a list of several kinds", { type: "array", items: [{ enum: ["a"] }] }, list],
    ["texts and numbers to choose from", { enum: ["a", 2], enumNames: ["A", "2"] }, mixed],
    ["several types", { anyOf: [{ type: "string" }, { type: "object" }] }, several],
    ["several types in a list", { type: ["string", "array"] }, several],
    ["alternatives that are not schemas", { anyOf: [5, null] }, several],
    ["no type", {}, unknown],
    ["a type of its own", { type: "date" }, unknown],
    ["null alone", { type: "null" }, unknown],
    ["no schema", true, "must be a schema"],
    ["a list in place of a schema", ["string"], "must be a schema"],
    ["a password by its format", { type: "string", format: "password" }, secret],
    ["a pattern that forms cannot judge", { type: "string", pattern: "^[\\w-.]+$" }, pattern],
    ["a reference to nowhere", { $ref: "#/$defs/none" }, unknown],
    ["a reference through something that is not an object", { $ref: "#/type/more" }, unknown],
    ["a reference to elsewhere", { $ref: "https://elsewhere.example/#/a" }, unknown],
    ["a reference to itself", { $ref: "#/properties/field" }, unknown],
  ])("%s", (_what, property, message) => {
    expect(violationsOf({ type: "object", properties: { field: property } })).toStrictEqual([{ path: "/field", message }]);
  });

  test.each<[string, JsonObject]>([
    ["a text", { type: "string" }],
    ["fields that are a list", { type: "object", properties: [] }],
    ["fields that are a text", { type: "object", properties: "a" }],
    ["no type", { properties: {} }],
  ])("a schema that is not an object: %s", (_what, schema) => {
    expect(violationsOf(schema)).toStrictEqual([{ path: "", message: flat }]);
  });

  test("every invalid field is named, in the message as well", () => {
    const schema = { type: "object", properties: { list: { type: "array" }, "a/b~": { type: "object" }, fine: { type: "string" } } };
    expect(violationsOf(schema)).toStrictEqual([
      { path: "/list", message: list },
      { path: "/a~1b~0", message: nested },
    ]);
    expect(() => formSchema("question", schema)).toThrow(`the ask "question" is invalid: /list ${list}; /a~1b~0 ${nested}`);
    expect(() => formSchema("question", { type: "string" })).toThrow(`the ask "question" is invalid: its schema ${flat}`);
  });
});
