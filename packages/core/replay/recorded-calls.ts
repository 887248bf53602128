/** The calls that earlier runs recorded, in the journal or as open asks, and which of them the handler has not made again. */
import { type CalledAt, type Entry, entryKey, isReadingKey, type Journal } from "../journal.ts";
import { openOf, type Task } from "../task.ts";
import { isFromOutside, itemOf, settledBefore } from "./course.ts";

export interface Recorded {
  readonly id: string;
  readonly entry: Entry;
}

export interface RecordedCall {
  readonly id: string;
  readonly occurrence: number;
  readonly calledAt: CalledAt;
}

export interface RecordedCalls {
  /** What settled in earlier runs: `settled[n - 1]` has place n. */
  readonly settled: readonly Recorded[];
  /** What arrived since the last run and is to settle in this one, in the order of `byArrival`. */
  readonly arrived: readonly Recorded[];
  /** Keys of recorded calls that the handler has not made again. Empty once it has caught up. */
  readonly ahead: ReadonlySet<string>;
  /** Whether any was made after an await of something outside ctx. */
  readonly hasOutside: boolean;
  /** Whether it is known of any that an item of a Promise.all made it. */
  readonly hasItems: boolean;
  /** Whether every call that preceded that place has been made again. */
  isCalledBefore(place: number): boolean;
  /** The recorded call of that id; undefined for a new one. */
  get(id: string): RecordedCall | undefined;
  /** By occurrence; undefined if no call of that kind and name is recorded. */
  ofName(kindAndName: string): ReadonlyMap<number, RecordedCall> | undefined;
  /** In the order of their occurrences. */
  inOrder(kindAndName: string): readonly RecordedCall[];
  /** Those that are noted with that item of a Promise.all, in the order of their occurrences. */
  ofItem(kindAndName: string, item: string): readonly RecordedCall[];
  /** The kinds and names of all recorded calls. */
  names(): readonly string[];
  /** The handler has made the call, which may be a new one. */
  madeAgain(id: string): void;
}

export function readRecordedCalls(task: Task, journal: Journal): RecordedCalls {
  const settled: Recorded[] = [];
  const arrived: Recorded[] = [];
  const ahead = new Set<string>();
  /** By number of settlements: how many recorded calls of that drain, and of the time until the next, are still to be made again. */
  const uncalled: number[] = [];
  const calls = new Map<string, RecordedCall>();
  const names = new Map<string, Map<number, RecordedCall>>();
  const sorted = new Map<string, readonly RecordedCall[]>();
  const items = new Map<string, RecordedCall[]>();
  /** The first drain that may have calls left. */
  let earliest = 0;
  let hasOutside = false;
  let hasItems = false;

  function expect(id: string, calledAt: CalledAt): void {
    // An ask that was closed at its deadline a moment ago has an entry and is still among the task's asks.
    if (ahead.has(id)) return;
    ahead.add(id);
    hasOutside ||= isFromOutside(calledAt);
    const at = settledBefore(calledAt);
    uncalled[at] = (uncalled[at] ?? 0) + 1;
    const { name, occurrence } = readOccurrence(id);
    const call = { id, occurrence, calledAt };
    calls.set(id, call);
    const known = names.get(name);
    if (known) known.set(occurrence, call);
    else names.set(name, new Map([[occurrence, call]]));
    const item = itemOf(calledAt);
    if (item === undefined) return;
    hasItems = true;
    const noted = items.get(`${name} ${item}`);
    if (noted) noted.push(call);
    else items.set(`${name} ${item}`, [call]);
  }

  for (const [id, entry] of journal) {
    if (isReadingKey(id)) continue;
    expect(id, entry.calledAt);
    if (entry.place !== undefined) settled[entry.place - 1] = { id, entry };
    else if (entry.arrived) arrived.push({ id, entry });
  }
  for (const { key, calledAt } of openOf(task)) expect(entryKey("ask", key), calledAt);
  arrived.sort(byArrival);
  for (const noted of items.values()) if (noted.length > 1) noted.sort((a, b) => a.occurrence - b.occurrence);

  return {
    settled,
    arrived,
    ahead,
    hasOutside,
    hasItems,
    isCalledBefore(place) {
      while (earliest < uncalled.length && (uncalled[earliest] ?? 0) === 0) earliest += 1;
      return earliest >= Math.min(place, uncalled.length);
    },
    get: (id) => calls.get(id),
    ofName: (kindAndName) => names.get(kindAndName),
    // Sorted, because a store returns entries in any order, and kept, because few names need it but those may have many calls.
    inOrder(kindAndName) {
      const known = sorted.get(kindAndName);
      if (known) return known;
      const inOrder = [...(names.get(kindAndName)?.values() ?? [])].toSorted((a, b) => a.occurrence - b.occurrence);
      sorted.set(kindAndName, inOrder);
      return inOrder;
    },
    ofItem: (kindAndName, item) => items.get(`${kindAndName} ${item}`) ?? [],
    names: () => [...names.keys()],
    madeAgain(id) {
      if (!ahead.delete(id)) return;
      const at = settledBefore(calls.get(id)?.calledAt ?? "");
      uncalled[at] = (uncalled[at] ?? 0) - 1;
    },
  };
}

/** `step:alice/charge@1#2` is occurrence 2 of `step:alice/charge`, in generation 1. */
function readOccurrence(id: string): { readonly name: string; readonly occurrence: number } {
  const [named = "", occurrence = "1"] = id.split("#");
  return { name: named.split("@")[0] ?? "", occurrence: Number(occurrence) };
}

/** Orders entries that no run has settled: by time of arrival, then by the task's revision, then by key. */
export function byArrival({ id: a, entry: { arrived: first } }: Recorded, { id: b, entry: { arrived: second } }: Recorded): number {
  if (!first || !second) return 0;
  return first.atMs - second.atMs || first.revision - second.revision || (a < b ? -1 : 1);
}
