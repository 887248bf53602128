/** Cuts the journal of an exported task before one of its effects settled: the point at which a fork begins. */
import { entryKey, isOfCompensation, isReadingKey, type KeyedEntry, readingKey, settledBefore } from "@parley/core";
import type { RecordedTask } from "@parley/sdk/replay";

export interface Cut {
  /** The key of the entry that comes next. */
  readonly at: string;
  /** The entries that are kept, in the order in which they settled. */
  readonly entries: readonly KeyedEntry[];
}

/**
 * Keeps what settled before the effect, including the times that the handler read and the decisions of `ctx.patched` up to then. Effects that settled
 * after it, or were still waiting, run again. Throws an Error that lists the effects of the journal if none has this name.
 */
export function cutAt(recorded: RecordedTask, name: string): Cut {
  const all = Object.entries(recorded.journal).filter(([key]) => !isOfCompensation(key));
  const journal = all.filter(([key]) => !isReadingKey(key));
  const open = [...recorded.asks, ...(recorded.events ?? []), ...(recorded.calls ?? [])].map(({ key }) => entryKey("ask", key));
  const settled = journal
    .filter(([, { place }]) => place !== undefined)
    .toSorted(([, a], [, b]) => (a.place ?? 0) - (b.place ?? 0))
    .map(([key]) => key);
  const others = journal.map(([key]) => key).filter((key) => !settled.includes(key) && !isFact(key));
  const known = [...settled, ...others, ...open.filter((key) => !others.includes(key))];
  const at = effectOf(known, name);
  const place = recorded.journal[at]?.place ?? Number.POSITIVE_INFINITY;
  const kept = journal.filter(([key, entry]) => (isFact(key) ? settledBefore(entry.calledAt) < place : (entry.place ?? place) < place));
  const read = new Set(kept.filter(([key]) => key.startsWith(ASK)).map(([key]) => readingKey(key.slice(ASK.length))));
  const readings = all.filter(([key]) => read.has(key));
  return {
    at,
    entries: [...readings, ...kept.toSorted(([, a], [, b]) => (a.place ?? 0) - (b.place ?? 0))].map(([key, entry]) => ({ key, entry })),
  };
}

const ASK = entryKey("ask", "");

/** Entries that do not settle a promise, and therefore have no place. */
function isFact(key: string): boolean {
  return key.startsWith("now:") || key.startsWith("patch:");
}

function effectOf(known: readonly string[], name: string): string {
  const found = known.filter((key) => key === name || key.slice(key.indexOf(":") + 1) === name);
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0) return only;
  if (only !== undefined) throw new Error(`--fork-at ${name} is ambiguous: use ${found.join(" or ")}`);
  const list = known.length === 0 ? "the journal is empty" : `its effects: ${known.join(", ")}`;
  throw new Error(`--fork-at ${name} is not an effect in the journal; ${list}`);
}
