import type { JsonObject } from "@parley/core";
import { describe, expect, test } from "vitest";
import { argumentsOf, fromFlags } from "./tool-arguments.ts";

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    partySize: { type: "integer" },
    window: { type: "boolean" },
    dishes: { type: "array", items: { type: "string", enum: ["soup", "fish"] } },
    note: { type: "string" },
    address: { type: "object" },
    "no-smoking": { type: "boolean" },
    anything: {},
    sizes: { type: "array", items: { type: "integer" } },
    items: { type: "array" },
    names: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
    count: { type: ["integer", "null"] },
    alias: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
  },
  required: ["partySize"],
};
const flags = (...given: string[]) => fromFlags(given, SCHEMA);

test("-a follows the schema, as --name does: digits, true and null are texts where a text is wanted", async () => {
  const texts = {
    type: "object",
    properties: {
      text: { type: "string" },
      maybe: { type: ["string", "null"] },
      id: { type: "integer" },
      tags: { type: "array", items: { type: "string" } },
    },
  };
  const arg = ["text=2026", "maybe=null", "id=4", "tags=a, 1", "tags=b", "other=2026"];
  expect(await argumentsOf({ arg, flags: [] }, () => Promise.resolve(texts))).toEqual({
    text: "2026",
    maybe: null,
    id: 4,
    tags: ["a", "1", "b"],
    other: 2026,
  });
  expect(await argumentsOf({ arg: ["text=null", "id=12345678901234567890"], flags: [] }, () => Promise.resolve(texts))).toEqual({
    text: "null",
    id: "12345678901234567890",
  });
});

describe("arguments from flags", () => {
  test("have the types of the input schema, in both spellings", () => {
    expect(flags("--party-size", "4", "--note", "4", "--dishes", "soup,fish", "--address", '{"town":"Bonn"}', "--anything", "[1]")).toEqual(
      {
        partySize: 4,
        note: "4",
        dishes: ["soup", "fish"],
        address: { town: "Bonn" },
        anything: [1],
      },
    );
    expect([flags("--items", "1,two"), flags("--items", '{"a":1,"b":2}'), flags("--items", '[1,"2"]')]).toEqual([
      { items: [1, "two"] },
      { items: [{ a: 1, b: 2 }] },
      { items: [1, "2"] },
    ]);
    expect([flags("--names", "5"), flags("--names", '["5"]'), flags("--names", "a, b")]).toEqual([
      { names: "5" },
      { names: ["5"] },
      { names: "a, b" },
    ]);
    expect([flags("--sizes", "1,2"), flags("--sizes", "1", "--sizes", "2"), flags("--sizes", "[1,2]")]).toEqual(
      Array(3).fill({ sizes: [1, 2] }),
    );
    expect(flags("--partySize=4", "--note=a=b", "--dishes", "soup", "--dishes", "fish")).toEqual({
      partySize: 4,
      note: "a=b",
      dishes: ["soup", "fish"],
    });
  });

  test("that may be null have the other type, or are null", () => {
    expect(flags("--count", "4", "--alias", "4")).toEqual({ count: 4, alias: "4" });
    expect(flags("--count", "null", "--alias=null")).toEqual({ count: null, alias: null });
  });

  test("that are boolean need no value, and have a --no- form", () => {
    expect(flags("--window", "--note", "x")).toEqual({ window: true, note: "x" });
    expect(flags("--no-window")).toEqual({ window: false });
    expect(flags("--window", "no")).toEqual({ window: false });
    expect(flags("--no-smoking")).toEqual({ "no-smoking": true });
  });

  test("that the tool does not have are refused by name", () => {
    expect(() => flags("--seats", "4")).toThrow("the tool has no argument seats; it has partySize, window, dishes, note, address");
    expect(() => flags("four")).toThrow("four is unexpected");
    expect(() => flags("--note")).toThrow("--note needs a value");
    expect(() => flags("--__proto__", "1")).toThrow("no argument __proto__");
  });

  test("override --args, and -a overrides both; the schema is read only for names", async () => {
    const given = { args: '{"note":"args","window":true}', arg: ["partySize=5"], flags: ["--note", "flag", "--party-size", "4"] };
    expect(await argumentsOf(given, () => Promise.resolve(SCHEMA))).toEqual({ note: "flag", window: true, partySize: 5 });
    const never = () => Promise.reject(new Error("asked for"));
    const any = { type: "object" };
    expect(await argumentsOf({ arg: ["a=1", "b=x"], flags: [] }, () => Promise.resolve(any))).toEqual({ a: 1, b: "x" });
    expect(await argumentsOf({ args: '{"a":1}', arg: [], flags: [] }, never)).toEqual({ a: 1 });
    await expect(argumentsOf({ args: "[]", arg: [], flags: [] }, never)).rejects.toThrow("--args takes a JSON object");
  });
});
