/** How a run ends: once, and for the first reason. */
import type { ParleyError } from "../errors.ts";
import type { KeyedEntry } from "../journal.ts";
import type { JsonObject, Open } from "../task.ts";

/** `entries`: what is still to be recorded, together with the end. */
export type RunEnd =
  | { readonly type: "returned"; readonly result: JsonObject; readonly entries: readonly KeyedEntry[] }
  | { readonly type: "threw"; readonly error: unknown; readonly entries: readonly KeyedEntry[] }
  | {
      readonly type: "parked";
      readonly asks: readonly Open[];
      /** When the first sleep ends; undefined if no sleep is open. */
      readonly wakeAtMs: number | undefined;
      /** Another run does the same at once: nothing was gained. */
      readonly isAgain?: true;
      readonly entries: readonly KeyedEntry[];
    }
  /** The handler restarts with these arguments and an empty journal. */
  | { readonly type: "restarted"; readonly arguments: JsonObject }
  /**
   * `patches`: recorded patches that this code did not ask for, so the code may be older than the task. `thrown`: the handler threw before it had
   * made every recorded call again.
   */
  | {
      readonly type: "diverged";
      readonly error: ParleyError;
      readonly patches: readonly string[];
      readonly thrown?: { readonly error: unknown };
    }
  /** `diverging`: some recorded calls had not been made again. `entries`: results of work that was in flight and still succeeded. */
  | { readonly type: "aborted"; readonly diverging?: ParleyError; readonly entries: readonly KeyedEntry[] };

export interface Ending {
  isOver(): boolean;
  /** Later ends are ignored. */
  with(end: RunEnd): void;
  /** A write failed: `end` rejects, and so does the run (R6). */
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
