import { describe, expect, expectTypeOf, test } from "vitest";
import { defineResource, defineResourceTemplate } from "./resource.ts";

describe("defineResource", () => {
  test("serves text and bytes with its mime type", async () => {
    const page = defineResource({ uri: "test://page", name: "page", mimeType: "text/plain", read: () => "hello" });
    const image = defineResource({ uri: "test://image", name: "image", mimeType: "image/png", read: () => new Uint8Array([1, 2]) });
    expect(await page.read()).toEqual([{ uri: "test://page", mimeType: "text/plain", text: "hello" }]);
    expect(await image.read()).toEqual([{ uri: "test://image", mimeType: "image/png", blob: "AQI=" }]);
  });

  test("wants an absolute uri", () => {
    expect(() => defineResource({ uri: "page", name: "page", read: () => "" })).toThrow(/not an absolute uri/);
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

  test("finds the variables of a uri that fits", () => {
    expect(template.match("shop://dairy/items/blue%20cheese.json")).toEqual({ aisle: "dairy", item: "blue cheese" });
  });

  test.each([
    "shop://dairy/items/a/b.json",
    "shop://dairy/items/x-json",
    "shop:///items/x.json",
    "shop://dairy/items/%E0%A4%A.json",
    "xshop://dairy/items/x.json",
  ])("%s does not fit", (uri) => {
    expect(template.match(uri)).toBeUndefined();
  });

  test("reads with its variables", async () => {
    expect(await template.read("shop://dairy/items/x.json", { aisle: "dairy", item: "x" })).toEqual([
      { uri: "shop://dairy/items/x.json", text: "dairy:x:shop://dairy/items/x.json" },
    ]);
  });

  test("suggests only where the author does", async () => {
    expect(await template.complete?.("aisle", "da", {})).toEqual(["dairy"]);
    expect(await template.complete?.("item", "", {})).toEqual([]);
  });

  test("refuses expansions that it does not read", () => {
    expect(() => defineResourceTemplate({ uriTemplate: "shop://{+path}", name: "x", read: () => "" })).toThrow(
      /not supported: use \{name\}/,
    );
    expect(() => defineResourceTemplate({ uriTemplate: "shop://{a}/{a}", name: "x", read: () => "" })).toThrow(/stands twice/);
  });
});
