import type { Entry } from "@parley/core";
import type { RecordedTask } from "@parley/sdk/replay";
import { expect, test } from "vitest";
import { cutAt } from "./cut-journal.ts";

test("what schemas made of answers is kept with the answers, and is no effect of its own", () => {
  const entry = (place?: number) =>
    ({ digest: "", calledAt: "0", outcome: { type: "value" }, ...(place !== undefined && { place }) }) as Entry;
  const journal = { "ask:q": entry(1), "read q": entry(), "step:a": entry(2), "ask:r": entry(3), "read r": entry() };
  const recorded = { journal, asks: [] } as unknown as RecordedTask;
  const { at, entries } = cutAt(recorded, "a");
  expect([at, entries.map(({ key }) => key)]).toEqual(["step:a", ["read q", "ask:q"]]);
  expect(() => cutAt(recorded, "none")).toThrow("its effects: ask:q, step:a, ask:r");
});
