/** The OpenAPI document of /api/v1, what is generated from it, and its page. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { catalogue, defineTool } from "@parley/sdk";
import { generatedApi } from "../../../../deploy/generate/generated.ts";
import { deploy } from "../../deployment.fixture.ts";
import { DOCUMENT } from "./document.ts";
import { OPERATIONS } from "./operations.ts";
import { referencePage } from "./reference-page.ts";

const ROOT = new URL("../../../../", import.meta.url);

test("docs/openapi.json and the types of the command line are what `npm run generate` writes", async () => {
  for (const { path, text } of await generatedApi()) expect(readFileSync(new URL(path, ROOT), "utf8"), path).toBe(text);
}, 120_000);

describe("the document", () => {
  const text = JSON.stringify(DOCUMENT);
  const schemas = Object.keys(DOCUMENT.components.schemas);

  test("names each schema that it refers to, and refers to each that it names", () => {
    const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, id]) => id));
    expect([...referred].toSorted()).toEqual(schemas.toSorted());
  });

  test("names every operation once", () => {
    const names = OPERATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test("describes each parameter of an address", () => {
    for (const { name, path, params } of OPERATIONS) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => each);
      expect(Object.keys(params?.shape ?? {}), name).toEqual(inPath);
    }
  });

  test("is described by docs/api.md, operation by operation", () => {
    const guide = readFileSync(new URL("docs/api.md", ROOT), "utf8");
    for (const { method, path } of OPERATIONS) {
      const shown = `\`${method.toUpperCase()} /api/v1${path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => `<${name === "taskId" ? "task" : name}>`)}\``;
      expect(guide, shown).toContain(shown);
    }
  });
});

describe("the reference", () => {
  test("shows each operation and each schema, and every link leads to one", () => {
    const page = referencePage(DOCUMENT);
    const ids = new Set([...page.matchAll(/ id="(\w+)"/g)].map(([, id]) => id));
    expect([...ids].toSorted()).toEqual([...OPERATIONS.map(({ name }) => name), ...Object.keys(DOCUMENT.components.schemas)].toSorted());
    for (const [, target] of page.matchAll(/href="#(\w+)"/g)) expect(ids, target).toContain(target);
    expect(page).not.toMatch(/<script|style=|https?:|undefined|\[object/);
  });

  test("needs no credentials and nothing from elsewhere", async () => {
    const { fronts } = await deploy({
      catalogue: catalogue([defineTool({ name: "none", run: () => "" })]),
      fronts: 1,
      authenticate: () => Promise.reject(new Error("asked for credentials")),
    });
    const at = (path: string) => fetch(new URL(path, fronts[0]!.url));
    const page = await at("/api/v1/reference");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'self'/);
    for (const [, file] of (await page.text()).matchAll(/<link rel="stylesheet" href="([^"]+)"/g)) {
      expect((await fetch(new URL(file!, page.url))).headers.get("content-type"), file).toBe("text/css; charset=utf-8");
    }
    expect(await (await at("/api/v1/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(DOCUMENT)));
  });
});
