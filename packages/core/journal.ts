/**
 * The journal: what was recorded for a task, by entry key.
 *
 * Replay asks for an entry by kind, name and occurrence; the digest says whether it is the answer to the same question (I4).
 * Keys look like `step:hold-table`, `ask:party-size#2`, `sleep:cool-down`, `now:now#3`.
 */
import type { Answer, Json } from "./task.ts";

export type EntryKind = "step" | "ask" | "sleep" | "now" | "random" | "uuid";

export interface Entry {
  readonly digest: string;
  readonly outcome: EntryOutcome;
}

export type EntryOutcome =
  /** A step's result, a clock reading, a random number, a uuid, the time at which a sleep ends. Absent `value` is `undefined`. */
  | { readonly type: "value"; readonly value?: Json }
  | { readonly type: "answer"; readonly answer: Answer }
  /** A step that failed for good, thrown again on replay. */
  | { readonly type: "error"; readonly name: string; readonly message: string }
  /** An ask that was still open when its task ended. */
  | { readonly type: "closed" };

/** Entry key → entry. */
export type Journal = ReadonlyMap<string, Entry>;

/** An entry on its way into the journal. */
export interface KeyedEntry {
  readonly key: string;
  readonly entry: Entry;
}

/** `name` for the first occurrence, `name#2` for the second: the key of an ask on the wire. */
export function occurrenceKey(name: string, occurrence: number): string {
  return occurrence === 1 ? name : `${name}#${occurrence}`;
}

export function entryKey(kind: EntryKind, key: string): string {
  return `${kind}:${key}`;
}
