import { describe, expect, expectTypeOf, test } from "vitest";
import { ParleyError } from "@parley/core";
import { DefinitionError } from "../failures.ts";
import { defineResource, defineResourceTemplate } from "./resource.ts";

const BASE64 = 'must be base64, such as by Buffer.from(…).toString("base64"), without "data:" before it';

describe("defineResource", () => {
  test("serves text and bytes with its mime type", async () => {
    const page = defineResource({ uri: "test://page", name: "page", mimeType: "text/plain", read: () => "hello" });
    const image = defineResource({ uri: "test://image", name: "image", mimeType: "image/png", read: () => new Uint8Array([1, 2]) });
    expect(await page.read()).toEqual([{ uri: "test://page", mimeType: "text/plain", text: "hello" }]);
    expect(await image.read()).toEqual([{ uri: "test://image", mimeType: "image/png", blob: "AQI=" }]);
  });

  test("serves contents with URIs of their own as they are, and text without a type", async () => {
    const parts = [{ uri: "test://page#1", text: "one" }];
    expect(await defineResource({ uri: "test://page", name: "page", read: () => parts }).read()).toBe(parts);
    const plain = defineResource({ uri: "test://page", name: "page", read: async () => "hello" });
    expect(await plain.read()).toStrictEqual([{ uri: "test://page", text: "hello" }]);
  });

  test.each<[unknown, string]>([
    [undefined, "undefined, which is neither text, bytes nor a list of contents"],
    [{ rows: 2 }, "an object, which is neither text, bytes nor a list of contents"],
    [["row"], "contents that no client can read: /0 must be an object, and is a string"],
    [[{ uri: "a:b", text: "" }, { text: "" }], "contents that no client can read: /1/uri must be a string, and is undefined"],
    [[{ uri: "a:b", blob: "data:image/png;base64,AQI=" }], `contents that no client can read: /0/blob ${BASE64}`],
    [[{ uri: "a:b", text: 5 }], "contents that no client can read: /0 must have a text or a blob, each a string"],
  ])("serves nothing that a client could not read: %j", async (returned, problem) => {
    const read = () => returned as never;
    const error = new ParleyError("INVALID_OUTPUT", `resource page returned ${problem}`);
    await expect(defineResource({ uri: "test://page", name: "page", read }).read()).rejects.toStrictEqual(error);
    const template = defineResourceTemplate({ uriTemplate: "test://{id}", name: "page", read });
    await expect(template.read("test://1", { id: "1" })).rejects.toStrictEqual(error);
  });

  test("is listed as it was defined", () => {
    const read = expect.any(Function);
    const facts = {
      name: "page",
      title: "Page",
      description: "A page",
      mimeType: "text/plain",
      annotations: { priority: 1 },
      meta: { ui: { prefersBorder: true } },
    };
    expect({ ...defineResource({ ...facts, uri: "test://page", size: 0, read: () => "" }) }).toStrictEqual({
      ...facts,
      uri: "test://page",
      size: 0,
      read,
    });
    expect({ ...defineResource({ name: "page", uri: "test://page", read: () => "" }) }).toStrictEqual({
      name: "page",
      uri: "test://page",
      read,
    });
    expect({ ...defineResourceTemplate({ ...facts, uriTemplate: "test://{id}", read: () => "" }) }).toStrictEqual({
      ...facts,
      uriTemplate: "test://{id}",
      match: expect.any(Function),
      read,
    });
  });

  test("requires an absolute URI", () => {
    expect(() => defineResource({ uri: "page", name: "page", read: () => "" })).toThrow(
      new DefinitionError('resource uri "page" is not an absolute uri'),
    );
    expect(() => defineResource({ uri: undefined as never, name: "page", read: () => "" })).toThrow(
      new DefinitionError("resource uri undefined is not an absolute uri"),
    );
  });

  test.each<[string, object, string]>([
    ["without read", { read: undefined }, " has no read: give the function that returns its contents"],
    ["without a name", { name: undefined }, " has no name: give it one for lists"],
    ["whose type is a number", { mimeType: 5 }, ": mimeType must be a string"],
    ["whose meta is a text", { meta: "ui" }, ": meta must be an object"],
    ["whose annotations are a word", { annotations: "high" }, ": annotations must be an object, and is a string"],
    [
      "for an unknown audience",
      { annotations: { audience: ["model"] } },
      ': annotations/audience must be a list of "user" and "assistant"',
    ],
    ["with too high a priority", { annotations: { priority: 5 } }, ": annotations/priority must be a number from 0 to 1"],
  ])("a resource and a template %s is refused when the module loads", (_what, part, message) => {
    const facts = { name: "page", read: () => "", ...part };
    expect(() => defineResource({ uri: "test://page", ...facts } as never)).toThrow(new DefinitionError(`resource test://page${message}`));
    expect(() => defineResourceTemplate({ uriTemplate: "test://{id}", ...facts } as never)).toThrow(
      new DefinitionError(`resource template test://{id}${message}`),
    );
  });

  test("has a size in bytes", () => {
    expect(() => defineResource({ uri: "test://page", name: "page", size: "5 kB" as never, read: () => "" })).toThrow(
      new DefinitionError("resource test://page: size must be a whole number from 0"),
    );
  });
});

describe("defineResourceTemplate", () => {
  const template = defineResourceTemplate({
    uriTemplate: "shop://{aisle}/items/{item}.json",
    name: "item",
    read(variables, uri) {
      expectTypeOf(variables).toEqualTypeOf<{ readonly aisle: string; readonly item: string }>();
      return `${variables.aisle}:${variables.item}:${uri}`;
    },
    complete: { aisle: (value) => ["dairy", "deli"].filter((aisle) => aisle.startsWith(value)) },
  });

  test("extracts the variables of a matching URI", () => {
    expect(template.match("shop://dairy/items/blue%20cheese.json")).toEqual({ aisle: "dairy", item: "blue cheese" });
  });

  test.each([
    "shop://dairy/items/a/b.json",
    "shop://dairy/items/x-json",
    "shop:///items/x.json",
    "shop://dairy/items/%E0%A4%A.json",
    "xshop://dairy/items/x.json",
  ])("%s does not match", (uri) => {
    expect(template.match(uri)).toBeUndefined();
  });

  test("with several variables in a segment gives each as much as possible, and rejects quickly", () => {
    const uriTemplate = "pkg://{name}-{version}.{type}";
    const packages = defineResourceTemplate({ uriTemplate, name: "package", read: () => "" });
    expect(packages.match("pkg://left-pad-1.2.3.tgz")).toEqual({ name: "left-pad", version: "1.2.3", type: "tgz" });
    // The thread's own time: a test machine may be busy.
    const before = process.threadCpuUsage();
    for (const filler of ["-", ".", "-."]) {
      // As long as the URI of a request may be.
      expect(packages.match(`pkg://a${filler.repeat(2_040 / filler.length)}/`)).toBeUndefined();
    }
    const { user, system } = process.threadCpuUsage(before);
    expect(user + system).toBeLessThan(1_000_000);
  });

  test("reads with its variables", async () => {
    expect(await template.read("shop://dairy/items/x.json", { aisle: "dairy", item: "x" })).toEqual([
      { uri: "shop://dairy/items/x.json", text: "dairy:x:shop://dairy/items/x.json" },
    ]);
  });

  test("completes only where the author does", async () => {
    expect(await template.complete?.("aisle", "da", {})).toEqual(["dairy"]);
    expect(await template.complete?.("item", "", {})).toEqual([]);
  });

  test.each<[string, object, string]>([
    ["for what is no variable", { complete: { bread: () => [] } }, ": complete.bread must be for a variable of shop://{aisle}"],
    ["that are a list", { complete: { aisle: ["dairy"] } }, ": complete.aisle must be a function"],
    ["that are one function", { complete: () => [] }, ": complete must be an object"],
  ])("refuses completions %s", (_what, part, message) => {
    expect(() => defineResourceTemplate({ uriTemplate: "shop://{aisle}", name: "x", read: () => "", ...part } as never)).toThrow(
      new DefinitionError(`resource template shop://{aisle}${message}`),
    );
  });

  test("needs a template", () => {
    expect(() => defineResourceTemplate({ name: "x", read: () => "" } as never)).toThrow(
      new DefinitionError('resource template undefined is not a uri template, such as "test://item/{id}"'),
    );
  });

  test("suggests nothing that a client could not read", async () => {
    const complete = { aisle: () => "dairy" as never };
    const wrong = defineResourceTemplate({ uriTemplate: "shop://{aisle}", name: "x", read: () => "", complete });
    await expect(wrong.complete?.("aisle", "", {})).rejects.toThrow(
      "resource template shop://{aisle}: complete of aisle must return a list of strings, and returned a string",
    );
  });

  test("refuses expansions other than simple ones", () => {
    expect(() => defineResourceTemplate({ uriTemplate: "shop://{+path}", name: "x", read: () => "" })).toThrow(
      /not supported: use \{name\}/,
    );
    expect(() => defineResourceTemplate({ uriTemplate: "shop://{a}/{a}", name: "x", read: () => "" })).toThrow(/appears twice/);
  });
});
