import { expect, test } from "vitest";
import { callerNamed } from "./callers/caller.fixture.ts";
import { type Catalogue, fixedCatalogue } from "./catalogue.ts";

test("a fixed catalogue is the same one for every caller and for workers, each time", () => {
  const catalogue: Catalogue = { tools: new Map(), prompts: new Map(), resources: new Map(), templates: [] };
  const { current, runnable } = fixedCatalogue(catalogue);
  for (const caller of [callerNamed("alice"), callerNamed("bob", { tenant: "acme" }), callerNamed("alice")])
    expect(current(caller)).toBe(catalogue);
  expect(runnable()).toBe(catalogue);
  expect(runnable()).toBe(catalogue);
});
