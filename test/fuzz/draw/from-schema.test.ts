/** The product's validator, ajv, checks the generators: values that should be valid must be, and values that should be invalid must not. */
import { createValidator } from "@parley/node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { breaking, breakingAtLength, fitting } from "./from-schema.ts";
import { expand, type JsonObject } from "./json.ts";

const validate = createValidator();

const SCHEMAS: { readonly [name: string]: JsonObject } = {
  texts: {
    type: "object",
    properties: {
      bounded: { type: "string", minLength: 2, maxLength: 6 },
      long: { type: "string", minLength: 70 },
      code: { type: "string", pattern: "^[A-Z]{2}-[0-9]{3}$" },
      time: { type: "string", pattern: "^([01]\\d|2[0-3]):[0-5]\\d$" },
      email: { type: "string", format: "email" },
      uri: { type: "string", format: "uri" },
      day: { type: "string", format: "date" },
      moment: { type: "string", format: "date-time" },
    },
    required: ["bounded", "code"],
  },
  numbers: {
    type: "object",
    properties: {
      bounded: { type: "number", minimum: 0.5, maximum: 99.5 },
      positive: { type: "number", exclusiveMinimum: 0 },
      whole: { type: "integer", minimum: -3, maximum: 12 },
      any: { type: "integer" },
      sure: { type: "boolean" },
    },
    required: ["whole"],
  },
  choices: {
    type: "object",
    properties: {
      plain: { type: "string", enum: ["small", "large"] },
      titled: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g" }] },
      several: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["mon", "tue", "wed"] } },
      alternatives: { type: "array", items: { anyOf: [{ const: "a" }, { const: "b" }] } },
    },
    required: ["plain", "several"],
  },
  nested: {
    type: "object",
    properties: {
      tags: { type: "array", maxItems: 5, items: { type: "string", minLength: 1, maxLength: 20 } },
      place: { type: "object", properties: { city: { type: "string", minLength: 1 } }, required: ["city"], additionalProperties: false },
    },
    required: ["place"],
    additionalProperties: false,
  },
};

describe.each(Object.entries(SCHEMAS))("a schema of %s", (_name, schema) => {
  test("is fitted by what is drawn to fit", () => {
    fc.assert(
      fc.property(fitting(schema), (value) => {
        // As it travels: undefined and lone surrogates are not what they were.
        expect(validate(schema, JSON.parse(JSON.stringify(value)) as unknown)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("is broken by what is drawn to break it", () => {
    const ways = new Set<string>();
    fc.assert(
      fc.property(breaking(schema)!, ({ name, value }) => {
        ways.add(name);
        expect(validate(schema, expand(value)), name).not.toEqual([]);
      }),
      { numRuns: 600 },
    );
    // Every field can be broken, and each in more than one way.
    for (const field of Object.keys(schema["properties"] as JsonObject)) {
      expect([...ways].filter((way) => way.startsWith(`${field} `)).length, field).toBeGreaterThan(0);
    }
  });
});

test("what breaks at length does so too", () => {
  const ways = new Set<string>();
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    const drawn = breakingAtLength(schema);
    for (const each of drawn ? fc.sample(drawn, 40) : []) {
      ways.add(each.name);
      // As drawn, but not as large: each item makes a violation of its own.
      const small = JSON.parse(JSON.stringify(each.value), (key: string, value: unknown) =>
        key === "times" ? Math.min(Number(value), 1_100) : value,
      ) as JsonObject;
      expect(validate(schema, expand(small)), `${name}: ${each.name}`).not.toEqual([]);
    }
  }
  expect([...ways]).toEqual(expect.arrayContaining(["bounded too long", "several many wrong items", "many unknown members"]));
});
