import { expect, test } from "vitest";
import type { JsonObject } from "./json.ts";
import { inCurrentDraft, isKnownDraft } from "./older-drafts.ts";

test.each<[string, JsonObject, JsonObject]>([
  [
    "a tuple",
    { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "number" }, { items: [{}] }], additionalItems: false },
    { prefixItems: [{ type: "number" }, { prefixItems: [{}] }], items: false },
  ],
  ["a list", { type: "array", items: { type: "string" } }, { type: "array", items: { type: "string" } }],
  [
    "exclusive bounds that are booleans",
    { minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { exclusiveMinimum: 0, maximum: 9 },
  ],
  ["exclusive bounds that are numbers", { exclusiveMinimum: 0 }, { exclusiveMinimum: 0 }],
  ["the id of draft-04", { id: "http://example.com/a", type: "object" }, { type: "object" }],
  [
    "fields that have the names of keywords",
    { properties: { id: { type: "string" }, items: { type: "array", items: [{}] }, $schema: {} } },
    { properties: { id: { type: "string" }, items: { type: "array", prefixItems: [{}] }, $schema: {} } },
  ],
  [
    "a reference into a tuple",
    { properties: { items: { items: [{}, { $ref: "#/properties/items/items/0" }] } } },
    { properties: { items: { prefixItems: [{}, { $ref: "#/properties/items/prefixItems/0" }] } } },
  ],
  [
    "data that looks like a schema",
    { default: { items: [1], id: "x" }, enum: [{ items: [1] }], const: { exclusiveMinimum: true } },
    { default: { items: [1], id: "x" }, enum: [{ items: [1] }], const: { exclusiveMinimum: true } },
  ],
])("%s is read", (_what, given, read) => {
  expect(inCurrentDraft(given)).toStrictEqual(read);
});

test.each([
  "http://json-schema.org/draft-04/schema#",
  "http://json-schema.org/draft-07/schema",
  "https://json-schema.org/draft/2020-12/schema",
])("%s is known", ($schema) => {
  expect([isKnownDraft({ $schema }), isKnownDraft({})]).toEqual([true, true]);
});

test.each(["http://json-schema.org/draft-03/schema#", "https://example.com/mine", 7])("%s is not known", ($schema) => {
  expect(isKnownDraft({ $schema })).toBe(false);
});
