/** How a run ends: once, by the first cause. */
import type { ParleyError } from "../errors.ts";
import type { KeyedEntry } from "../journal.ts";
import type { JsonObject, Open } from "../task.ts";

export type RunEnd =
  | { readonly type: "returned"; readonly result: JsonObject; readonly entries: readonly KeyedEntry[] }
  | { readonly type: "threw"; readonly error: unknown; readonly entries: readonly KeyedEntry[] }
  | {
      readonly type: "parked";
      readonly asks: readonly Open[];
      /** When the first sleep ends, if the run sleeps. */
      readonly wakeAtMs: number | undefined;
      readonly entries: readonly KeyedEntry[];
    }
  /** The handler wants to begin anew with these arguments. */
  | { readonly type: "restarted"; readonly arguments: JsonObject }
  /**
   * `patches`: recorded decisions that this code did not ask for, so it may be older than the task. `thrown`: the handler threw before it came to what
   * was recorded.
   */
  | {
      readonly type: "diverged";
      readonly error: ParleyError;
      readonly patches: readonly string[];
      readonly thrown?: { readonly error: unknown };
    }
  /** `diverging`: what was recorded had not been called again. `entries`: what was in flight, and has come to its result all the same. */
  | { readonly type: "aborted"; readonly diverging?: ParleyError; readonly entries: readonly KeyedEntry[] };

export interface Ending {
  isOver(): boolean;
  /** The first end counts. */
  with(end: RunEnd): void;
  /** What cannot be recorded has not happened: the run throws (R6). */
  fail(error: unknown): void;
  readonly end: Promise<RunEnd>;
}

export function createEnding(): Ending {
  const { promise, resolve, reject } = Promise.withResolvers<RunEnd>();
  let isOver = false;
  return {
    isOver: () => isOver,
    with(end) {
      isOver = true;
      resolve(end);
    },
    fail(error) {
      isOver = true;
      reject(error instanceof Error ? error : new Error(String(error)));
    },
    end: promise,
  };
}
