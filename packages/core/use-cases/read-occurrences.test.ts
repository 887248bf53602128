import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { OutboxEntry, OutboxPlace } from "../ports/outbox.ts";
import type { OccurrenceType } from "../task/occurrence-types.ts";
import { concerns, type OccurrenceFilter, readOccurrences } from "./read-occurrences.ts";

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

test("what has no key is said to be missing once, by the read that passes it", async () => {
  const call = { kind: "tool", name: "wire", principal: "ann", hidden: false } as const;
  const ended = { what: "completed", audience: [] } as const;
  const entries: OutboxEntry[] = [ended, ended, { what: "asked", key: "size", audience: [OPS] } as const, ended].map((change, index) => ({
    id: `${index + 1}-0`,
    partition: 0,
    taskId: `0-${index}`,
    revision: 1,
    atMs: 1,
    call,
    changes: [change],
    ...(change.what === "asked" && { isKeyMissing: true as const }),
  }));
  const outbox = {
    read: async ([from]: OutboxPlace) => ({
      entries: entries.filter(({ id }) => id > (from?.after ?? "")),
      end: [{ after: "9-0", changes: 0 }],
      isMore: false,
      isTruncated: false,
      nowMs: 1,
    }),
    names: async () => new Set<string>(),
  };
  const read = [];
  let from: OutboxPlace = [{ after: "0-0", changes: 0 }];
  for (let isMore = true; isMore;) {
    const filter = { types: ["task.ended", "ask.opened"] } as const;
    // oxlint-disable-next-line no-await-in-loop -- each begins where the one before ended
    const found = await readOccurrences({ outbox } as never, { caller: ann, filter, from, limit: 1 });
    read.push(`${found.occurrences.length}${found.isTruncated ? ", truncated" : ""}`);
    ({ place: from, isMore } = found);
  }
  expect(read).toEqual(["1", "1, truncated", "1"]);
});
