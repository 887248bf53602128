/**
 * The journal: what was recorded for a task, by entry key.
 *
 * Replay looks up an entry by kind, name and occurrence. The digest shows whether it answers the same question (I4), and the place when it settled
 * for the handler (I11). Keys look like `step:hold-table`, `ask:party-size#2`, `sleep:cool-down`, `now:now#3`,
 * `patch:notify`; in a branch `step:alice/charge`; after a restart `ask:round@1`.
 */
import type { Assurance, Acceptance, Answer, Json, LoginFacts, Participant } from "./task.ts";

/** Random numbers and UUIDs have no entry, because they are derived from the task. */
export type EntryKind = "step" | "ask" | "sleep" | "now" | "patch";

export interface Entry {
  /** For an ask, the digest of the question; `""` for everything else. */
  readonly digest: string;
  readonly outcome: EntryOutcome;
  readonly calledAt: CalledAt;
  /**
   * The place, from 1, in the order in which effects settled for the handler. Absent until a run has settled it: for
   * an answer that arrived since, a sleep that has not ended, and the result of a step that outlived its run.
   */
  readonly place?: number;
  /** The handler withdrew the effect. `outcome` is an answer if a person had given one anyway. */
  readonly withdrawn?: true;
  /** Orders entries that no run has settled yet: by time, then by the task's revision. */
  readonly arrived?: { readonly atMs: number; readonly revision: number };
  /** What others hear of with the write that records it, of which ask. No part of what is recorded. */
  readonly tells?: { readonly what: ApprovalNews; readonly key: string };
}

/** What became of a call that was approved: it runs, or it does not, because the approval does not count any more. */
export type ApprovalNews = "spent" | "void";

/**
 * Where in the handler's course an effect was called: `"3"` is in the drain of microtasks that followed the third settlement (`"0"`: the
 * start), and `"3o"` is after it, when the code that called had awaited something outside ctx. Earlier versions added the item of a Promise.all that
 * called: `"3o:1.0"`.
 */
export type CalledAt = string;

export type EntryOutcome =
  /**
   * A step's result, a clock reading, the time at which a sleep ends, or whether a patch was taken. Absent `value` is
   * `undefined`.
   */
  | { readonly type: "value"; readonly value?: Json }
  /**
   * `by` is the principal that gave it, unless that is the owner of the task. `accepted`: with a quorum, everyone who
   * had accepted by then. `given`: absent if no person gave it, and in what earlier versions recorded.
   */
  | {
      readonly type: "answer";
      readonly answer: Answer;
      readonly by?: string;
      readonly accepted?: readonly Acceptance[];
      readonly given?: Given;
    }
  /** A step that failed for good, thrown again on replay. */
  | { readonly type: "error"; readonly name: string; readonly message: string }
  /** A step whose work may have begun: only its call is certain. */
  | { readonly type: "begun" }
  /** An ask that was still open when its task ended. */
  | { readonly type: "closed" }
  /** An ask or a sleep that the handler gave up. */
  | { readonly type: "withdrawn" }
  /** A call whose child was cancelled, but not by its parent. */
  | { readonly type: "cancelled" };

/** How a person gave an answer: no part of the answer, so a repetition by another name or at another time is a duplicate. */
export interface Given {
  /** What the person was called then (nameToRead). */
  readonly name?: string;
  readonly atMs: number;
  /** How they were identified; absent where people are not identified, and for answers to earlier versions. */
  readonly assurance?: Assurance;
  /** What the provider stated of their login; absent if it stated nothing, and for answers to earlier versions. */
  readonly login?: LoginFacts;
  /** In whose place the person answered; absent if in their own. */
  readonly delegatedBy?: Participant;
}

/** An entry without its content, for readers of a task's timeline. */
export interface JournalLine {
  /** As in the journal: `step:hold-table`, `ask:party-size#2`. */
  readonly key: string;
  /** Absent until a run has settled it. */
  readonly place?: number;
  /** When it arrived; absent once a run has settled it, and for what never waited. */
  readonly arrivedAtMs?: number;
  /** `recorded`: it has a value, an answer or an error. The rest as in an entry's outcome. */
  readonly state: "recorded" | "begun" | "closed" | "withdrawn" | "cancelled";
  /** Of a call: the child's id. */
  readonly child?: string;
}

/** In the order in which effects settled, then unsettled ones by arrival, then those without a result. */
export function inOrder(lines: readonly JournalLine[]): JournalLine[] {
  const last = Number.POSITIVE_INFINITY;
  return lines.toSorted(
    (a, b) =>
      Number(isOfCompensation(a.key)) - Number(isOfCompensation(b.key)) ||
      compare(a.place ?? last, b.place ?? last) ||
      compare(a.arrivedAtMs ?? last, b.arrivedAtMs ?? last) ||
      (a.key < b.key ? -1 : 1),
  );
}

/** Before the names of what a compensation does, apart from what it undoes. No name of a handler has a colon. */
export const COMPENSATION = "compensation:/";

export function isOfCompensation(key: string): boolean {
  return key.startsWith(COMPENSATION, key.indexOf(":") + 1);
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

/** `by` is absent for the owner. */
export function answerOutcome(answer: Answer, by: string | undefined, accepted?: readonly Acceptance[], given?: Given): EntryOutcome {
  return { type: "answer", answer, ...(by !== undefined && { by }), ...(accepted && { accepted }), ...(given && { given }) };
}

/** The individual answers in this outcome, with which a repeated answer is compared. Several with a quorum. */
export function answersIn(outcome: EntryOutcome): readonly EntryOutcome[] {
  if (outcome.type !== "answer") return [outcome];
  const { accepted, answer, by } = outcome;
  if (!accepted) return [answerOutcome(answer, by)];
  const acceptances = accepted.map((each) => answerOutcome({ action: "accept", content: each.content }, each.by));
  return answer.action === "accept" ? acceptances : [answerOutcome(answer, by), ...acceptances];
}

/** Entry key → entry. */
export type Journal = ReadonlyMap<string, Entry>;

/** An entry on its way into the journal. */
export interface KeyedEntry {
  readonly key: string;
  readonly entry: Entry;
  /** The store holds this entry and only its place is new, so a store need not send the rest; one that does not hold it ignores it. */
  readonly known?: true;
}

/**
 * The key of an effect, and of an ask on the wire: `name` for the first occurrence, `name#2` for the second. Behind a restart `name@1` and
 * `name@1#2`, so that a key is unique for the task's life and no old answer fits a new question (I4).
 */
export function occurrenceKey(name: string, occurrence: number, generation: number): string {
  return `${name}${generation === 0 ? "" : `@${generation}`}${occurrence === 1 ? "" : `#${occurrence}`}`;
}

export function entryKey(kind: EntryKind, key: string): string {
  return `${kind}:${key}`;
}

const READING = "read ";

/**
 * The key of what the tool's own schema made of an answer, by the ask's key, and of the time at which a sleep ends that a run has begun and not
 * recorded, by the sleep's entry key. It is no effect: no call of the handler has to find it again. Without a colon, so that workers that do not
 * know it leave it alone.
 */
export function readingKey(askKey: string): string {
  return `${READING}${askKey.replace(":", " ")}`;
}

export function isReadingKey(key: string): boolean {
  return key.startsWith(READING);
}
