/**
 * Matches the calls that the handler makes now with what earlier runs recorded.
 *
 * Every call gets a key: its flow, its name and its occurrence. A flow is the handler, a branch, an item of a map or a call with a key; its name is
 * the path of their keys. Within a flow, calls of one name are counted in their order. The order is the same in every run if each call
 *
 *   follows from ctx    since ctx last let its code continue, the code has awaited nothing else. Settlements come in the recorded order, so what
 *                       follows from them alone comes in that order too, also if it runs concurrently; or
 *   is on the line      of its flow (line.ts): what the flow awaits one thing after another is in order, whatever else it awaits; or
 *   is on the line      of an item of a Promise.all that its flow awaits. It is the item's own call: `charge~1` is called by item 1. An item that
 *                       calls the name again after another such await is refused: what it does by then may rest on what other items have done, as
 *                       for workers that take the next piece of work from a list that they share. Lists that the flow awaits one after another,
 *                       as chunks, are in order: item 1 of the next one calls `charge~1#2`.
 *
 * Everything else is refused before it begins. A call that follows from ctx in one run may not in another, if it looks into a cache and awaits only
 * what that does not have. So the item that calls is noted beside the record, and finds it by the note. These rules follow:
 *
 *   C1  A recorded effect settles only after every call that preceded it has been made again. Calls between two settlements therefore stay there.
 *   C2  A call that is none of these is an AMBIGUOUS_EFFECT, and the run does nothing new: code beside all lines has awaited something outside
 *       ctx, and may come earlier or later in another run.
 *   C3  A call on the line that has awaited something outside, and one beside the line, have a certain order if one follows from the other. If
 *       not, the second call of a name is an AMBIGUOUS_EFFECT. So is one beside the line that finds the record of a call on it.
 *   C4  A note finds a record and never makes a key. Only the first call of a name by a function is noted: of several at once, it would not be
 *       known which one has a record. An item whose record another one has taken is refused.
 *   C5  A record that matches in everything but the digest is a divergence (I4).
 *   C6  A call that has its turn when code beside it lets it through, as with a lock or a queue, is refused if what was awaited outside ctx may
 *       decide about the order: another item may come first in another run, and waits for this one (L5). If nobody had to wait when the calls
 *       were recorded, replay finds out by letting an effect settle out of turn (at-rest.ts): a call that comes at once, of code that has awaited
 *       neither the effect itself nor any race, had waited for the code that did. If the code that lets another one through has done its work before,
 *       that is known only then, and the run is refused after it.
 */
import { callSite, type CallSite } from "./call-site.ts";
import { ParleyError } from "../errors.ts";
import { type CalledAt, type Entry, entryKey, type EntryKind, type Journal, occurrenceKey } from "../journal.ts";
import type { Scope } from "../ports.ts";
import { callKey, eventKey, type Task } from "../task.ts";
import { type Course, isFromOutside, itemOf, type OutOfTurn, settledBefore } from "./course.ts";
import { Flow } from "./flow.ts";
import type { Line } from "./line.ts";
import type { Item, List, Position } from "./promise-marks.ts";
import type { RecordedCall, RecordedCalls } from "./recorded-calls.ts";

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** UUIDs and random numbers are called like any other effect but have no entry. Events and calls of tools are recorded as asks, under keys of their own. */
export type CalledKind = EntryKind | "event" | "call" | "random" | "uuid";

export interface Call {
  /** Flow, name and occurrence: `alice/charge#2`. For an ask, its key on the wire. */
  readonly key: string;
  /** Flow and name alone: `alice/charge`, also for a call of an item. */
  readonly scoped: string;
  /** The kind and the key: the key of the entry, `step:alice/charge#2`. */
  readonly id: string;
  readonly calledAt: string;
  /** What earlier runs recorded for the call; undefined for a new call. */
  readonly entry: Entry | undefined;
}

export interface Recollection extends Pick<RecordedCalls, "settled" | "arrived" | "ahead" | "isCalledBefore"> {
  /** Whether every call that could come next was recorded after an await of something outside ctx, which may take any time. */
  isAheadOutside(): boolean;
  /** Whether the handler has made a call after such an await, in this run or an earlier one. */
  hasOutside(): boolean;
  /** Ends the run, since code of one item has done the work of another one (C6). `serial`: the number of the call. */
  doneForOther(serial: number): void;
  /** Whether items of a Promise.all have made a call, in this run or an earlier one, that is known to be theirs. */
  hasItems(): boolean;
  /** Takes the next occurrence of the name. Throws INVALID_NAME, MISPLACED_EFFECT and AMBIGUOUS_EFFECT. */
  call(kind: CalledKind, name: string): Call;
  /** Notes a call whose key need not be known at once. `promise`: what the handler gets. Throws INVALID_NAME and MISPLACED_EFFECT. */
  begin(kind: CalledKind, name: string, promise?: object): Begun;
  /** The question of that name in the present flow, or those in a branch of that name: whether an earlier run asked any. */
  asked(name: string): () => boolean;
  /** Whether an earlier run recorded a call under that id, or asked it. */
  wasRecorded(id: string): boolean;
  /** The name, prefixed by its flow. Throws INVALID_NAME and MISPLACED_EFFECT. */
  scoped(kind: CalledKind, name: string): string;
  /** Runs work in the flow of a branch: its names are prefixed by `key`. Throws INVALID_NAME and MISPLACED_EFFECT. */
  branch<T>(key: string, work: () => T): T;
  /** Makes one call in a flow of its own. Throws INVALID_NAME and MISPLACED_EFFECT. */
  keyed<T>(key: string, call: () => T): T;
}

/** A call that the handler has made. */
export interface Begun {
  /** Whether it may be taken now. If not, who waits for the code that calls is known only once all promise reactions have run that are ready. */
  readonly isReady: boolean;
  /** Gives the call its key, once. Throws AMBIGUOUS_EFFECT. */
  take(): Call;
}

export interface RecollectionOptions {
  readonly task: Pick<Task, "id" | "generation">;
  readonly journal: Journal;
  readonly recorded: RecordedCalls;
  readonly scope: Pick<Scope, "get" | "run">;
  /** The flow in which the handler starts. */
  readonly start: Flow;
  readonly course: Pick<Course, "settled" | "at" | "outOfTurn">;
  readonly line: Pick<Line, "position" | "called" | "isTraced" | "enter" | "enterCall" | "isAwaited">;
  /** Ends the run, to be continued by one whose line is traced. */
  readonly traceFirst: () => void;
  /** Ends the run with an AMBIGUOUS_EFFECT. */
  readonly refuse: (error: ParleyError) => void;
}

/** These have their key at once, before it is known who waits for the code that calls. */
const AT_ONCE: ReadonlySet<CalledKind> = new Set(["now", "random", "uuid", "patch", "event"]);

interface RecordOfItem {
  /** What counts it: the name, or the name and the item. */
  readonly counted: string;
  readonly occurrence: number;
}

/** A call that has no key yet. */
interface Untaken {
  readonly kind: CalledKind;
  readonly named: string;
  item(): string | undefined;
}

/** The calls of one name that this run has made. */
interface MadeCalls {
  /** Occurrences that are taken, and the first that is not. */
  readonly taken: Set<number>;
  next: number;
  last: Made | undefined;
  /** Functions that have called the name, by their promises. */
  readonly callers: Set<object>;
  /** Functions whose call of the name is noted as that of an item. */
  readonly noted: Set<object>;
}

interface Made {
  /** The number of the call within the run. */
  readonly serial: number;
  readonly at: Position;
  readonly way: string | undefined;
  /** The item of a Promise.all whose function calls: `1.0`. Undefined for none, and if it is not known. */
  readonly itemOfAll: string | undefined;
  /** Whether it may be code of another item that has made the call (C6). */
  readonly isLeft: boolean;
  /** Whether any code awaits it already. */
  readonly isAwaited: boolean;
  /** The effect from which it follows, if that has settled out of turn. */
  readonly outOfTurn: OutOfTurn | undefined;
  /** If the call is counted by an item of this list. */
  readonly list: List | undefined;
  readonly site: CallSite | undefined;
}

export function recollect({ task, journal, recorded, scope, start, course, line, traceFirst, refuse }: RecollectionOptions): Recollection {
  const madeByName = new Map<string, MadeCalls>();
  let serial = 0;
  /** The calls of this run, by number. */
  const calls: { readonly what: string; readonly branch: string; readonly site: CallSite | undefined; readonly shown: string }[] = [];
  /** Calls that wait until it is known who waits for the code that calls. Those that are made in one drain wait for one another. */
  const untaken = new Set<Untaken>();
  /** Names with an item whose record another item has taken. */
  const lent = new Set<string>();
  let { hasOutside, hasItems } = recorded;

  function currentFlow(): Flow {
    const flow = scope.get();
    // Libraries that manage callbacks themselves can lose the flow. Such a call belongs to the run.
    if (!(flow instanceof Flow)) return start;
    if (flow.strays !== start.strays) {
      const how = "kept outside its handler, or called by a library that runs callbacks of several tasks from one queue, as bluebird does";
      throw new ParleyError(
        "MISPLACED_EFFECT",
        `ctx of task ${task.id} was used by another task: it was ${how}. Await the library's promises, and call ctx after that`,
      );
    }
    if (flow.step !== undefined)
      throw new ParleyError(
        "MISPLACED_EFFECT",
        `ctx was used inside the step "${flow.step}": call it in the handler, before or after the step`,
      );
    return flow;
  }

  /**
   * The occurrence of a call: usually the next one. If that is recorded as following from a settlement that is still to come, it belongs to another
   * call: this one comes from code that has got further than in any earlier run, and takes a record of this moment or a new number.
   */
  function occurrenceOf(counter: string, { taken, next }: MadeCalls, isOfOthers: (noted: string) => boolean): number {
    const known = recorded.ofName(counter);
    if (!known) return next;
    const isOwn = ({ calledAt }: RecordedCall) => {
      const noted = itemOf(calledAt);
      if (isFromOutside(calledAt)) return noted === undefined;
      return settledBefore(calledAt) <= course.settled && (noted === undefined || !isOfOthers(noted));
    };
    const recordedNext = known.get(next);
    if (!recordedNext || isOwn(recordedNext)) return next;
    const isOfNow = (call: RecordedCall) => !taken.has(call.occurrence) && isOwn(call) && settledBefore(call.calledAt) === course.settled;
    return recorded.inOrder(counter).find(isOfNow)?.occurrence ?? Math.max(...taken, ...known.keys()) + 1;
  }

  function madeOf(counter: string): MadeCalls {
    const known = madeByName.get(counter);
    if (known) return known;
    const made: MadeCalls = { taken: new Set(), next: 1, last: undefined, callers: new Set(), noted: new Set() };
    madeByName.set(counter, made);
    return made;
  }

  /**
   * The record of the next call of an item, which an earlier run may have made in another way: counted with those of other code if nothing outside ctx
   * had been awaited, or by the item alone. Versions before lines gave all calls of a name one count, and noted the item.
   */
  function recordOfItem(kind: EntryKind, scoped: string, item: string): RecordOfItem | undefined {
    const isNext = ({ id, calledAt }: RecordedCall) =>
      recorded.ahead.has(id) && (isFromOutside(calledAt) || settledBefore(calledAt) <= course.settled);
    const withOthers = recorded.ofItem(entryKey(kind, scoped), item).find(isNext);
    const counter = entryKey(kind, ofItem(scoped, item));
    const alone = recorded.ofName(counter)?.get(madeOf(counter).next);
    // In one gap, the call that follows from ctx comes first. One behind an outside await may have been made later than it is now.
    const isAloneFirst = !withOthers || (alone && settledBefore(alone.calledAt) < settledBefore(withOthers.calledAt));
    if (alone && isNext(alone) && isAloneFirst) return { counted: ofItem(scoped, item), occurrence: alone.occurrence };
    return withOthers && { counted: scoped, occurrence: withOthers.occurrence };
  }

  /** Whether an item calls a name again that it has called, itself or by one of its functions before that had awaited anything outside. */
  function isCalledAgain({ list, functions }: Item, before: Made | undefined, counter: string): boolean {
    const callers = madeByName.get(counter)?.callers;
    return (before && before.list === list) || (callers !== undefined && [...functions].some((promise) => callers.has(promise)));
  }

  /** Whether this call certainly comes after the other one, in every run (C3). */
  function isCertainlyAfter(before: Made, now: Made): boolean {
    if (!before.at.isOutside && !now.at.isOutside) return true;
    // Items of two lists, as of chunks: the second list was made when all of the first had been done.
    if (now.list) return hasSeen(now.list.seenBefore, before);
    const isSameLine = before.way !== undefined && before.way === now.way && before.at.entry === now.at.entry;
    return isSameLine || hasSeen(now.at.seen, before);
  }

  /** Whether the item has been let through by code that had called the same: that may be the other way round in another run (C6). */
  function isBehindItsLike({ serial: own, at: { behind, isKeyed }, way }: Made): boolean {
    const call = calls[own];
    if (behind === 0n || isKeyed || !call) return false;
    // What a flow awaits one thing after another is in order, also after what it has begun beside itself.
    const isBeside = ({ branch }: typeof call) => way !== "" || !branch.startsWith(call.branch);
    return calls.some((other, number) => other.what === call.what && isBeside(other) && (behind >> BigInt(number)) % 2n === 1n);
  }

  /** Throws AMBIGUOUS_EFFECT if the call may come in another order in another run (C2, C3). */
  function assertCertain(what: string, now: Made, before: Made | undefined, wasOnLine: boolean): void {
    const isCertain = now.at.isKeyed || (!now.at.isOutside && !wasOnLine) || now.way !== undefined;
    const isInTurn = now.isLeft || isBehindItsLike(now);
    if (isCertain && !isInTurn && (!before || isCertainlyAfter(before, now))) return;
    // Nothing comes of this call: the run is over.
    if (!line.isTraced) return traceFirst();
    const message = !isCertain ? besideTheLine : isInTurn ? inTurn : inAnyOrder;
    const error = new ParleyError("AMBIGUOUS_EFFECT", message(what, now.site, before?.site));
    // Other code has its result, so it is certain whose it is. A call that is awaited later only looks as if it were left to other code, while somebody
    // reads for longer than in another run. In this run nothing comes of it.
    if (now.outOfTurn && (isBehindItsLike(now) || (now.isLeft && now.isAwaited))) refuse(error);
    throw error;
  }

  /** Whether a call was made before an effect settled, and now comes of it, although its code could not go on by itself (C6). */
  function hasWaitedForOther({ outOfTurn, at: { owner } }: Made, recordedAt: CalledAt): boolean {
    if (!outOfTurn || !owner) return false;
    return settledBefore(recordedAt) < outOfTurn.place && !outOfTurn.goesOnByItself(owner);
  }

  function begin(kind: CalledKind, name: string, promise?: object): Begun {
    checkName(kind, name);
    const flow = currentFlow();
    const named = `${flow.branch}${name}`;
    const position = line.position(flow.branch);
    const at = course.at(position.isOutside);
    const site = line.isTraced ? callSite() : undefined;
    serial += 1;
    const number = serial;
    const outOfTurn = course.outOfTurn();
    calls[number] = { what: `${kind}:${name}`, branch: flow.branch, site, shown: `${kind} "${named}"` };
    line.called(number, promise);
    hasOutside ||= position.isOutside;
    // What is known at once: the way of code that has awaited nothing outside is needed only to compare it with other calls.
    // Of two calls of one name the first one is counted first.
    const isAtOnce = promise === undefined || AT_ONCE.has(kind);
    const isLeftOf = kind === "patch" ? undefined : position.isLeft;
    const isKnown = (!position.isOutside || position.isKeyed || position.way !== undefined) && !position.startedAs;
    const isReady = isKnown && (isAtOnce || !isLeftOf) && untaken.size === 0;
    const waiting: Untaken = {
      kind,
      named,
      item: () => (position.startedAs ? position.startedAs() : (position.way ?? position.wayLater())),
    };
    if (!isReady) untaken.add(waiting);
    return {
      isReady,
      take() {
        untaken.delete(waiting);
        const way = position.way ?? position.wayLater();
        const itemOfAll = position.isKeyed ? undefined : position.startedAs ? position.startedAs() : way;
        const isLeft = isLeftOf !== undefined && (isAtOnce ? !position.isKeyed && itemOfAll === undefined : isLeftOf(promise));
        const isAwaited = promise !== undefined && line.isAwaited(promise);
        return taken({ kind, named, at }, { serial: number, at: position, way, itemOfAll, isLeft, isAwaited, site, outOfTurn });
      },
    };
  }

  /**
   * Whether the call is known to be that of an item, and the only one of its function by that name. Of several that run beside each other, it would
   * not be known which one has a record.
   */
  function isNotable(kind: CalledKind, { itemOfAll, at: { caller } }: Omit<Made, "list">, { noted }: MadeCalls): boolean {
    if (AT_ONCE.has(kind) || itemOfAll === undefined || itemOfAll === "" || !caller || noted.has(caller)) return false;
    noted.add(caller);
    return true;
  }

  function taken(
    { kind, named, at }: { readonly kind: CalledKind; readonly named: string; readonly at: string },
    called: Omit<Made, "list">,
  ): Call {
    const { way } = called;
    // The calls of an item that have awaited something outside are counted by themselves.
    const scoped = kind === "event" ? eventKey(named) : kind === "call" ? callKey(named) : named;
    const entryKind = kind === "event" || kind === "call" ? "ask" : (kind as EntryKind);
    const isOfItem = kind !== "patch" && called.at.isOutside && !called.at.isKeyed && way !== undefined && way !== "";
    const item = isOfItem ? called.at.item() : undefined;
    const now: Made = { ...called, list: item?.list };
    const plain = entryKey(entryKind, scoped);
    const counted = isOfItem ? ofItem(scoped, way) : scoped;
    const counter = entryKey(entryKind, counted);
    const made = madeOf(counter);
    const noted = isOfItem ? way : isNotable(kind, called, madeOf(plain)) ? called.itemOfAll : undefined;
    hasItems ||= noted !== undefined;
    const own = noted === undefined ? undefined : recordOfItem(entryKind, scoped, noted);
    // Code that was changed may give an item the work of another one. If that calls the name as well, it has not been changed.
    const isOfOthers = (other: string) =>
      other !== noted && [...untaken].some((each) => each.kind === kind && each.named === named && each.item() === other);
    const occurrence = own?.occurrence ?? occurrenceOf(counter, made, isOfOthers);
    const takenAs = own?.counted ?? counted;
    const key = occurrenceKey(takenAs, occurrence, task.generation);
    const id = entryKey(entryKind, key);
    const recordedAt = recorded.get(id)?.calledAt;
    // A plain record may be that of other code.
    const isOfOwn = isOfItem || noted !== undefined || scoped.includes("/");
    if (isOfOwn && recordedAt !== undefined && hasWaitedForOther(now, recordedAt))
      refuse(new ParleyError("AMBIGUOUS_EFFECT", inTurn(`${kind} "${named}"`, now.site)));
    // A patch is decided once for its name, so no order matters.
    if (item && isCalledAgain(item, made.last, plain))
      throw new ParleyError("AMBIGUOUS_EFFECT", againInItem(`${kind} "${named}"`, now.site));
    if (noted !== undefined && !own && lent.has(ofItem(plain, noted)))
      throw new ParleyError("AMBIGUOUS_EFFECT", lentToOther(`${kind} "${named}"`, now.site));
    const recordedFor = recordedAt === undefined ? undefined : itemOf(recordedAt);
    if (noted !== undefined && recordedFor !== undefined && recordedFor !== noted) lent.add(ofItem(plain, recordedFor));
    if (kind !== "patch") assertCertain(`${kind} "${named}"`, now, made.last, recordedAt !== undefined && isFromOutside(recordedAt));
    const count = own ? madeOf(entryKey(entryKind, takenAs)) : made;
    count.taken.add(occurrence);
    while (count.taken.has(count.next)) count.next += 1;
    made.last = now;
    for (const promise of now.at.running) made.callers.add(promise);
    recorded.madeAgain(id);
    const calledAt = recordedAt ?? (noted === undefined || isOfItem ? at : `${at}:${noted}`);
    return { key, scoped, id, calledAt, entry: journal.get(id) };
  }

  return {
    settled: recorded.settled,
    arrived: recorded.arrived,
    ahead: recorded.ahead,
    isCalledBefore: recorded.isCalledBefore,
    hasOutside: () => hasOutside,
    hasItems: () => hasItems,
    isAheadOutside() {
      const next = [...recorded.ahead].map((id) => recorded.get(id)?.calledAt ?? "").filter((at) => settledBefore(at) <= course.settled);
      return next.length > 0 && next.every(isFromOutside);
    },
    doneForOther(serial) {
      const call = calls[serial];
      if (call) refuse(new ParleyError("AMBIGUOUS_EFFECT", inTurn(call.shown, call.site)));
    },
    call: (kind, name) => begin(kind, name).take(),
    begin,
    asked(name) {
      const flow = scope.get();
      const asked = entryKey("ask", `${flow instanceof Flow ? flow.branch : ""}${name}`);
      return () => recorded.names().some((each) => each === asked || each.startsWith(`${asked}/`));
    },
    wasRecorded: (id) => recorded.get(id) !== undefined,
    scoped(kind, name) {
      checkName(kind, name);
      return `${currentFlow().branch}${name}`;
    },
    branch(key, work) {
      const flow = currentFlow();
      const branch = `${flow.branch}${encodedKey(key)}/`;
      return scope.run(flow.inBranch(branch), () => line.enter(branch, flow.branch, work));
    },
    keyed(key, call) {
      const flow = currentFlow();
      const branch = `${flow.branch}${encodedKey(key)}/`;
      return scope.run(flow.inBranch(branch), () => line.enterCall(branch, flow.branch, call));
    },
  };
}

/** A call that one item makes is counted by itself: `charge~1`. */
function ofItem(scoped: string, item: string): string {
  return `${scoped}~${item}`;
}

const HOW_TO =
  "Give it a key, such as { key: item.id }, or run the items with ctx.map; or put what is awaited into a step, so that the code awaits ctx alone";

function hasSeen(seen: bigint, { serial }: Made): boolean {
  return (seen >> BigInt(serial)) % 2n === 1n;
}

function besideTheLine(what: string, site: CallSite | undefined): string {
  return `${what}${at(site)} runs beside other code of the handler, and has awaited something outside ctx that may take longer or shorter in another run. ${HOW_TO}`;
}

function inTurn(what: string, site: CallSite | undefined): string {
  return `${what}${at(site)} has its turn when code beside it lets it through, as with a lock or a queue, and in which order that happens rests on what was awaited outside ctx. Run the items with ctx.map and its concurrency in place of the lock; or put what is awaited into a step, so that the code awaits ctx alone`;
}

function againInItem(what: string, site: CallSite | undefined): string {
  return `${what}${at(site)} is called a second time by the same item of a Promise.all, and has awaited something outside ctx. What the item does may depend on how far the other items are. ${HOW_TO}`;
}

function lentToOther(what: string, site: CallSite | undefined): string {
  return `${what}${at(site)} is called by an item of a Promise.all whose record another item has taken: something that the items read was at hand in one run and awaited in another. Await it in every run. ${HOW_TO}`;
}

function inAnyOrder(what: string, site: CallSite | undefined, earlier: CallSite | undefined): string {
  const other = earlier ? `, and the call${at(earlier)},` : ", and an earlier call of that name,";
  return `${what}${at(site)}${other} run beside each other. One of them has awaited something outside ctx, so they may come in another order in another run. ${HOW_TO}`;
}

function at(site: CallSite | undefined): string {
  const place = site?.place();
  return place === undefined ? "" : ` at ${place}`;
}

const KEY_CHARS_MAX = 64;
const ESCAPED = /[^A-Za-z0-9_.-]/gu;
const UTF8 = new TextEncoder();

/** A key may be any short text, such as an e-mail address. What names do not allow is escaped by the bytes of UTF-8: `ada~40example.com`. */
function encodedKey(key: string): string {
  if (typeof key !== "string" || key === "" || key.length > KEY_CHARS_MAX)
    throw new ParleyError("INVALID_NAME", `the key ${JSON.stringify(key)} is not allowed: use 1 to ${KEY_CHARS_MAX} characters`);
  return key.replace(ESCAPED, (character) => [...UTF8.encode(character)].map((byte) => `~${byte.toString(16).padStart(2, "0")}`).join(""));
}

function checkName(kind: string, name: string): void {
  if (NAME.test(name)) return;
  throw new ParleyError("INVALID_NAME", `${kind} name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`);
}
