import { expect, test } from "vitest";
import { catalogue, VERSIONS_MAX } from "./catalogue.ts";
import { DefinitionError } from "../failures.ts";
import { defineModule } from "./module.ts";
import { definePrompt } from "./prompt.ts";
import { defineResource, defineResourceTemplate } from "./resource.ts";
import { defineTool } from "./tool.ts";

const tool = defineTool({ name: "z-tool", run: () => "done" });
const second = defineTool({ name: "a-tool", run: () => "done" });
const prompt = definePrompt({ name: "a-prompt", run: () => "hello" });
const page = defineResource({ uri: "test://page", name: "page", read: () => "" });
const pages = defineResourceTemplate({ uriTemplate: "test://pages/{id}", name: "pages", read: () => "" });

test("definitions are collected from modules, lists and themselves, in their order", () => {
  const gathered = catalogue({ tool, helper: () => 1, limit: 3, listed: [prompt, page] }, [pages], second);
  expect([...gathered.tools.keys()]).toEqual(["z-tool", "a-tool"]);
  const [b, a, first] = ["b", "a", "first"].map((name) => defineTool({ name, run: () => "" }));
  expect([...catalogue({ b, a, default: [first] }).tools.keys()]).toEqual(["first", "a", "b"]);
  expect(gathered.prompts.get("a-prompt")).toBe(prompt);
  expect(gathered.resources.get("test://page")).toBe(page);
  expect(gathered.templates).toEqual([pages]);
});

test("the same definition from two modules counts once", () => {
  expect(catalogue({ tool }, { default: tool }).tools.size).toBe(1);
});

test.each([
  ["tool z-tool", tool, defineTool({ name: "z-tool", run: () => "other" }), "give one another name, or another version"],
  ["prompt a-prompt", prompt, definePrompt({ name: "a-prompt", run: () => "" }), "give one another name"],
  ["resource test://page", page, defineResource({ uri: "test://page", name: "other", read: () => "" }), "give one another name"],
  [
    "resource template test://pages/{id}",
    pages,
    defineResourceTemplate({ uriTemplate: "test://pages/{id}", name: "other", read: () => "" }),
    "give one another name",
  ],
  ["module pool", defineModule({ name: "pool", start: () => 1 }), defineModule({ name: "pool", start: () => 2 }), "give one another name"],
])("two definitions with the %s are refused by name", (what, one, other, remedy) => {
  expect(() => catalogue(one, one)).not.toThrow();
  expect(() => catalogue(one, other)).toThrow(new DefinitionError(`two definitions of the ${what}: ${remedy}`));
});

test.each<[string, unknown]>([
  ["without definitions", { helper: () => 1 }],
  ["that hides them in an object", { deep: { tool } }],
  ["of nothing", null],
  ["that is a text", "tools"],
  ["that is empty", []],
])("a source %s is refused", (_what, source) => {
  expect(() => catalogue(tool, source as never)).toThrow(
    new DefinitionError("source 2 holds no tool, prompt or resource: export what defineTool and its siblings return"),
  );
});

test("exports are collected by name, in any order, with the default export first", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => defineTool({ name, run: () => "" }));
  expect([...catalogue({ c, d, a, b }).tools.keys()]).toStrictEqual(["a", "b", "c", "d"]);
  expect([...catalogue({ a, b, default: d, c }).tools.keys()]).toStrictEqual(["d", "a", "b", "c"]);
  expect([...catalogue({ default: d, c, a }).tools.keys()]).toStrictEqual(["d", "a", "c"]);
  expect([...catalogue({ nested: [[[b]], a] }).tools.keys()]).toStrictEqual(["b", "a"]);
});

test.each(["", "has space", "ü", "x".repeat(65)])("the name %j is refused", (name) => {
  expect(() => defineTool({ name, run: () => "" })).toThrow(/tool name .* is not allowed/);
  expect(() => definePrompt({ name, run: () => "" })).toThrow(/prompt name .* is not allowed/);
});

const versioned = (version?: string) => defineTool({ name: "ship", ...(version !== undefined && { version }), run: () => version ?? "" });

test("the newest of several versions is the tool, with the others in it, newest first", () => {
  const [one, two, ten, none] = [versioned("1"), versioned("2"), versioned("10"), versioned()];
  const tool = catalogue([two, none], ten, one, two).tools.get("ship");
  expect(tool?.version).toBe("10");
  expect(tool?.older).toEqual([two, one, none]);
  expect(catalogue(two).tools.get("ship")).toBe(two);
  expect(() => catalogue(one, versioned("1"))).toThrow(
    "two definitions of the tool ship, version 1: give one another name, or another version",
  );
});

test("a tool may have the maximum number of versions, and not one more", () => {
  const all = Array.from({ length: VERSIONS_MAX }, (_, index) => versioned(String(index)));
  expect(catalogue(all).tools.get("ship")?.older).toHaveLength(VERSIONS_MAX - 1);
  expect(() => catalogue(all, versioned("more"))).toThrow(
    new DefinitionError("the tool ship has more than 32 versions: remove those that no task has"),
  );
  expect(versioned("x".repeat(32)).version).toHaveLength(32);
  for (const wrong of ["", "x".repeat(33), "a b", "ü"]) expect(() => versioned(wrong)).toThrow(/the version .* is not allowed/);
});
