import { ElicitRequestFormParamsSchema } from "@modelcontextprotocol/sdk/types.js";
import { createValidator } from "@parley/node";
import { describe, expect, test } from "vitest";
import { readReply, type Ask, type JsonObject } from "@parley/core";
import { SESSION_DIALECTS } from "./index.ts";
import { corpus } from "../corpus.fixture.ts";

/** A form of a tool, its translation to older revisions, and the translated replies. */
interface Case {
  readonly schema: JsonObject;
  readonly older: JsonObject & { readonly properties: { readonly [field: string]: JsonObject } };
  readonly replies: readonly { readonly why: string; readonly given: unknown; readonly read: unknown; readonly fits: boolean }[];
}

const cases = corpus<Case>("corpus/forms", import.meta.url);
const validate = createValidator();
const facts = { name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 0, pageSize: 100 };

const [newest, ...older] = SESSION_DIALECTS;
const askOf = (schema: JsonObject): Ask => ({
  key: "question",
  digest: "d",
  calledAt: "0",
  request: { type: "form", message: "Tell me.", schema },
  askedAtMs: 0,
  deadlineMs: 1,
  onTimeout: "cancel",
});
const IDS = { requestId: "r", elicitationId: "t:question" };

describe.each(older.map((dialect) => ({ version: dialect.version, dialect })))("forms of $version", ({ dialect }) => {
  const say = dialect.encoder(facts);

  test.each(cases)("$why ($file)", ({ schema, older: expected, replies }) => {
    const { request } = askOf(schema);
    expect(say.ask(askOf(schema), IDS)).toStrictEqual({
      jsonrpc: "2.0",
      id: "r",
      method: "elicitation/create",
      params: { message: "Tell me.", requestedSchema: expected },
    });
    for (const { why, given, read, fits } of replies) {
      expect({ why, read: dialect.readReply(request, given) }).toStrictEqual({ why, read });
      expect({ why, fits: readReply(request, read, validate).ok }).toStrictEqual({ why, fits });
    }
  });

  test.each(cases)("have the words of that revision and no others: $file", ({ schema }) => {
    const { params } = say.ask(askOf(schema), IDS);
    ElicitRequestFormParamsSchema.parse(params);
    const { requestedSchema } = params as { requestedSchema: { properties: { [field: string]: JsonObject }; required?: string[] } };
    for (const field of Object.values(requestedSchema.properties)) expect(wordsOf(field)).toStrictEqual([]);
    for (const name of requestedSchema.required ?? []) expect(Object.keys(requestedSchema.properties)).toContain(name);
  });

  test("leave other replies unchanged", () => {
    const reply = { role: "assistant", content: { type: "text", text: "x" }, model: "m" };
    expect(dialect.readReply({ type: "sampling", params: {} }, reply)).toBe(reply);
    expect(dialect.readReply({ type: "url", message: "?", url: "https://x" }, { action: "accept" })).toStrictEqual({ action: "accept" });
  });
});

/** The members of a field outside S0618 schema.ts, PrimitiveSchemaDefinition, and the `pattern` in its prose. */
function wordsOf(field: JsonObject): readonly string[] {
  const common = ["type", "title", "description"];
  const known: { readonly [type: string]: readonly string[] } = {
    string: [...common, "minLength", "maxLength", "format", "pattern", "enum", "enumNames"],
    number: [...common, "minimum", "maximum"],
    integer: [...common, "minimum", "maximum"],
    boolean: [...common, "default"],
  };
  const type = JSON.stringify(field["type"]);
  const words = known[type.slice(1, -1)];
  return words ? Object.keys(field).filter((word) => !words.includes(word)) : [`type ${type}`];
}

describe("forms of 2025-11-25", () => {
  test.each(cases)("are asked in the tool's own words, and so are the replies: $file", ({ schema, replies }) => {
    const { params } = newest.encoder(facts).ask(askOf(schema), IDS);
    expect(params).toStrictEqual({ mode: "form", message: "Tell me.", requestedSchema: schema });
    ElicitRequestFormParamsSchema.parse(params);
    for (const { given } of replies) expect(newest.readReply(askOf(schema).request, given)).toBe(given);
  });
});

describe("any form that a tool asks", () => {
  test("an answer that was given choice by choice fits when the list of choices would", () => {
    const values = ["a", "b", "c"];
    for (const limits of [{}, { minItems: 1 }, { minItems: 2, maxItems: 2 }, { maxItems: 1 }]) {
      const schema = {
        type: "object",
        properties: { pick: { type: "array", items: { type: "string", enum: values }, ...limits } },
        required: ["pick"],
      };
      for (let chosen = 0; chosen < 8; chosen += 1) {
        const list = values.filter((_, index) => chosen & (1 << index));
        const content = Object.fromEntries(values.map((value) => [`pick_${value}`, list.includes(value)]));
        const read = older[0].readReply(askOf(schema).request, { action: "accept", content });
        expect(read).toStrictEqual({ action: "accept", content: { pick: list } });
        expect(readReply(askOf(schema).request, read, validate).ok).toBe(validate(schema, { pick: list }).length === 0);
      }
    }
  });

  const properties = (schema: JsonObject): unknown =>
    (older[0].encoder(facts).ask(askOf(schema), IDS).params as { requestedSchema: { properties: unknown } }).requestedSchema.properties;
  const read = (schema: JsonObject, content: JsonObject): unknown =>
    (older[0].readReply(askOf(schema).request, { action: "accept", content }) as { content: unknown }).content;

  test("what is no field is left out, and what offers no choices that can be read stays as it is", () => {
    expect(properties({ type: "object" })).toStrictEqual({});
    expect(
      properties({
        properties: {
          none: true,
          bare: { type: "array" },
          text: { type: "string", items: { enum: ["a"] } },
          pick: { type: "array", items: { oneOf: [{ const: "a", title: 5 }] } },
          few: { type: "array", items: { enum: ["b", 1] } },
          one: { type: "string", oneOf: [] },
          two: { type: "string", oneOf: "x" },
        },
      }),
    ).toStrictEqual({
      bare: { type: "array" },
      text: { type: "string", items: { enum: ["a"] } },
      pick_a: { type: "boolean", title: "Pick: a" },
      few_b: { type: "boolean", title: "Few: b" },
      few_1: { type: "boolean", title: "Few: 1" },
      one: { type: "string" },
      two: { type: "string" },
    });
  });

  test("limits and defaults are described in words, if there are any", () => {
    const items = { enum: ["a"] };
    const described = (field: JsonObject): unknown => properties({ properties: { f: { type: "array", items, ...field } } });
    const boolean = { type: "boolean", title: "F: a" };
    expect(described({ minItems: 0 })).toStrictEqual({ f_a: boolean });
    expect(described({ minItems: "1", maxItems: "2" })).toStrictEqual({ f_a: boolean });
    expect(described({ minItems: 1 })).toStrictEqual({ f_a: { ...boolean, description: "Choose at least 1." } });
    expect(described({ minItems: 0, maxItems: 2 })).toStrictEqual({ f_a: { ...boolean, description: "Choose at most 2." } });
    expect(described({ description: "", maxItems: 2 })).toStrictEqual({ f_a: { ...boolean, description: "Choose at most 2." } });
    expect(described({ description: "On top." })).toStrictEqual({ f_a: { ...boolean, description: "On top." } });
    expect(described({ title: 5, default: "a" })).toStrictEqual({ f_a: boolean });
    expect(properties({ properties: { n: { type: "string", oneOf: [{ const: "a", title: "A" }], default: ["a"] } } })).toStrictEqual({
      n: { type: "string", enum: ["a"], enumNames: ["A"], description: 'Default: ["a"].' },
    });
    expect(properties({ properties: { n: { type: "boolean", oneOf: [{ const: "a" }], default: false } } })).toStrictEqual({
      n: { type: "boolean", enum: ["a"], enumNames: ["a"], default: false },
    });
  });

  test("a boolean's name has at most forty characters of its choice", () => {
    const value = "-".repeat(3) + "x".repeat(60);
    expect(properties({ properties: { f: { type: "array", items: { enum: [value] } } } })).toStrictEqual({
      [`f__${"x".repeat(39)}`]: { type: "boolean", title: `F: ${value}` },
    });
  });

  test("an answer that chooses nothing is an empty list only where that is allowed, or where the field is required", () => {
    const schema = (field: JsonObject, more: JsonObject = {}): JsonObject => ({
      properties: { other: { type: "string", minItems: 1 }, f: { type: "array", items: { enum: ["a"] }, ...field } },
      ...more,
    });
    expect(read(schema({}), { f_a: false })).toStrictEqual({ f: [] });
    expect(read(schema({ minItems: 0 }), { f_a: false })).toStrictEqual({ f: [] });
    expect(read(schema({ minItems: "1" }), { f_a: false })).toStrictEqual({ f: [] });
    expect(read(schema({ minItems: 1 }), { f_a: false })).toStrictEqual({});
    expect(read(schema({ minItems: 1 }, { required: ["f"] }), { f_a: false })).toStrictEqual({ f: [] });
    expect(read(schema({}), {})).toStrictEqual({});
    expect(read(schema({}, { required: "f" }), {})).toStrictEqual({});
  });

  test("a reply that is not an answer is left unchanged", () => {
    const { request } = askOf({ properties: { f: { type: "array", items: { enum: ["a"] } } } });
    for (const reply of ["accept", null, [], { action: "decline" }, { action: "accept", content: "a" }]) {
      expect(older[0].readReply(request, reply)).toBe(reply);
    }
    const plain = { action: "accept", content: { n: 1 } };
    expect(older[0].readReply(askOf({ properties: { n: { type: "integer" } } }).request, plain)).toBe(plain);
  });

  test("a field called __proto__ is a field like any other", () => {
    const schema = JSON.parse(
      `{"type":"object","properties":{"__proto__":{"type":"array","items":{"type":"string","enum":["a"]}}},"required":["__proto__"]}`,
    ) as JsonObject;
    const [key] = Object.keys(
      (older[0].encoder(facts).ask(askOf(schema), IDS).params as { requestedSchema: { properties: object } }).requestedSchema.properties,
    );
    const read = older[0].readReply(askOf(schema).request, { action: "accept", content: { [String(key)]: true } }) as { content: object };
    expect(Object.entries(read.content)).toStrictEqual([["__proto__", ["a"]]]);
    expect(Object.getPrototypeOf(read.content)).toBe(Object.prototype);
  });
});
