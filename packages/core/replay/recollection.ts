/**
 * Matches the calls that the handler makes now with what earlier runs recorded.
 *
 * Every call gets a key: its branch, its name and its occurrence. Occurrences are counted in the order of the calls, which is the same in every
 * run as long as each call depends only on the settlements before it (course.ts). A call that is made after an await of something outside ctx may
 * come earlier or later in another run. These rules keep that harmless:
 *
 *   C1  A recorded effect settles only after every call that preceded it has been made again.
 *   C2  Two calls of one name have a certain order if the later one follows from a settlement that came after the earlier one, if both follow
 *       from the same settlement, or if one flow made both. Calls that are awaited by different items of a Promise.all need no order, because
 *       the item is recorded with the call. Any other second call of a name is an AMBIGUOUS_EFFECT, and the run does nothing new. A branch that
 *       continues with the settlement of another branch, as at a lock, has no certain order either once calls were made after such awaits.
 *       Where only items tell the records of a name apart, a call without one is ambiguous too, and so is one with an item among records without.
 *   C3  An idempotency key never contains a number that several branches count together. In an earlier run, another branch may have tried that
 *       number without recording it. The key of a call that an item awaits consists of the item and of how often that item called the name.
 *   C4  A record that matches in everything but the digest is a divergence (I4).
 */
import { ParleyError } from "../errors.ts";
import { type Entry, entryKey, type EntryKind, type Journal, occurrenceKey } from "../journal.ts";
import type { Awaiting, Scope } from "../ports.ts";
import { callKey, eventKey, type Task } from "../task.ts";
import { awaitedBy, type Course, isFromOutside, settledBefore } from "./course.ts";
import { Flow } from "./flow.ts";
import { readRecordedCalls, type RecordedCall, type RecordedCalls } from "./recorded-calls.ts";

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** UUIDs and random numbers are called like any other effect but have no entry. Events and calls of tools are recorded as asks, under keys of their own. */
export type CalledKind = EntryKind | "event" | "call" | "random" | "uuid";

export interface Call {
  /** Branch, name and occurrence: `alice/charge#2`. For an ask, its key on the wire. */
  readonly key: string;
  /** Branch and name alone: `alice/charge`. */
  readonly scoped: string;
  /** The kind and the key: the key of the entry, `step:alice/charge#2`. */
  readonly id: string;
  readonly calledAt: string;
  /** What earlier runs recorded for the call; undefined for a new call. */
  readonly entry: Entry | undefined;
  /** Identifies its side effect in every run of the task (C3). */
  readonly effectKey: string;
}

export interface Recollection extends Pick<RecordedCalls, "settled" | "arrived" | "ahead" | "isCalledBefore"> {
  /** Whether every call that could come next was recorded after an await of something outside ctx, which may take any time. */
  isAheadOutside(): boolean;
  /** Whether the handler has made a call after such an await, in this run or an earlier one. */
  hasOutside(): boolean;
  /** Takes the next occurrence of the name. Throws INVALID_NAME, MISPLACED_EFFECT and AMBIGUOUS_EFFECT. */
  call(kind: CalledKind, name: string): Call;
  /** The question of that name in the present branch, or those within a branch of that name: whether an earlier run asked any. */
  asked(name: string): () => boolean;
  /** The name, prefixed by its branches. Throws INVALID_NAME and MISPLACED_EFFECT. */
  scoped(kind: CalledKind, name: string): string;
  /** The flow of a branch: its names are prefixed by `key`. Throws INVALID_NAME and MISPLACED_EFFECT. */
  branch(key: string): Flow;
}

export interface RecollectionOptions {
  readonly task: Task;
  readonly journal: Journal;
  readonly scope: Scope;
  /** The flow in which the handler starts. */
  readonly start: Flow;
  readonly course: Pick<Course, "settled" | "settledLast" | "isInDrain" | "at">;
}

/** The calls of one name that this run has made. */
interface MadeCalls {
  /** Occurrences that are taken, and the first that is not. */
  readonly taken: Set<number>;
  next: number;
  last: CallMoment | undefined;
  /** The last call between drains that each item awaited, or that took the record of one. */
  readonly lastByItem: Map<string, CallMoment>;
  /** How many calls each item awaited. */
  readonly countByItem: Map<string, number>;
}

/** The number of a call within the run, and how many effects had settled before it. */
interface CallMoment {
  readonly serial: number;
  readonly settled: number;
}

export function recollect({ task, journal, scope, start, course }: RecollectionOptions): Recollection {
  const recorded = readRecordedCalls(task, journal);
  const { settled, arrived, ahead, isCalledBefore } = recorded;
  const madeByName = new Map<string, MadeCalls>();
  /** The number of each call, by its id. */
  const serials = new Map<string, number>();
  let serial = 0;
  /** The number of the last call that was made, now or when it was recorded, after an await of something outside ctx. */
  let lastOutside = 0;
  const hasOutside = () => recorded.hasOutside || lastOutside > 0;

  function currentFlow(): Flow {
    const flow = scope.get();
    // Libraries that manage callbacks themselves can lose the flow. Such a call belongs to the run, and descends from none of its calls.
    if (!(flow instanceof Flow)) return start;
    if (flow.strays !== start.strays) throw new ParleyError("MISPLACED_EFFECT", `ctx of task ${task.id} was used by another task`);
    if (flow.step !== undefined)
      throw new ParleyError(
        "MISPLACED_EFFECT",
        `ctx was used inside the step "${flow.step}": call it in the handler, before or after the step`,
      );
    return flow;
  }

  /**
   * The occurrence of a call: usually the next one.
   *
   * If the next one is recorded as following from a settlement that is still to come, or as awaited by another item of a Promise.all, it belongs to
   * another call. This call then comes from a flow that has got further than in any earlier run, and takes a record of its own or a new number.
   * Returns undefined if the call could be any of several (C2): its item is known and theirs are not, or the other way round. No item is known of a
   * function that has awaited nothing yet, for example because a cache has what it had to fetch in another run.
   */
  function occurrenceOf(counter: string, { taken, next }: MadeCalls, item: () => string): number | undefined {
    const known = recorded.ofName(counter);
    if (!known) return next;
    const isOwn = ({ calledAt: at }: RecordedCall) => {
      const by = awaitedBy(at);
      if (!isFromOutside(at) && settledBefore(at) > course.settled) return false;
      if (isFromOutside(at) || !course.isInDrain) return by === "" || item() === "" || by === item();
      // Items that continue in a drain may have come to wait for it in another order, but only after an await of something outside ctx.
      return by === "" || !hasOutside() || mayBeSame(by, item());
    };
    const recordedNext = known.get(next);
    const isNextOwn = recordedNext === undefined || isOwn(recordedNext);
    const isNamed = !course.isInDrain && item() !== "";
    const isFree = (call: RecordedCall) => !taken.has(call.occurrence) && isOwn(call);
    const { all, byItem } = recorded.inOrder(counter);
    const inLine = () => (isNextOwn ? recordedNext : all.find((call) => settledBefore(call.calledAt) === course.settled && isFree(call)));
    const own = isNamed ? byItem.get(item())?.find(isFree) : inLine();
    const isOneOfSeveral = own && hasOutside() && byItem.size > 1 && awaitedBy(own.calledAt) !== "" && item() === "";
    if (own) return isOneOfSeveral ? undefined : own.occurrence;
    // A record without an item may be this call, made in a run in which it had nothing to await outside ctx.
    const itemless = isNamed ? (byItem.get("") ?? []) : [];
    if (itemless.length > 1 && itemless.some(isFree)) return undefined;
    return isNextOwn ? next : Math.max(...taken, ...known.keys()) + 1;
  }

  function madeOf(counter: string): MadeCalls {
    const known = madeByName.get(counter);
    if (known) return known;
    const made: MadeCalls = { taken: new Set(), next: 1, last: undefined, lastByItem: new Map(), countByItem: new Map() };
    madeByName.set(counter, made);
    return made;
  }

  /** `item`: that of the call, or of the record that it takes; undefined if the call is not told apart by its item. */
  function take(made: MadeCalls, occurrence: number, item: string | undefined): void {
    serial += 1;
    made.taken.add(occurrence);
    while (made.taken.has(made.next)) made.next += 1;
    made.last = { serial, settled: course.settled };
    if (item !== undefined) made.lastByItem.set(item, made.last);
  }

  function effectKeyOf({ countByItem }: MadeCalls, { scoped, key, item }: Readonly<Record<"scoped" | "key" | "item", string>>): string {
    if (item === "") return key;
    const count = (countByItem.get(item) ?? 0) + 1;
    countByItem.set(item, count);
    return occurrenceKey(`${scoped}~${item}`, count, task.generation);
  }

  /** Whether this call certainly comes after `before`, in every run (C2). */
  function isCertain(before: CallMoment, flow: Flow, recordedAt: string | undefined, awaiting: () => Awaiting): boolean {
    if (flow.hasCalled(before.serial)) return true;
    // In a drain, the earlier call was made in the same drain, or before the settlement that led to this one.
    if (course.isInDrain) return !mayHaveQueued(flow) || awaiting().isByHandler;
    // When it was recorded, the call followed from a settlement. In this run it has to wait for something that was at hand then.
    return recordedAt !== undefined && !isFromOutside(recordedAt) && before.settled < settledBefore(recordedAt);
  }

  /**
   * Whether another flow's effect let this flow continue, as at a lock, where it may have come to wait at a time that something outside ctx decided:
   * since its own last call, calls were made after such awaits.
   */
  function mayHaveQueued(flow: Flow): boolean {
    const settledCall = serials.get(course.settledLast ?? "");
    return settledCall !== undefined && !flow.hasCalled(settledCall) && flow.lastCall < lastOutside;
  }

  return {
    settled,
    arrived,
    ahead,
    isCalledBefore,
    hasOutside,
    isAheadOutside() {
      const next = [...ahead].map((id) => recorded.get(id)?.calledAt ?? "").filter((calledAt) => settledBefore(calledAt) <= course.settled);
      return next.length > 0 && next.every(isFromOutside);
    },
    asked(name) {
      const flow = scope.get();
      const asked = entryKey("ask", `${flow instanceof Flow ? flow.branch : ""}${name}`);
      return () => recorded.names().some((each) => each === asked || each.startsWith(`${asked}/`));
    },
    scoped(kind, name) {
      checkName(kind, name);
      return `${currentFlow().branch}${name}`;
    },
    call(kind, name) {
      checkName(kind, name);
      const flow = currentFlow();
      const named = `${flow.branch}${name}`;
      const scoped = kind === "event" ? eventKey(named) : kind === "call" ? callKey(named) : named;
      const entryKind = kind === "event" || kind === "call" ? "ask" : (kind as EntryKind);
      const counter = entryKey(entryKind, scoped);
      let known: Awaiting | undefined;
      const awaiting = () => (known ??= scope.awaitedBy());
      const item = () => awaiting().items;
      const made = madeOf(counter);
      const occurrence = occurrenceOf(counter, made, item);
      const key = occurrenceKey(scoped, occurrence ?? 1, task.generation);
      const id = entryKey(entryKind, key);
      // Calls of different items are told apart by the item, in any order. Not so for calls without a record, whose numbers could be
      // assigned differently in another run.
      const isRecordable = kind !== "uuid" && kind !== "random";
      const isNamed = !course.isInDrain && isRecordable && item() !== "";
      const before = isNamed ? made.lastByItem.get(item()) : made.last;
      const recordedAt = recorded.get(id)?.calledAt;
      if (occurrence === undefined || (before && !isCertain(before, flow, recordedAt, awaiting))) {
        throw new ParleyError(
          "AMBIGUOUS_EFFECT",
          `${kind} "${named}" is called again after an await of something outside ctx, and replay could not tell the two calls apart`,
        );
      }
      // V8 does not show the item of every call in a drain. If the item whose record it took makes a call of its own, it was another one.
      const isRecordedOutside = recordedAt !== undefined && isFromOutside(recordedAt);
      take(made, occurrence, isNamed ? item() : course.isInDrain && isRecordedOutside ? awaitedBy(recordedAt) : undefined);
      serials.set(id, serial);
      if (!course.isInDrain || isRecordedOutside) lastOutside = serial;
      scope.enter(flow.after(serial));
      recorded.madeAgain(id);
      // A new call in a drain records its item too: in another run it may have to await something outside ctx.
      const calledAt = recordedAt ?? (isRecordable && item() !== "" ? `${course.at()}:${item()}` : course.at());
      const effectKey = effectKeyOf(made, { scoped, key, item: awaitedBy(calledAt) });
      return { key, scoped, id, calledAt, entry: journal.get(id), effectKey };
    },
    branch(key) {
      checkName("branch", key);
      const flow = currentFlow();
      return flow.inBranch(`${flow.branch}${key}/`);
    },
  };
}

/**
 * Whether the items may be the same. In one of the two runs, the handler may not yet have come to a Promise.all further out. Items are innermost
 * first.
 */
function mayBeSame(item: string, other: string): boolean {
  return other === "" || `${item}.`.startsWith(`${other}.`) || `${other}.`.startsWith(`${item}.`);
}

function checkName(kind: string, name: string): void {
  if (NAME.test(name)) return;
  throw new ParleyError("INVALID_NAME", `${kind} name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`);
}
