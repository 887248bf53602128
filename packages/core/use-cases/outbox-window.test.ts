/** How much a window keeps. What it returns is compared with the outbox in packages/redis/tasks/follow-occurrences.redis.test.ts. */
import { expect, test } from "vitest";
import type { OutboxEntry } from "../ports/outbox.ts";
import { outboxWindow } from "./outbox-window.ts";

test.each([
  [1, 1_000],
  [16, 1_000],
  [64, 250],
  [256, 62],
  [1_024, 50],
])("of each of %i partitions, the newest %i entries are kept", async (partitions, kept) => {
  const places = (after: string) => Array.from({ length: partitions }, () => ({ after, changes: 0 }));
  const ofOutbox = { entries: [], end: places("0-0"), isMore: false, isTruncated: false, nowMs: 0 };
  const outbox = {
    read: async () => ofOutbox,
    now: async () => places("0-0"),
    names: async () => new Set<string>(),
    namesVersion: async () => "",
  };
  const window = outboxWindow(outbox);
  window.begin(places("0-0"));
  const call = { kind: "tool", name: "subject", principal: "ann", hidden: false } as const;
  const entry = (number: number): OutboxEntry => ({
    id: `${number}-0`,
    partition: 0,
    taskId: "0-x",
    revision: 1,
    atMs: 0,
    call,
    changes: [],
  });
  const all = Array.from({ length: 1_500 }, (_, at) => entry(at + 1));
  window.add({ entries: all, end: places("1500-0"), isMore: false, isTruncated: false, nowMs: 0 });
  const from = (number: number) => places(`${number}-0`);
  expect((await window.read(from(1_500 - kept), 5_000)).entries).toHaveLength(kept);
  expect(await window.read(from(1_500 - kept - 1), 5_000)).toBe(ofOutbox);
});
