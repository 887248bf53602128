import { expect, test, vi } from "vitest";
import { dialectLabel, methodLabel } from "./labels.ts";

test("a label is one of a known few, regardless of what a client sends", () => {
  expect(methodLabel("tools/call")).toBe("tools/call");
  expect(methodLabel("tools/invented")).toBe("other");
  expect(methodLabel(undefined)).toBe("none");
  expect(dialectLabel("2026-07-28")).toBe("2026-07-28");
  expect(dialectLabel("1900-01-01")).toBe("other");
});

test("a catalogue that is ever new fills no memory", async () => {
  // What other tests have labelled stands in the module.
  vi.resetModules();
  const { toolLabel } = await import("./labels.ts");
  const labels = new Set(Array.from({ length: 2_000 }, (_, i) => toolLabel({ kind: "tool", name: `tool-${i}` })));
  expect(labels.size).toBe(501);
  expect(labels).toContain("other");
  expect(toolLabel({ kind: "tool", name: "tool-1" })).toBe("tool-1");
});
