/**
 * The writes of a run, one after another.
 *
 * A write starts only when the one before it has succeeded, so a recorded place always has every earlier place before it. After a write that
 * failed, or whose reply was lost, nothing more is written, and the run ends (R6).
 */
import type { KeyedEntry } from "../journal.ts";
import { OVER } from "../wait-over.ts";
import type { Clock } from "../ports.ts";
import type { Open } from "../task.ts";
import { forever } from "./effect-promise.ts";
import type { Ending } from "./end.ts";
import { HEED_SIGNAL_MS } from "./steps.ts";

export interface Writes {
  /** Writes the entries, and opens the events that the store does not know yet. Never settles if the run is over by then. */
  write(entries: readonly KeyedEntry[]): Promise<void>;
  /** Resolves when everything is written. Rejects with the error of the write that failed. */
  done(): Promise<void>;
  /** Whether every write succeeded. Waits up to HEED_SIGNAL_MS for one that is on its way. */
  isDone(): Promise<boolean>;
}

export interface WritesOptions {
  readonly clock: Pick<Clock, "sleep">;
  readonly ending: Ending;
  readonly record: (entries: readonly KeyedEntry[], events: readonly Open[]) => Promise<void>;
  readonly unwrittenEvents: () => readonly Open[];
}

export function createWrites({ clock, ending, record, unwrittenEvents }: WritesOptions): Writes {
  let writing: Promise<void> = Promise.resolve();

  return {
    async write(entries) {
      const events = unwrittenEvents();
      writing = writing.then(() => record(entries, events));
      try {
        await writing;
      } catch (error) {
        // An unreachable store is no failure of the step. A handler that saw the error would fail its task.
        ending.fail(error);
      }
      // Nothing may follow from what was not recorded.
      if (ending.isOver()) await forever();
    },
    done: () => writing,
    async isDone() {
      const waited = new AbortController();
      const written = writing.then(
        () => true,
        () => false,
      );
      void written.then(() => waited.abort(OVER));
      return await Promise.race([written, clock.sleep(HEED_SIGNAL_MS, waited.signal).then(() => false)]);
    },
  };
}
