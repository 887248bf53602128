/**
 * What a run writes into the journal, and when.
 *
 *   note(…)  goes with the next write, whichever that is: a step's record, the parking, the end
 *   saved()  before a side effect: writes at once what another run could come to differently (R3), and nothing if there is none of that
 *   write(…) now
 *
 * So a handler that runs straight on costs one write per step, and a race costs one more before the first step behind it. Entries and their
 * size are bounded: beyond the bounds the run stops.
 */
import { ParleyError } from "../errors.ts";
import type { Journal, KeyedEntry } from "../journal.ts";
import type { Settings } from "../settings.ts";

/** What an entry takes beside its key and outcome: its place, where it was called, its digest. */
const ENTRY_OVERHEAD = 32;

export interface Records {
  note(entry: KeyedEntry): void;
  /** What was noted could come out differently in another run, or a side effect can see it. */
  mustBeSaved(): void;
  /** The same where anything was noted: what is to be recorded without a write of the run stands on it. */
  mustBeSavedIfNoted(): void;
  /** Whether nothing of that is left to be written, or on its way. */
  isSaved(): boolean;
  saved(): Promise<void>;
  /** Writes `entries` with all that was noted, each place before the next. */
  write(entries: readonly KeyedEntry[]): Promise<void>;
  /** What was noted, for the write that ends the run. */
  take(): KeyedEntry[];
  /** Counts what will be an entry some day: questions that are open. */
  checkBounds(openAsks: number): void;
}

export interface RecordsOptions {
  readonly journal: Journal;
  readonly journalSize: number;
  readonly settings: Pick<Settings, "journalEntriesMax" | "journalSizeMax">;
  readonly record: (entries: readonly KeyedEntry[]) => Promise<void>;
  /** The run ends with this error, past every `catch` of the handler. */
  readonly stop: (error: ParleyError) => void;
}

export function createRecords({ journal, journalSize, settings, record, stop }: RecordsOptions): Records {
  let unsaved: KeyedEntry[] = [];
  let mustSave = false;
  let saving: Promise<void> | undefined;
  let count = journal.size;
  let size = journalSize;

  function take(): KeyedEntry[] {
    const entries = unsaved;
    unsaved = [];
    mustSave = false;
    return entries;
  }

  function counted(entry: KeyedEntry): void {
    if (entry.known) return;
    count += 1;
    size += entry.key.length + ENTRY_OVERHEAD + JSON.stringify(entry.entry.outcome).length;
    checkBounds(0);
  }

  function checkBounds(openAsks: number): void {
    const { journalEntriesMax, journalSizeMax } = settings;
    if (count + openAsks > journalEntriesMax) stop(full(`${journalEntriesMax} entries (PARLEY_JOURNAL_ENTRIES_MAX)`));
    if (size > journalSizeMax) stop(full(`${journalSizeMax} characters (PARLEY_JOURNAL_SIZE_MAX)`));
  }

  return {
    note(entry) {
      // A sleep that began and ended since the last write is one entry.
      const begun = unsaved.findIndex(({ key }) => key === entry.key);
      if (begun === -1) counted(entry);
      else unsaved.splice(begun, 1);
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

function full(limit: string): ParleyError {
  return new ParleyError("JOURNAL_FULL", `the task has recorded as much as it may: ${limit}`);
}
