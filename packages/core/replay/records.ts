/**
 * What a run writes to the journal, and when.
 *
 *   note(…)   goes out with the next write: of a step's result, of the parking or of the end
 *   saved()   before a side effect: writes the notes at once if another run could come to different ones (R3)
 *   write(…)  writes at once
 *
 * A handler without races therefore costs one write per step, and a race costs one more write before the first step that follows it. The number
 * of entries and their size are bounded: beyond a bound the run stops.
 */
import { ParleyError } from "../errors.ts";
import type { Entry, Journal, KeyedEntry } from "../journal.ts";
import type { Settings } from "../settings.ts";

/** Characters counted for the rest of an entry: its place, its origin, its digest. */
const ENTRY_OVERHEAD = 32;

export interface Records {
  /** Adds the entry to the next write. */
  note(entry: KeyedEntry): void;
  /** The notes must be written before the next side effect: another run could come to different ones. */
  mustBeSaved(): void;
  /** The same if there are any notes. For changes that depend on them and are not written by the run itself. */
  mustBeSavedIfNoted(): void;
  /** Whether a side effect may begin: nothing that must be saved is unwritten or on its way. */
  isSaved(): boolean;
  /** Writes what must be saved, and resolves when it is written. */
  saved(): Promise<void>;
  /** Writes the notes and these entries, in the order of their places. */
  write(entries: readonly KeyedEntry[]): Promise<void>;
  /** Removes and returns the notes, for the write that ends the run. */
  take(): KeyedEntry[];
  /** Stops the run if the journal is full, counting open asks as the entries that they will be. */
  checkBounds(openAsks: number): void;
}

export interface RecordsOptions {
  readonly journal: Journal;
  readonly journalSize: number;
  readonly settings: Pick<Settings, "journalEntriesMax" | "journalSizeMax">;
  readonly record: (entries: readonly KeyedEntry[]) => Promise<void>;
  /** Whether effects have settled out of turn. What comes of that is as if it had not been. */
  readonly isOutOfTurn: () => boolean;
  /** Ends the run with an error that no `catch` of the handler sees. */
  readonly stop: (error: ParleyError) => void;
}

export function createRecords({ journal, journalSize, settings, record, isOutOfTurn, stop }: RecordsOptions): Records {
  let unsaved: KeyedEntry[] = [];
  let mustSave = false;
  let saving: Promise<void> | undefined;
  let count = journal.size;
  let size = journalSize;
  /** Sizes of the entries that this run has written or noted, by key. */
  const sizes = new Map<string, number>();

  function take(): KeyedEntry[] {
    const entries = unsaved;
    unsaved = [];
    mustSave = false;
    return entries;
  }

  /** Counts an entry once: a step that was written as begun, or a sleep, is written again when it ends. */
  function counted({ key, entry, known }: KeyedEntry): void {
    if (known) return;
    const before = journal.get(key);
    const sizeBefore = sizes.get(key) ?? (before && sizeOf(key, before));
    if (sizeBefore === undefined) count += 1;
    const sizeNow = sizeOf(key, entry);
    size += sizeNow - (sizeBefore ?? 0);
    sizes.set(key, sizeNow);
    checkBounds(0);
  }

  function checkBounds(openAsks: number): void {
    const { journalEntriesMax, journalSizeMax } = settings;
    if (count + openAsks > journalEntriesMax) stop(full(`${journalEntriesMax} entries (PARLEY_JOURNAL_ENTRIES_MAX)`));
    if (size > journalSizeMax) stop(full(`${journalSizeMax} characters (PARLEY_JOURNAL_SIZE_MAX)`));
  }

  return {
    note(entry) {
      if (isOutOfTurn()) return;
      // A sleep that began and ended since the last write is a single entry.
      const begun = unsaved.findIndex(({ key }) => key === entry.key);
      if (begun !== -1) unsaved.splice(begun, 1);
      counted(entry);
      unsaved.push(entry);
    },
    mustBeSaved: () => void (mustSave = true),
    mustBeSavedIfNoted: () => void (mustSave ||= unsaved.length > 0),
    isSaved: () => !mustSave && saving === undefined,
    saved() {
      if (mustSave) {
        const own = record(take()).finally(() => {
          if (saving === own) saving = undefined;
        });
        saving = own;
      }
      return saving ?? Promise.resolve();
    },
    write(entries) {
      entries.forEach(counted);
      return record([...take(), ...entries]);
    },
    take,
    checkBounds,
  };
}

function sizeOf(key: string, { outcome }: Entry): number {
  return key.length + ENTRY_OVERHEAD + JSON.stringify(outcome).length;
}

function full(limit: string): ParleyError {
  return new ParleyError("JOURNAL_FULL", `the journal is full: ${limit}`);
}
