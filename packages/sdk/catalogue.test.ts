import { expect, test } from "vitest";
import { catalogue, VERSIONS_MAX } from "./catalogue.ts";
import { definePrompt } from "./prompt.ts";
import { defineResource, defineResourceTemplate } from "./resource.ts";
import { defineTool } from "./tool.ts";

const tool = defineTool({ name: "z-tool", run: () => "done" });
const second = defineTool({ name: "a-tool", run: () => "done" });
const prompt = definePrompt({ name: "a-prompt", run: () => "hello" });
const page = defineResource({ uri: "test://page", name: "page", read: () => "" });
const pages = defineResourceTemplate({ uriTemplate: "test://pages/{id}", name: "pages", read: () => "" });

test("definitions are gathered from modules, lists and themselves, in their order", () => {
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

test("two definitions of one name are refused by name", () => {
  expect(() => catalogue(tool, defineTool({ name: "z-tool", run: () => "other" }))).toThrow("two definitions of the tool z-tool");
});

test("a module without definitions is refused", () => {
  expect(() => catalogue(tool, { helper: () => 1 })).toThrow("source 2 holds no tool, prompt or resource");
});

test.each(["", "has space", "ü", "x".repeat(65)])("the name %j is refused", (name) => {
  expect(() => defineTool({ name, run: () => "" })).toThrow(/tool name .* is not allowed/);
  expect(() => definePrompt({ name, run: () => "" })).toThrow(/prompt name .* is not allowed/);
});

const versioned = (version?: string) => defineTool({ name: "ship", ...(version !== undefined && { version }), run: () => version ?? "" });

test("of several versions of a tool the newest is the tool, and the others are beside it, newest first", () => {
  const [one, two, ten, none] = [versioned("1"), versioned("2"), versioned("10"), versioned()];
  const tool = catalogue([two, none], ten, one, two).tools.get("ship");
  expect(tool?.version).toBe("10");
  expect(tool?.older).toEqual([two, one, none]);
  expect(catalogue(two).tools.get("ship")).toBe(two);
  expect(() => catalogue(one, versioned("1"))).toThrow(
    "two definitions of the tool ship, version 1: give one another name, or another version",
  );
});

test("as many versions as a tool may have, and one more", () => {
  const all = Array.from({ length: VERSIONS_MAX }, (_, index) => versioned(String(index)));
  expect(catalogue(all).tools.get("ship")?.older).toHaveLength(VERSIONS_MAX - 1);
  expect(() => catalogue(all, versioned("more"))).toThrow(`more than ${VERSIONS_MAX} versions`);
  expect(versioned("x".repeat(32)).version).toHaveLength(32);
  for (const wrong of ["", "x".repeat(33), "a b", "ü"]) expect(() => versioned(wrong)).toThrow(/the version .* is not allowed/);
});
