/** The headers in which an upstream wants arguments repeated. */
import { expect, test } from "vitest";
import { paramHeaders, wrongHeader } from "./param-headers.ts";

const header = (name: unknown, type = "string") => ({ type, "x-mcp-header": name });
const schema = (properties: object) => ({ type: "object", properties }) as never;

test("arguments at any depth that are strings, integers or booleans are repeated", () => {
  const headersOf = paramHeaders(
    schema({
      region: header("Region"),
      limit: header("Limit", "integer"),
      nested: schema({ dry: header("Dry-Run", "boolean") }),
      other: {},
    }),
  );
  expect(headersOf({ region: "eu", limit: 3, nested: { dry: false }, other: "x" })).toEqual({
    "mcp-param-region": "eu",
    "mcp-param-limit": "3",
    "mcp-param-dry-run": "false",
  });
});

test.each([
  ["is absent", {}],
  ["is null", { region: null }],
  ["is an object", { region: { a: 1 } }],
  ["is inherited", Object.create({ region: "eu" })],
])("an argument that %s is not", (_what, args) => {
  expect(paramHeaders(schema({ region: header("Region") }))(args)).toEqual({});
});

test.each([
  ["Zürich", "=?base64?WsO8cmljaA==?="],
  ["a\r\nx-evil: 1", "=?base64?YQ0KeC1ldmlsOiAx?="],
  [" a", "=?base64?IGE=?="],
  ["", "=?base64??="],
  ["=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="],
  ["a b", "a b"],
])("%j is sent as %s", (value, expected) => {
  expect(paramHeaders(schema({ region: header("Region") }))({ region: value })).toEqual({ "mcp-param-region": expected });
});

test.each([["a b"], [""], ["x\r\ny"], [5], [null]])("a declaration with the name %j is ignored", (name) => {
  expect(paramHeaders(schema({ region: header(name) }))({ region: "eu" })).toEqual({});
});

test("a declaration for a number is ignored", () => {
  expect(paramHeaders(schema({ share: header("Share", "number") }))({ share: 5 })).toEqual({});
});

test.each<[string, object, string | undefined]>([
  ["a string", { a: header("A") }, undefined],
  ["an integer within an object", { a: schema({ b: header("A", "integer") }) }, undefined],
  ["a boolean", { a: header("A", "boolean") }, undefined],
  ["an argument of that name", { "x-mcp-header": { type: "number" } }, undefined],
  ["a default with that member", { a: { type: "object", default: header("A", "number") } }, undefined],
  ["a number", { a: header("A", "number") }, "/properties/a/x-mcp-header"],
  ["an object", { a: header("A", "object") }, "/properties/a/x-mcp-header"],
  ["no type", { a: { "x-mcp-header": "A" } }, "/properties/a/x-mcp-header"],
  ["a name that is empty", { a: header("") }, "/properties/a/x-mcp-header"],
  ["a name with a line end", { a: header("a\r\nb") }, "/properties/a/x-mcp-header"],
  ["a name that is no text", { a: header(5) }, "/properties/a/x-mcp-header"],
  ["a name that is used twice", { a: header("Region"), b: schema({ c: header("REGION") }) }, "/properties/b/properties/c/x-mcp-header"],
  ["an item", { a: { type: "array", items: header("A") } }, "/properties/a/items/x-mcp-header"],
  ["an alternative", { a: { anyOf: [header("A")] } }, "/properties/a/anyOf/0/x-mcp-header"],
  ["a property of an item", { a: { items: schema({ b: header("A") }) } }, "/properties/a/items/properties/b/x-mcp-header"],
])("a declaration for %s is judged as the specification says", (_what, properties, place) => {
  expect(wrongHeader({ inputSchema: schema(properties) })).toBe(place);
});

test("a declaration for all arguments together, or in a definition, is not allowed", () => {
  expect(wrongHeader({ inputSchema: header("A", "object") as never })).toBe("/x-mcp-header");
  expect(wrongHeader({ inputSchema: { type: "object", $defs: { a: header("A") } } as never })).toBe("/$defs/a/x-mcp-header");
});

test("a schema that nests deeply is searched to a depth of 32", () => {
  const deep = (levels: number): object => (levels === 0 ? header("Deep") : schema({ a: deep(levels - 1) }));
  const args = (levels: number): unknown => (levels === 0 ? "x" : { a: args(levels - 1) });
  expect(paramHeaders(deep(32) as never)(args(32) as never)).toEqual({ "mcp-param-deep": "x" });
  expect(paramHeaders(deep(33) as never)(args(33) as never)).toEqual({});
  expect(paramHeaders(deep(5_000) as never)({})).toEqual({});
  expect(wrongHeader({ inputSchema: deep(5_000) as never })).toBeUndefined();
});
