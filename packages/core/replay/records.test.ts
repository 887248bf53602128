/** What is written, when, and how much of it. */
import { describe, expect, test } from "vitest";
import type { Entry, KeyedEntry } from "../journal.ts";
import { createRecords } from "./records.ts";

const reading = (value: number): Entry => ({ digest: "", calledAt: "0", outcome: { type: "value", value } });
const noted = (key: string, value = 0): KeyedEntry => ({ key, entry: reading(value) });
/** The size of an entry: its key, its outcome, and 32 characters for the rest. */
const sizeOf = ({ key, entry }: KeyedEntry) => key.length + 32 + JSON.stringify(entry.outcome).length;

function ledger({ held = 0, journalSize = 0, entriesMax = 100, sizeMax = 10_000 } = {}) {
  const writes: (readonly KeyedEntry[])[] = [];
  const stops: string[] = [];
  const records = createRecords({
    isOutOfTurn: () => false,
    journal: new Map(Array.from({ length: held }, (_, index) => [`step:${index}`, reading(index)])),
    journalSize,
    settings: { journalEntriesMax: entriesMax, journalSizeMax: sizeMax },
    record: async (entries) => void writes.push(entries),
    stop: (error) => void stops.push(`${error.code} ${error.message}`),
  });
  return { records, writes, stops };
}

const TOO_MANY = "JOURNAL_FULL the journal is full: 3 entries (PARLEY_JOURNAL_ENTRIES_MAX)";

describe("noted entries", () => {
  test("go with the next write, before its own entries, and once", async () => {
    const { records, writes } = ledger();
    records.note(noted("now:a"));
    records.note(noted("now:b"));
    await records.write([noted("step:c")]);
    await records.write([noted("step:d")]);
    expect(writes).toStrictEqual([[noted("now:a"), noted("now:b"), noted("step:c")], [noted("step:d")]]);
  });

  test("are written before anything that depends on them; if none are noted, nothing is written", async () => {
    const { records, writes } = ledger();
    records.mustBeSavedIfNoted();
    expect(records.isSaved()).toBe(true);
    await records.saved();
    expect(writes).toStrictEqual([]);
    records.note(noted("ask:a"));
    expect(records.isSaved()).toBe(true);
    records.mustBeSavedIfNoted();
    expect(records.isSaved()).toBe(false);
    await records.saved();
    expect(writes).toStrictEqual([[noted("ask:a")]]);
    // Entries that had to be written anyway still do.
    records.mustBeSaved();
    records.mustBeSavedIfNoted();
    expect(records.isSaved()).toBe(false);
  });

  test("are written before a side effect only if another run could decide differently", async () => {
    const { records, writes } = ledger();
    records.note(noted("sleep:a"));
    await records.saved();
    expect(writes).toStrictEqual([]);
    records.mustBeSaved();
    await records.saved();
    await records.saved();
    expect(writes).toStrictEqual([[noted("sleep:a")]]);
    records.note(noted("sleep:b"));
    await records.saved();
    expect(records.take()).toStrictEqual([noted("sleep:b")]);
    expect(records.take()).toStrictEqual([]);
  });

  test("need not be saved any more after a write, or the end, has included them", async () => {
    const { records, writes } = ledger();
    records.note(noted("now:a"));
    records.mustBeSaved();
    await records.write([noted("step:b")]);
    await records.saved();
    expect(writes).toHaveLength(1);
  });

  test("with the same key are one entry, the later, in the position of the later", () => {
    const { records, stops } = ledger({ entriesMax: 3 });
    records.note(noted("sleep:a", 1));
    records.note(noted("now:b"));
    records.note(noted("now:c"));
    records.note(noted("sleep:a", 2));
    expect(records.take()).toStrictEqual([noted("now:b"), noted("now:c"), noted("sleep:a", 2)]);
    expect(stops).toStrictEqual([]);
  });

  test("make a side effect wait for a write that another one has begun", async () => {
    const gate = Promise.withResolvers<void>();
    const records = createRecords({
      isOutOfTurn: () => false,
      journal: new Map(),
      journalSize: 0,
      settings: { journalEntriesMax: 9, journalSizeMax: 999 },
      record: () => gate.promise,
      stop: () => undefined,
    });
    records.note(noted("now:a"));
    records.mustBeSaved();
    const order: string[] = [];
    const both = [records.saved().then(() => order.push("first")), records.saved().then(() => order.push("second"))];
    await Promise.resolve();
    order.push("written");
    gate.resolve();
    await Promise.all(both);
    expect(order).toStrictEqual(["written", "first", "second"]);
  });
});

describe("the bounds of a journal", () => {
  test("count entries of earlier runs, and open questions", () => {
    const { records, stops } = ledger({ held: 1, entriesMax: 3 });
    records.note(noted("now:a"));
    records.checkBounds(1);
    records.note(noted("now:b"));
    expect(stops).toStrictEqual([]);
    records.checkBounds(1);
    expect(stops).toStrictEqual([TOO_MANY]);
    records.note(noted("now:c"));
    expect(stops).toStrictEqual([TOO_MANY, TOO_MANY]);
  });

  test("count entries that are written without having been noted", async () => {
    const { records, stops } = ledger({ held: 2, entriesMax: 3 });
    await records.write([noted("step:a")]);
    expect(stops).toStrictEqual([]);
    await records.write([noted("step:b")]);
    expect(stops).toStrictEqual([TOO_MANY]);
  });

  test("count an entry that the store holds once, even if something is added to it", () => {
    const { records, stops } = ledger({ held: 3, entriesMax: 3, sizeMax: 1 });
    records.note({ ...noted("step:0"), known: true });
    expect(stops).toStrictEqual([]);
  });

  test("count an entry that is written again once, with its later size", async () => {
    const begun = (key: string): KeyedEntry => ({ key, entry: { digest: "", calledAt: "0o", outcome: { type: "begun" } } });
    const after = [noted("step:0", 66), noted("step:a", 12_345)];
    const sizeMax = after.reduce((sum, entry) => sum + sizeOf(entry), 0);
    for (const [most, expected] of [
      [sizeMax, []],
      [sizeMax - 1, [`JOURNAL_FULL the journal is full: ${sizeMax - 1} characters (PARLEY_JOURNAL_SIZE_MAX)`]],
    ] as const) {
      const { records, stops } = ledger({ held: 1, journalSize: sizeOf(noted("step:0")), entriesMax: 2, sizeMax: most });
      records.note(begun("step:a"));
      await records.write([]);
      await records.write(after);
      expect(stops).toStrictEqual(expected);
    }
  });

  test("count characters of earlier runs: at the limit it works, one beyond ends the run", () => {
    const entries = [noted("now:a", 12_345), noted("now:long-name", 6)];
    const size = entries.reduce((sum, entry) => sum + sizeOf(entry), 500);
    for (const [sizeMax, expected] of [
      [size, []],
      [size - 1, [`JOURNAL_FULL the journal is full: ${size - 1} characters (PARLEY_JOURNAL_SIZE_MAX)`]],
    ] as const) {
      const { records, stops } = ledger({ journalSize: 500, sizeMax });
      entries.forEach(records.note);
      expect(stops).toStrictEqual(expected);
    }
  });
});
