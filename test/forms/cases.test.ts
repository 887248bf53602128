/**
 * Inputs at which forms once lost or refused what a person typed, and what the page, the terminal and the server make of
 * each now. A row is one value on its way: typed on the page, typed on the terminal, judged by the server.
 */
import { randomUUID } from "node:crypto";
import { DEFAULT_SETTINGS, checkAsk, fieldsOf, type Field, inexactNumber, type Json, type JsonObject, oneLine } from "@parley/core";
import { createValidator } from "@parley/node";
import { defineTool, jsonSchema } from "@parley/sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { argumentsOf } from "../../apps/cli/call/tool-arguments.ts";
import { entryOf, readEntry } from "../../apps/cli/questions/entry.ts";
import { contentOf, inputsOf, noteOf, untouched } from "../../apps/web/form/inputs.ts";
import { mended } from "../../packages/gateway/wire/incoming.ts";
import { callArguments, cursorOf } from "../../packages/protocol/params.ts";
import { formSchema } from "../../packages/sdk/schemas/ask-schema.ts";
import { jsonOf } from "../../packages/sdk/schemas/schema.ts";

const validate = createValidator();
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });

/** What the page sends if a person types this into the first field. */
function page(schema: JsonObject, typed: string): Json | undefined {
  const [input] = inputsOf(schema);
  if (!input) throw new Error("no field");
  const choice = input.choices.findIndex(({ value }) => value === typed);
  const { content, problems } = contentOf([input], { [input.name]: input.control === "select" ? `${choice}` : typed });
  return problems[input.name] ?? content[input.name];
}

function terminal(schema: JsonObject, typed: string): Json | undefined {
  return readEntry(typed, fieldsOf(schema)[0] as Field);
}

function server(schema: JsonObject, value: Json): string {
  const [problem] = validate(schema, { at: value });
  return problem ? problem.message : "accepted";
}

const P = { type: "string", enum: ["low", "high"] };
const $defs = { P, Q: { $ref: "#/$defs/P" } };

interface Row {
  readonly number: number;
  readonly is: string;
  readonly schema: JsonObject;
  readonly typed: string;
  readonly value: Json;
}

const VALUES: readonly Row[] = [
  { number: 2, is: "exclusiveMinimum", schema: object({ at: { type: "number", exclusiveMinimum: 0 } }), typed: "0.5", value: 0.5 },
  { number: 2, is: "a pattern", schema: object({ at: { type: "string", pattern: "^[A-Z]{3}$" } }), typed: "FCO", value: "FCO" },
  { number: 2, is: "whole numbers to choose from", schema: object({ at: { type: "integer", enum: [1, 2, 3] } }), typed: "2", value: 2 },
  { number: 2, is: "examples", schema: object({ at: { type: "string", examples: ["Rome"] } }), typed: "Oslo", value: "Oslo" },
  {
    number: 2,
    is: "null",
    schema: object({ at: { anyOf: [{ type: "string" }, { type: "null" }], default: null } }),
    typed: "Bo",
    value: "Bo",
  },
  { number: 2, is: "choices without a type", schema: object({ at: { oneOf: [{ const: "a", title: "A" }] } }), typed: "a", value: "a" },
  ...[0.07, 0.29, 1.13, 4.35, 19.99].map((value) => ({
    number: 3,
    is: "a step of a hundredth",
    schema: object({ at: { type: "number", multipleOf: 0.01 } }),
    typed: `${value}`,
    value,
  })),
  ...Object.entries<JsonObject>({
    allOf: { allOf: [{ $ref: "#/$defs/P" }], default: "low" },
    oneOf: { oneOf: [{ $ref: "#/$defs/P" }], default: "low" },
    "a chain of references": { $ref: "#/$defs/Q" },
    "choices with null": { enum: ["low", "high", null] },
  }).map(([is, at]) => ({ number: 6, is, schema: object({ at }, { $defs }), typed: "high", value: "high" })),
  { number: 6, is: "numbers to choose from", schema: object({ at: { type: "integer", enum: [5, 10, 25] } }), typed: "10", value: 10 },
  {
    number: 6,
    is: "a text or a number",
    schema: object({ at: { anyOf: [{ type: "string" }, { type: "integer" }] } }),
    typed: "my-project",
    value: "my-project",
  },
  {
    number: 7,
    is: "a time without a zone",
    schema: object({ at: { type: "string", format: "time" } }),
    typed: "19:30:00",
    value: "19:30:00",
  },
  { number: 12, is: "wide digits", schema: object({ at: { type: "integer" } }), typed: "１０", value: 10 },
  { number: 12, is: "Arabic digits", schema: object({ at: { type: "integer" } }), typed: "٤", value: 4 },
  { number: 15, is: "a tuple of draft-07", schema: TUPLE(), typed: "[1, 2]", value: [1, 2] },
  { number: 17, is: "numbers to choose from, as zod writes them", schema: asked(z.literal([1, 2, 3])), typed: "3", value: 3 },
];

function TUPLE(): JsonObject {
  const at = { type: "array", items: [{ type: "number" }, { type: "number" }], minItems: 2, maxItems: 2 };
  return object({ at }, { $schema: "http://json-schema.org/draft-07/schema#" });
}

function asked(at: z.ZodType): JsonObject {
  return formSchema("question", jsonOf("the ask", z.object({ at }), "input")).form;
}

test.each(VALUES)("case $number, $is: $typed arrives from page and terminal, and the server accepts it", ({ schema, typed, value }) => {
  expect([page(schema, typed), terminal(schema, typed), server(schema, value)]).toEqual([value, value, "accepted"]);
});

test.each<[number, string, JsonObject, Json, string]>([
  [2, "a value at an exclusive bound", object({ at: { type: "number", exclusiveMinimum: 0 } }), 0, "must be more than 0"],
  [3, "half a hundredth", object({ at: { type: "number", multipleOf: 0.01 } }), 0.005, "must be a multiple of 0.01"],
  [15, "a text in a tuple of numbers", TUPLE(), ["a", 2], "must be a number"],
  [17, "a number that is no choice", asked(z.literal([1, 2, 3])), 5, "must be one of 1, 2, 3"],
])("case %i: the server refuses %s", (_number, _is, schema, value, message) => {
  expect(server(schema, value)).toBe(message);
});

test("case 1: a text of several lines keeps them, with what is added on the page and on the terminal", () => {
  const mail = "Dear Ann,\n\nthe parcel left today.\n\nBo";
  const schema = object({ body: { type: "string", default: mail } });
  const [input] = inputsOf(schema);
  const [field] = fieldsOf(schema);
  if (!input || !field) throw new Error("no field");
  expect([input.control, page(schema, `${untouched(input) as string} PS`), terminal(schema, `${entryOf(field)} PS`)]).toEqual([
    "area",
    `${mail} PS`,
    `${mail} PS`,
  ]);
});

test("case 4: digits that a number would round are refused by the page, the terminal and the server", () => {
  const schema = object({ at: { type: "integer" } });
  const digits = "1234567890123456789";
  expect([page(schema, digits), server(schema, terminal(schema, digits) ?? null), inexactNumber(`{"at":${digits}}`)]).toEqual([
    "has more digits than a number can have",
    "must be a whole number",
    digits,
  ]);
});

test("case 4: so are those within JSON, which are never sent as another number", async () => {
  const [list, object_] = [{ type: "array", items: { type: "object" } }, { type: "object" }];
  const digits = "1234567890123456789";
  for (const [at, typed] of [
    [object_, `{"id":${digits}}`],
    [list, `[{"id":${digits}}]`],
  ] as const) {
    const schema = object({ at });
    const call = async (given: object) => await argumentsOf({ arg: [], flags: [], ...given }, async () => await Promise.resolve(schema));
    expect([page(schema, typed), server(schema, terminal(schema, typed) ?? null)]).toEqual([
      "has more digits than a number can have",
      expect.stringMatching(/must be a list|must be an object/),
    ]);
    await expect(call({ arg: [`at=${typed}`] })).rejects.toThrow(`at contains the number ${digits}`);
    await expect(call({ args: `{"at":${typed}}` })).rejects.toThrow(`--args contains the number ${digits}`);
  }
});

test.each<[typed: string, value: Json]>([
  ["5", 5],
  ["２", 2],
  ["auto", "auto"],
])("case 6: a number or a word that is named: %s arrives, which as a text could not be the number", (typed, value) => {
  const schema = object({ at: { anyOf: [{ type: "integer" }, { type: "string", const: "auto" }] } });
  expect([page(schema, typed), terminal(schema, typed), server(schema, value)]).toEqual([value, value, "accepted"]);
});

test("case 5: what ends a line to some readers is escaped", () => {
  expect(oneLine(JSON.stringify("before\u2028after"))).toBe(String.raw`"before\u2028after"`);
});

test.each<JsonObject>([
  object({}, { oneOf: [object({ name: { type: "string" } }), object({}, { patternProperties: { "^x-": {} } })] }),
  { ...object({}), additionalProperties: { type: "string" } },
  { ...object({ name: { type: "string" } }), anyOf: [{ required: ["name"] }, { required: ["id"] }] },
])("case 6: what a root allows beyond its fields is entered as JSON: %j", (schema) => {
  const inputs = inputsOf(schema);
  expect(contentOf(inputs, { "": '{"name": "Bo"}' }).content).toEqual({ name: "Bo" });
});

test("case 6: what a root allows by alternatives is entered in fields", () => {
  const schema = object({}, { oneOf: [object({ name: { type: "string" } }), object({ id: { type: "integer" } })] });
  expect(contentOf(inputsOf(schema), { id: "4" })).toEqual({ content: { id: 4 }, problems: {} });
  expect(terminal(schema, "Bo")).toBe("Bo");
});

test.each<[string, object, object]>([
  ["structuredContent", { structuredContent: null }, {}],
  ["isError", { isError: null }, {}],
  ["a list as structured content", { structuredContent: [1] }, {}],
])("case 8: a result with null for %s keeps its text", (_what, given, read) => {
  const content = [{ type: "text", text: "order 17 placed" }];
  const message = { jsonrpc: "2.0", id: 1, result: { content, ...given } };
  expect(mended(message, JSON.stringify(message))).toEqual({ jsonrpc: "2.0", id: 1, result: { content, ...read } });
});

test.each<[object, object]>([
  [{ jsonrpc: "2.0", id: 7, result: { content: [] }, error: null }, { result: { content: [] } }],
  [{ jsonrpc: "2.0", id: 7, result: { content: [], _meta: null } }, { result: { content: [] } }],
  [{ jsonrpc: "2.0", id: 7, error: { message: "boom" } }, { error: { code: -32603, message: "boom" } }],
  [{ jsonrpc: "2.0", id: 7, result: { content: [] }, ts: 1 }, { result: { content: [] } }],
  [{ id: 7, result: { content: [] } }, { result: { content: [] } }],
  [{ jsonrpc: "2.0", id: 7, result: null }, { error: { message: expect.stringContaining("without a result") } }],
])("case 9: a response that is not exactly JSON-RPC ends its call: %j", (message, read) => {
  expect(mended(message, JSON.stringify(message))).toMatchObject({ jsonrpc: "2.0", id: 7, ...read });
});

test.each<[JsonObject, string, Json]>([
  [{ type: "string" }, "2026", "2026"],
  [{ type: "string" }, "null", "null"],
  [{ type: "integer" }, "2026", 2026],
])("case 10: -a follows the schema %j", async (at, typed, value) => {
  expect(await argumentsOf({ arg: [`at=${typed}`], flags: [] }, async () => await Promise.resolve(object({ at })))).toEqual({ at: value });
});

test("case 11: z.iso.duration() defines", () => {
  const tool = { name: `tool_${randomUUID().slice(0, 4)}`, input: z.object({ at: z.iso.duration() }), run: () => "" };
  expect(defineTool(tool).name).toBe(tool.name);
});

test("case 13: people write a space after a comma; the page has a line for each entry", () => {
  const schema = object({ at: { type: "array", items: { type: "string" } } });
  expect([terminal(schema, "one, two"), page(schema, "one\ntwo")]).toEqual([
    ["one", "two"],
    ["one", "two"],
  ]);
});

test("case 14: a time that the clock skips is refused, and of one that it shows twice the page says which is meant", () => {
  const zone = process.env["TZ"];
  process.env["TZ"] = "Europe/Berlin";
  try {
    const schema = object({ at: { type: "string", format: "date-time" } });
    const [input] = inputsOf(schema);
    if (!input) throw new Error("no field");
    expect(
      ["2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-10-25T03:30:00"].map((typed) => [page(schema, typed), noteOf(input, typed)]),
    ).toEqual([
      ["does not exist: the clock is moved forward then", ""],
      ["2026-10-25T00:30:00Z", "the clock shows this time twice: the first one is meant"],
      ["2026-10-25T02:30:00Z", ""],
    ]);
  } finally {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  }
});

test("case 15: a schema of draft-04 is read, and one of no known draft is refused by its name", () => {
  const draft04 = {
    $schema: "http://json-schema.org/draft-04/schema#",
    id: "http://example.com/a",
    ...object({ at: { type: "integer" } }),
  };
  expect(jsonSchema(draft04)).toBeDefined();
  expect(() => jsonSchema({ ...draft04, $schema: "http://json-schema.org/draft-03/schema#" })).toThrow(
    /names "http:\/\/json-schema\.org\/draft-03\/schema#", which is not read here: only JSON Schema of draft-04, 06, 07, 2019-09 and 2020-12 is/,
  );
});

test.each<[string, JsonObject]>([
  ["India's PIN code", { pincode: { type: "string", title: "PIN code", description: "6-digit postal PIN code of the delivery address" } }],
  ["a parcel's authorization code", { authorization_code: { type: "string", description: "RMA number on the return label" } }],
  ["the name of a Kubernetes secret", { tls_secret: { type: "string", description: "Name of the Kubernetes secret" } }],
  ["a card of a board", { cardNumber: { type: "string", description: "Number of the card on the Kanban board" } }],
  ["whether there is a passkey", { passkey_enabled: { type: "string" } }],
])("case 16: %s is asked", (_what, properties) => {
  expect(() => checkAsk("ask", { request: { type: "form", message: "?", schema: object(properties) } }, DEFAULT_SETTINGS)).not.toThrow();
});

test("case 18: null in a request is read as absent; the corpora of packages/protocol have the messages", () => {
  expect([cursorOf({ cursor: null }), callArguments({ arguments: null })]).toEqual([{}, {}]);
});
