import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { OutboxEntry } from "../ports/outbox.ts";
import type { OccurrenceType } from "../task/occurrence-types.ts";
import { concerns, type OccurrenceFilter } from "./read-occurrences.ts";

const ann = callerNamed("ann");
const bob = callerNamed("bob", { groups: ["ops"] });
const OPS = "digest of ops";

function asked(name: string): OutboxEntry {
  const call = { kind: "tool", name, principal: "ann", hidden: true } as const;
  const change = { what: "asked", key: "parley.approval", audience: [OPS], isApproval: true } as const;
  return { id: "1-0", partition: 0, taskId: "0-1", revision: 1, atMs: 1, call, changes: [change] };
}

describe("a test of those who approve", () => {
  const hears = (caller: typeof ann, name: string, filter: Partial<OccurrenceFilter> = {}) =>
    concerns({ caller, names: new Set(caller === bob ? [OPS] : []), filter: { types: ["approval.asked"], ...filter } }, asked(name));

  test.each<[string, Partial<OccurrenceFilter>, boolean]>([
    ["without a filter", {}, true],
    ["with the name of the tool", { tool: "wire" }, true],
    ["with its own name, by which it could be told from a call", { tool: "wire#test" }, false],
    ["with another name", { tool: "other" }, false],
    ["of others", { from: "others" }, true],
  ])("is heard of by those who are asked as a call is: %s", (_, filter, isHeard) => {
    expect([hears(bob, "wire#test", filter), hears(bob, "wire", filter)]).toEqual([isHeard, isHeard]);
  });

  test("is not heard of by the caller of the call that it copies, who hears of the call", () => {
    const types: OccurrenceType[] = ["approval.asked"];
    expect([hears(ann, "wire#test", { types }), hears(ann, "wire", { types })]).toEqual([false, true]);
    expect(hears(ann, "wire#test", { from: "me" })).toBe(false);
  });
});
