/**
 * What earlier runs recorded, found again by what the handler calls now.
 *
 * Every call gets a key: its name, the branch around it, and its occurrence, counted in the order of the calls. That order is the same in
 * every run as long as each call follows from what settled before it (course.ts). The calls that do not, made behind an await of something
 * outside ctx, are held to it:
 *
 *   C1  The next recorded effect settles only when everything that was called before it has been called again.
 *   C2  Two calls of one name are in a certain order when the later one follows from a settlement that came after the earlier one, when both
 *       follow from the same, or when one flow made both. Calls that different items of a Promise.all await need no order: the item is
 *       recorded with the call. Any other second call of a name is an AMBIGUOUS_EFFECT, and nothing new is done.
 *   C3  What a side effect is known by is no number that other branches count along in: in an earlier run that number may have been another's
 *       that was tried and never recorded. A call that an item awaits is known by the item and how often that item called the name.
 *   C4  A record that fits in all but the digest is a divergence (I4).
 */
import { ParleyError } from "../errors.ts";
import { type Entry, entryKey, type EntryKind, type Journal, occurrenceKey } from "../journal.ts";
import type { Scope } from "../ports.ts";
import { callKey, eventKey, openOf, type Task } from "../task.ts";
import { awaitedBy, type Course, isFromOutside, settledBefore } from "./course.ts";
import { Flow } from "./flow.ts";

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Uuids and random numbers are called like every other effect, and have no entry. An event, or a call, is recorded as an ask, under a key of its own. */
export type CalledKind = EntryKind | "event" | "call" | "random" | "uuid";

export interface Call {
  /** Branch, name and occurrence: an ask's key on the wire. */
  readonly key: string;
  /** With its kind: the key of its entry. */
  readonly id: string;
  readonly calledAt: string;
  readonly entry: Entry | undefined;
  /** What its side effect is known by, in this run and any other (C3). */
  readonly effectKey: string;
}

export interface Recorded {
  readonly id: string;
  readonly entry: Entry;
}

export interface Recollection {
  /** What settled in earlier runs, in that order: `settled[n - 1]` has place n. */
  readonly settled: readonly Recorded[];
  /** What has come since, to be settled now: by time, and at one time in the order of arrival. */
  readonly arrived: readonly Recorded[];
  /** Recorded work that the handler has not called yet. Empty: it has caught up. */
  readonly ahead: ReadonlySet<string>;
  /** Whether everything that was called before the place `n` has been called again (C1). */
  isCalledBefore(place: number): boolean;
  /** Whether what is to be called next was called behind an await of something outside ctx, which may take its time. */
  isAheadOutside(): boolean;
  /** Whether the handler has called anything behind such an await, in this run or before. */
  hasOutside(): boolean;
  /** Throws ParleyErrors INVALID_NAME, MISPLACED_EFFECT and AMBIGUOUS_EFFECT. */
  call(kind: CalledKind, name: string): Call;
  /** The name with the branches around it. Throws ParleyErrors INVALID_NAME and MISPLACED_EFFECT. */
  scoped(kind: CalledKind, name: string): string;
  /** The flow in which `key` scopes the names. Throws ParleyErrors INVALID_NAME and MISPLACED_EFFECT. */
  branch(key: string): Flow;
}

export interface RecollectionOptions {
  readonly task: Task;
  readonly journal: Journal;
  readonly scope: Scope;
  readonly start: Flow;
  readonly course: Pick<Course, "settled" | "isInDrain" | "at">;
}

/** The calls of one name so far. */
interface Made {
  /** Occurrences that are taken, and the first that is not. */
  readonly taken: Set<number>;
  next: number;
  last: Last | undefined;
  /** The last call from outside that such an item awaited. */
  readonly lastOf: Map<string, Last>;
  /** How many calls each item awaited. */
  readonly countOf: Map<string, number>;
}

type Known = readonly [occurrence: number, id: string];

/** Recorded occurrences of one name. */
interface KnownOf {
  readonly all: readonly Known[];
  /** By the item that awaited the call. */
  readonly byItem: ReadonlyMap<string, readonly Known[]>;
}

/** Where a call was made. */
interface Last {
  readonly serial: number;
  readonly settled: number;
}

export function recollect({ task, journal, scope, start, course }: RecollectionOptions): Recollection {
  const settled: Recorded[] = [];
  const arrived: Recorded[] = [];
  const ahead = new Set<string>();
  /** How many recorded calls of each drain, with what followed it from outside, are still to be made again. */
  const uncalled: number[] = [];
  const calledAts = new Map<string, string>();
  /** Recorded occurrences by kind and name. */
  const occurrences = new Map<string, Map<number, string>>();
  const knownOf = new Map<string, KnownOf>();
  let earliest = 0;
  let isOutsideSeen = false;

  function expect(id: string, calledAt: string): void {
    // One that was closed at its deadline a moment ago is an entry and still among the task's asks.
    if (ahead.has(id)) return;
    ahead.add(id);
    calledAts.set(id, calledAt);
    isOutsideSeen ||= isFromOutside(calledAt);
    const at = settledBefore(calledAt);
    uncalled[at] = (uncalled[at] ?? 0) + 1;
    const { name, occurrence } = readOccurrence(id);
    const known = occurrences.get(name);
    if (known) known.set(occurrence, id);
    else occurrences.set(name, new Map([[occurrence, id]]));
  }

  for (const [id, entry] of journal) {
    expect(id, entry.calledAt);
    if (entry.place !== undefined) settled[entry.place - 1] = { id, entry };
    else if (entry.arrived) arrived.push({ id, entry });
  }
  for (const { key, calledAt } of openOf(task)) expect(entryKey("ask", key), calledAt);
  arrived.sort(byArrival);

  const made = new Map<string, Made>();
  let serial = 0;

  function currentFlow(): Flow {
    const flow = scope.get();
    // A library that keeps callbacks of its own can lose the flow: such a call belongs to the run, and comes out of none of its calls.
    if (!(flow instanceof Flow)) return start;
    if (flow.strays !== start.strays) throw new ParleyError("MISPLACED_EFFECT", `ctx of task ${task.id} was used by another task`);
    if (flow.step !== undefined) throw new ParleyError("MISPLACED_EFFECT", `ctx was used inside the step "${flow.step}"`);
    return flow;
  }

  /** By number, since a store gives back what it recorded in any order; made once for each name that needs it. */
  function recordsOf(counter: string, recorded: ReadonlyMap<number, string>): KnownOf {
    const before = knownOf.get(counter);
    if (before) return before;
    const all = [...recorded].toSorted(([a], [b]) => a - b);
    const made = { all, byItem: Map.groupBy(all, ([, id]) => awaitedBy(calledAts.get(id) ?? "")) };
    knownOf.set(counter, made);
    return made;
  }

  /**
   * The occurrence that a call is: the next one, as a rule. What is recorded to follow from a settlement that is still to come, or to be awaited by
   * another item of a Promise.all, is another call, which this one, from a flow that never came so far before, has overtaken.
   * Undefined: it could be any of several that were recorded before there was an item (C2).
   */
  function occurrenceOf(counter: string, { taken, next }: Made, item: () => string): number | undefined {
    const recorded = occurrences.get(counter);
    if (!recorded) return next;
    const calledAtOf = (id: string) => calledAts.get(id) ?? "";
    const isOwn = (id: string) => {
      const at = calledAtOf(id);
      if (!isFromOutside(at) && (course.isInDrain || settledBefore(at) > course.settled)) return settledBefore(at) <= course.settled;
      return awaitedBy(at) === "" || item() === "" || awaitedBy(at) === item();
    };
    const nextId = recorded.get(next);
    const isNamed = !course.isInDrain && item() !== "";
    if (!isNamed && (nextId === undefined || isOwn(nextId))) return next;
    const isOpen = ([occurrence, id]: Known) => !taken.has(occurrence) && isOwn(id);
    const of = recordsOf(counter, recorded);
    const own = isNamed
      ? of.byItem.get(item())?.find(isOpen)
      : of.all.find((one) => settledBefore(calledAtOf(one[1])) === course.settled && isOpen(one));
    if (own) return own[0];
    // One of those may be this call, as it was made when it had nothing to wait for outside; of several nobody knows which.
    const isLoose = (one: Known) => !isFromOutside(calledAtOf(one[1])) && isOpen(one);
    const loose = isNamed ? of.byItem.get("")?.find(isLoose) : undefined;
    if (loose && of.byItem.get("")?.some((one) => one !== loose && isLoose(one))) return undefined;
    if (nextId === undefined || isOwn(nextId)) return next;
    return Math.max(...taken, ...recorded.keys()) + 1;
  }

  function effectKeyOf({ countOf }: Made, { scoped, key, item }: Readonly<Record<"scoped" | "key" | "item", string>>): string {
    if (item === "") return key;
    const count = (countOf.get(item) ?? 0) + 1;
    countOf.set(item, count);
    return occurrenceKey(`${scoped}~${item}`, count, task.generation);
  }

  function isCertain(before: Last, flow: Flow, recordedAt: string | undefined): boolean {
    // In a drain: the earlier one was made in it too, or came before what it follows from settled.
    if (course.isInDrain || flow.hasCalled(before.serial)) return true;
    // It followed from a settlement when it was recorded; in this run something on the way has to be awaited that was at hand then.
    return recordedAt !== undefined && !isFromOutside(recordedAt) && before.settled < settledBefore(recordedAt);
  }

  return {
    settled,
    arrived,
    ahead,
    isCalledBefore(place) {
      while (earliest < uncalled.length && (uncalled[earliest] ?? 0) === 0) earliest += 1;
      return earliest >= Math.min(place, uncalled.length);
    },
    hasOutside: () => isOutsideSeen,
    isAheadOutside() {
      const next = [...ahead].map((id) => calledAts.get(id) ?? "").filter((calledAt) => settledBefore(calledAt) <= course.settled);
      return next.length > 0 && next.every(isFromOutside);
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
      let known: string | undefined;
      const item = () => (known ??= scope.awaitedBy());
      const calls = made.get(counter) ?? {
        taken: new Set<number>(),
        next: 1,
        last: undefined,
        lastOf: new Map<string, Last>(),
        countOf: new Map<string, number>(),
      };
      made.set(counter, calls);
      const occurrence = occurrenceOf(counter, calls, item);
      const key = occurrenceKey(scoped, occurrence ?? 1, task.generation);
      const id = entryKey(entryKind, key);
      // Items of a Promise.all are told apart by their number, in any order of arrival.
      // Not for what has no record: it could be numbered in another way in another run.
      const isRecordable = kind !== "uuid" && kind !== "random";
      const isNamed = !course.isInDrain && isRecordable && item() !== "";
      const before = isNamed ? calls.lastOf.get(item()) : calls.last;
      if (occurrence === undefined || (before && !isCertain(before, flow, calledAts.get(id)))) {
        throw new ParleyError(
          "AMBIGUOUS_EFFECT",
          `${kind} "${named}" is called again behind an await of something outside ctx, and replay could not tell this call from the one before`,
        );
      }
      isOutsideSeen ||= !course.isInDrain;
      serial += 1;
      calls.taken.add(occurrence);
      while (calls.taken.has(calls.next)) calls.next += 1;
      calls.last = { serial, settled: course.settled };
      if (isNamed) calls.lastOf.set(item(), calls.last);
      scope.enter(flow.after(serial));
      if (ahead.delete(id)) {
        const at = settledBefore(calledAts.get(id) ?? "");
        uncalled[at] = (uncalled[at] ?? 0) - 1;
      }
      const entry = journal.get(id);
      // Of a new call in a drain, too: in another run something outside ctx may come between the settlement and it.
      const calledAt = calledAts.get(id) ?? (isRecordable && item() !== "" ? `${course.at()}:${item()}` : course.at());
      return { key, id, calledAt, entry, effectKey: effectKeyOf(calls, { scoped, key, item: awaitedBy(calledAt) }) };
    },
    branch(key) {
      checkName("branch", key);
      const flow = currentFlow();
      return flow.inBranch(`${flow.branch}${key}/`);
    },
  };
}

/** `step:alice/charge@1#2` is occurrence 2 of `step:alice/charge`. */
function readOccurrence(id: string): { readonly name: string; readonly occurrence: number } {
  const [named = "", occurrence = "1"] = id.split("#");
  return { name: named.split("@")[0] ?? "", occurrence: Number(occurrence) };
}

function checkName(kind: string, name: string): void {
  if (NAME.test(name)) return;
  throw new ParleyError("INVALID_NAME", `${kind} name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`);
}

/** Entries that no run has settled, in the order in which replay settles them. */
export function byArrival({ id: a, entry: { arrived: first } }: Recorded, { id: b, entry: { arrived: second } }: Recorded): number {
  if (!first || !second) return 0;
  return first.atMs - second.atMs || first.revision - second.revision || (a < b ? -1 : 1);
}
