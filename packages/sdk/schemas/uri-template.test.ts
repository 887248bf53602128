import { describe, expect, test } from "vitest";
import { DefinitionError } from "../failures.ts";
import { uriMatcher } from "./uri-template.ts";

describe("a URI template", () => {
  test.each<[string, string, Record<string, string> | undefined]>([
    ["shop://{aisle}/{item}.json", "shop://deli/brie.json", { aisle: "deli", item: "brie" }],
    ["shop://{aisle}/{item}.json", "shop://deli/brie.json.json", { aisle: "deli", item: "brie.json" }],
    ["shop://{aisle}/{item}.json", "shop://deli/brie.jsonx", undefined],
    ["shop://{aisle}/{item}.json", "shop://deli/brie.json/more", undefined],
    ["shop://{aisle}/{item}.json", "shop:///brie.json", undefined],
    ["{a}{b}", "xyz", { a: "xy", b: "z" }],
    ["{a}{b}", "x", undefined],
    ["{a}-{b}?{c}", "1-2-3?4", { a: "1-2", b: "3", c: "4" }],
    ["{a}", "x?y", undefined],
    ["{a}", "x#y", undefined],
    ["{a}", "caf%C3%A9", { a: "café" }],
    ["{a}", "%C3", undefined],
    ["test://fixed", "test://fixed", {}],
    ["test://fixed", "test://fixed/", undefined],
  ])("%s for %s gives %j", (template, uri, variables) => {
    expect(uriMatcher(template)(uri)).toStrictEqual(variables);
  });

  test.each([
    ["shop://{path*}", "{path*} in shop://{path*} is not supported: use {name}"],
    ["shop://{+path}", "{+path} in shop://{+path} is not supported: use {name}"],
    ["shop://{path", "shop://{path in shop://{path is not supported: use {name}"],
    ["shop://path}", "shop://path} in shop://path} is not supported: use {name}"],
    ["shop://{a{b}", "{a{b} in shop://{a{b} is not supported: use {name}"],
    ["shop://{}", "{} in shop://{} is not supported: use {name}"],
    ["shop://{a}/{b}/{a}", "{a} appears twice in shop://{a}/{b}/{a}"],
  ])("%s is refused", (template, message) => {
    expect(() => uriMatcher(template)).toThrow(new DefinitionError(message));
  });
});
