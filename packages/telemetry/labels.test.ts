import { expect, test } from "vitest";
import { importAnew } from "../../test/support/import-anew.ts";
import type * as Labels from "./labels.ts";
import { dialectLabel, methodLabel } from "./labels.ts";

test("a label has one of a few known values", () => {
  expect(methodLabel("tools/call")).toBe("tools/call");
  expect(methodLabel("tools/invented")).toBe("other");
  expect(methodLabel(undefined)).toBe("none");
  expect(dialectLabel("2026-07-28")).toBe("2026-07-28");
  expect(dialectLabel("1900-01-01")).toBe("other");
});

test("a catalogue that keeps changing does not fill memory", async () => {
  // The module also holds labels of other tests.
  const { ruleLabel, toolLabel } = await importAnew<typeof Labels>(import.meta.resolve("./labels.ts"));
  const rules = new Set(Array.from({ length: 2_000 }, (_, i) => ruleLabel(`rule-${i}`)));
  expect([rules.size, ruleLabel("rule-1")]).toEqual([201, "rule-1"]);
  const labels = new Set(Array.from({ length: 2_000 }, (_, i) => toolLabel({ kind: "tool", name: `tool-${i}` })));
  expect(labels.size).toBe(501);
  expect(labels).toContain("other");
  expect(toolLabel({ kind: "tool", name: "tool-1" })).toBe("tool-1");
});
