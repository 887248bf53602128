/** The checks of an upstream's questions. */
import { DEFAULT_SETTINGS, type JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { CHOICES_MAX, digestOf, FIELDS_MAX, MESSAGE_CHARS_MAX, QUESTION_CHARS_MAX, readQuestion } from "./question.ts";

const form = (properties: JsonObject, rest: JsonObject = {}) => ({
  message: "?",
  requestedSchema: { type: "object", properties, ...rest },
});
const read = (params: object) => readQuestion("elicitation/create", params, { settings: DEFAULT_SETTINGS }).request;
const texts = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`);

test.each(["evil/create", "elicitation/create ", "constructor"])(
  "a question of another method than those of MCP is refused: %s",
  (method) => {
    expect(() => readQuestion(method, form({}), { settings: DEFAULT_SETTINGS })).toThrow(
      expect.objectContaining({
        code: -32602,
        message: expect.stringMatching(/^this cannot be asked: \/method must be one of elicitation/),
      }),
    );
  },
);

test("a question that nests deeper than can be written is refused", () => {
  const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`) as unknown;
  const refused = () => readQuestion("elicitation/create", { message: "?", requestedSchema: deep }, { settings: DEFAULT_SETTINGS });
  expect(refused).toThrow(expect.objectContaining({ code: -32602, message: expect.stringContaining("nests too deeply") }));
});

describe("a form", () => {
  test("with every kind of field that MCP has is accepted unchanged", () => {
    const params = form(
      {
        name: { type: "string", title: "Name", description: "Yours.", minLength: 1, maxLength: 9, default: "x" },
        mail: { type: "string", format: "email" },
        size: { type: "integer", minimum: 1, maximum: 9 },
        ok: { type: "boolean", default: true },
        colour: { type: "string", enum: ["red", "blue"], enumNames: ["Red", "Blue"] },
        shade: { type: "string", oneOf: [{ const: "light", title: "Light" }] },
        some: { type: "array", minItems: 1, items: { type: "string", enum: ["a", "b"] } },
        others: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
      },
      { required: ["name"] },
    );
    expect(read(params)).toEqual({ type: "form", message: "?", schema: params.requestedSchema });
  });

  test.each(["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"])(
    "may name the version of its schema, which nobody has to know: %s",
    (version) => {
      const { requestedSchema, ...rest } = form({ a: { type: "string" } }, { additionalProperties: false });
      const params = { ...rest, requestedSchema: { $schema: version, ...requestedSchema } };
      expect(read(params)).toEqual({ type: "form", message: "?", schema: requestedSchema });
    },
  );

  test.each<readonly [what: string, field: JsonObject, shown: JsonObject]>([
    [
      "a bound that excludes (pydantic's gt)",
      { type: "number", exclusiveMinimum: 0, title: "Amount" },
      { type: "number", minimum: 0, title: "Amount" },
    ],
    [
      "such bounds of whole numbers",
      { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9.5, maximum: 20 },
      { type: "integer", minimum: 1, maximum: 9 },
    ],
    [
      "a pattern, which a front end would have to compile",
      { type: "string", pattern: "(a+)+$", maxLength: 3 },
      { type: "string", maxLength: 3 },
    ],
    [
      "choices that are numbers",
      { type: "integer", enum: [1, 2, 3], description: "How many" },
      { type: "integer", minimum: 1, maximum: 3, description: "How many (One of 1, 2, 3)" },
    ],
    [
      "examples and other annotations",
      { type: "string", examples: ["Rome"], deprecated: true, $comment: "x", "x-order": 1 },
      { type: "string" },
    ],
    ["a format that MCP has not", { type: "string", format: "time" }, { type: "string", description: "Format: time" }],
    [
      "nullable by alternatives",
      { anyOf: [{ type: "string", maxLength: 5 }, { type: "null" }], default: null, title: "Nick" },
      { type: "string", maxLength: 5, title: "Nick" },
    ],
    ["nullable by types", { type: ["boolean", "null"], default: true }, { type: "boolean", default: true }],
    ["nullable choices", { enum: ["a", "b", null] }, { type: "string", enum: ["a", "b"] }],
    ["choices without a type", { oneOf: [{ const: "a", title: "A" }] }, { type: "string", oneOf: [{ const: "a", title: "A" }] }],
    [
      "choices by anyOf, with descriptions",
      { anyOf: [{ const: "a", title: "A", description: "first" }, { const: "b" }] },
      { type: "string", oneOf: [{ const: "a", title: "A" }, { const: "b" }] },
    ],
    ["a constant", { const: "yes" }, { type: "string", enum: ["yes"] }],
    ["a step", { type: "number", multipleOf: 0.01, minimum: 0 }, { type: "number", minimum: 0 }],
    [
      "a reference, with a title of its own",
      { $ref: "#/$defs/Colour", title: "Paint" },
      { type: "string", enum: ["red", "blue"], title: "Paint" },
    ],
    [
      "a reference in a composition",
      { allOf: [{ $ref: "#/$defs/Colour" }], default: "red" },
      { type: "string", enum: ["red", "blue"], title: "Colour", default: "red" },
    ],
    [
      "a list of referred choices, each once",
      { type: "array", uniqueItems: true, items: { $ref: "#/$defs/Colour" } },
      { type: "array", items: { type: "string", enum: ["red", "blue"] } },
    ],
  ])("with %s is asked in MCP's terms, and the upstream validates the answer", (_what, field, shown) => {
    const $defs = { Colour: { type: "string", enum: ["red", "blue"], title: "Colour" } };
    const params = form({ a: field }, { required: ["a"], $defs, if: {}, minProperties: 1 });
    const schema = { type: "object", properties: { a: shown }, required: ["a"] };
    expect(read(params)).toEqual({ type: "form", message: "?", schema });
    // What is shown is a form of MCP, which stays as it is.
    expect(read({ message: "?", requestedSchema: schema })).toEqual({ type: "form", message: "?", schema });
  });

  test.each([
    ["no schema", { message: "?" }, "/requestedSchema"],
    ["nested objects", form({ a: { type: "object", properties: {} } }), "/requestedSchema/properties/a"],
    ["lists of texts", form({ a: { type: "array", items: { type: "string" } } }), "/requestedSchema/properties/a/items"],
    ["a schema for all other fields", form({}, { additionalProperties: { pattern: "(a+)+$" } }), "/requestedSchema/additionalProperties"],
    [
      "a schema beside choices",
      form({ a: { type: "string", enum: ["x"], oneOf: [{ pattern: "(a+)+$" }] } }),
      "/requestedSchema/properties/a must offer",
    ],
    [
      "a schema beside a list of choices",
      form({ a: { type: "array", items: { enum: ["x"], anyOf: [{ pattern: "(a+)+$" }] } } }),
      "/requestedSchema/properties/a/items must offer",
    ],
    ["choices that are schemas", form({ a: { type: "string", oneOf: [{ pattern: "x" }] } }), "/requestedSchema/properties/a"],
    [
      "choices with objects as titles",
      form({ a: { type: "string", oneOf: [{ const: "x", title: {} }] } }),
      "/requestedSchema/properties/a",
    ],
    ["a list of numbers", form({ a: { type: "array", items: { type: "number", enum: ["x"] } } }), "/items/type"],
    ["fewer characters than none", form({ a: { type: "string", minLength: -1 } }), "/requestedSchema/properties/a/minLength"],
    ["half an item", form({ a: { type: "array", minItems: 0.5, items: { enum: ["x"] } } }), "/requestedSchema/properties/a/minItems"],
    ["a text as a bound", form({ a: { type: "number", maximum: "9" } }), "/requestedSchema/properties/a/maximum"],
    ["a title that is none", form({ a: { type: "string", title: {} } }), "/requestedSchema/properties/a/title"],
    ["a description that is none", form({}, { description: [] }), "/requestedSchema/description"],
    [
      "names of choices that are none",
      form({ a: { type: "string", enum: ["x"], enumNames: "x" } }),
      "/requestedSchema/properties/a/enumNames",
    ],
    ["a version that is none", form({}, { $schema: 7 }), "/requestedSchema/$schema"],
    ["a field that must be filled in twice", form({ a: { type: "string" } }, { required: ["a", "a"] }), "/requestedSchema/required"],
    ["a field that is missing and must be filled in", form({}, { required: ["a"] }), "/requestedSchema/required"],
    ["references", form({ a: { $ref: "#" } }), "/requestedSchema/properties/a"],
    [
      "references in a circle",
      form({ a: { $ref: "#/$defs/a" } }, { $defs: { a: { $ref: "#/$defs/a" } } }),
      "/requestedSchema/properties/a",
    ],
    ["choices of several types", form({ a: { enum: ["x", 1] } }), "/requestedSchema/properties/a"],
    ["a field that may be an object", form({ a: { anyOf: [{ type: "object" }, { type: "null" }] } }), "/requestedSchema/properties/a"],
    ["a secret", form({ password: { type: "string" } }), "/password"],
    ["no message", { requestedSchema: { type: "object", properties: {} } }, "/message"],
    ["a mode of its own", { ...form({}), mode: "voice" }, "/mode"],
  ])("with %s is refused with −32602 and the location", (_what, params, path) => {
    expect(() => read(params)).toThrow(expect.objectContaining({ code: -32602, message: expect.stringContaining(path) }));
  });

  test("has limits of fields, choices, message and size, at the limit and one beyond", () => {
    const fields = (count: number) => form(Object.fromEntries(texts(count).map((name) => [name, { type: "boolean" }])));
    const choices = (count: number) => form({ a: { type: "string", enum: texts(count) } });
    const message = (chars: number) => ({ ...form({}), message: "x".repeat(chars) });
    const empty = JSON.stringify(form({ a: { type: "string", description: "" } })).length;
    const size = (chars: number) => form({ a: { type: "string", description: "x".repeat(chars - empty) } });
    for (const [make, most] of [
      [fields, FIELDS_MAX],
      [choices, CHOICES_MAX],
      [message, MESSAGE_CHARS_MAX],
      [size, QUESTION_CHARS_MAX],
    ] as const) {
      expect(() => read(make(most))).not.toThrow();
      expect(() => read(make(most + 1))).toThrow(expect.objectContaining({ code: -32602 }));
    }
  });
});

describe("a page to visit", () => {
  const visit = (url: string) => read({ mode: "url", message: "Visit", url });

  test("is shown with its host as a browser resolves it", () => {
    expect(visit("https://раураl.example/pay")).toMatchObject({ url: "https://xn--l-7sba6dbr.example/pay" });
  });

  test("may be on this machine without https, and nowhere else", () => {
    expect(visit("http://localhost:3000/x")).toMatchObject({ type: "url" });
    for (const url of ["http://example.com", "javascript:alert(1)", "https://user:pass@example.com", "nowhere"]) {
      expect(() => visit(url)).toThrow(expect.objectContaining({ code: -32602 }));
    }
  });
});

test("two questions are the same if their content is, in any order of fields", () => {
  const one = read(form({ a: { type: "string", title: "A" } }));
  const other = read(form({ a: { title: "A", type: "string" } }));
  expect(digestOf(one)).toBe(digestOf(other));
  expect(digestOf(read(form({ a: { type: "string", title: "B" } })))).not.toBe(digestOf(one));
});

describe("a form that asks for a secret", () => {
  const settings = DEFAULT_SETTINGS;
  const secret = { password: { type: "string", minLength: 8 } };
  const onPages = (properties: JsonObject) => readQuestion("elicitation/create", form(properties), { settings, takesSecretsOnPages: true });
  const isRefused = expect.objectContaining({ code: -32602, message: expect.stringContaining("seems to ask for a secret") });

  test("becomes a page if the file says so and the secret is all that it asks for, and stays the same question (I4)", () => {
    const { digest, ...page } = onPages(secret);
    expect(page).toEqual({ request: { type: "url", message: "?", url: "", page: { kind: "secret" } }, secretField: "password" });
    expect(digest).toBe(digestOf({ type: "form", message: "?", schema: form(secret).requestedSchema } as never));
  });

  test.each<JsonObject>([{ ...secret, user: { type: "string" } }, { pin: { type: "integer" } }])(
    "is refused if a page cannot take its place: %j",
    (properties) => {
      expect(() => onPages(properties)).toThrow(isRefused);
    },
  );

  test("is refused if the file does not say so", () => {
    expect(() => read(form(secret))).toThrow(isRefused);
  });

  test("is not what other forms are", () => {
    expect(onPages({ name: { type: "string" } })).not.toHaveProperty("secretField");
    expect(() => onPages({ name: { type: "object" } })).toThrow(expect.objectContaining({ code: -32602 }));
  });
});
