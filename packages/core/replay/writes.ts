/** Writes of a run: one after the other, and none behind one that failed. No place is recorded without those before it. */
import type { KeyedEntry } from "../journal.ts";
import { OVER } from "../over.ts";
import type { Clock } from "../ports.ts";
import type { Open } from "../task.ts";
import { forever } from "./effect-promise.ts";
import type { Ending } from "./end.ts";
import { HEED_SIGNAL_MS } from "./steps.ts";

export interface Writes {
  /** Writes the entries, and the events that the store does not know yet. Never settles when the run is over by then. */
  write(entries: readonly KeyedEntry[]): Promise<void>;
  /** Resolves when all is written. Throws what the write that failed threw. */
  done(): Promise<void>;
  /** Whether every write has come through. One that is on its way is waited for, for a while. */
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
    /** A store that is away is no failure of the step: the handler must not see it, or it would end the task (R6). */
    async write(entries) {
      const events = unwrittenEvents();
      writing = writing.then(() => record(entries, events));
      try {
        await writing;
      } catch (error) {
        ending.fail(error);
      }
      // What was not recorded is not acted on.
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
