/**
 * Lines: what the code that runs now has awaited, and by what way its flow awaits it in turn.
 *
 * A flow (flow.ts) has one line: what it awaits one thing after another, directly or through helpers, loops, generators and retries. If it awaits a
 * Promise.all, each item has a line of its own. Everything else runs beside them: tasks of a limiter, functions that were started and are awaited
 * later, items of a Promise.all that has failed.
 *
 *   handler ──▶ helper ──▶ fetch …                        the line: it has one end
 *      └──▶ Promise.all ──▶ item 0 ──▶ fetch …            the line of item 0
 *                  └──────▶ item 1 ──▶ helper ──▶ …       the line of item 1
 *
 *   Outside   Has the code awaited anything but ctx since ctx last let it continue? It has if it runs between two drains, or continues in a drain
 *             in which it already ran: what it awaited was ready, as a cache is that answers in a microtask, and may not be in another run.
 *   Way       By which items of Promise.all, allSettled, any and race does the flow wait for the code? Undefined for code beside all lines, as the
 *             losers of a race are once it is decided.
 *
 * Both follow from V8's promise hooks, which tell of every promise when it is created and on which other one it waits, when it settles, and which
 * reaction runs. A *segment* is the code that runs between two awaits. What a promise is of is kept in a private field of the promise itself.
 *
 *   L1  A segment follows from the segment that awaited, and from the one that settled what was awaited.
 *   L2  `isOutside` is never false if the code has awaited something else. If unknown, it is true.
 *   L3  Two pieces of code that run beside each other in one flow never have the same way. If unknown, it is undefined. The same code has the same
 *       way in every run, because a way consists of what the handler's own code awaits, and of numbers in the lists that it made.
 *   L4  A line costs little unless it is traced. Only a traced line knows which function awaits which promise: for that, every promise takes a
 *       short stack trace.
 */
import type { PromiseHooks, Scope } from "../ports.ts";

/** Where the code that runs now stands. */
export interface Position {
  readonly isOutside: boolean;
  /** Whether the call has a key, and so a flow of its own. Its way and entry are those of the code that calls. */
  readonly isKeyed: boolean;
  /** Promises of the functions that are running. Of a traced line. */
  readonly running: readonly object[];
  /** By which line its flow was entered. Two entries by different lines run beside each other, also if they have the same key. */
  readonly entry: string;
  /** Numbers of items, from the innermost out, such as `1.0`; `""` on the flow's own line. Undefined if unknown: always, unless the line is traced. */
  readonly way: string | undefined;
  /**
   * The same, once all promise reactions have run that are ready. Only then is it known who waits for a function that has just been started, and that
   * a queue has started in the code of another line.
   */
  wayLater(): string | undefined;
  /** What the outermost item of the way consists of: promises of its functions. To be asked when `wayLater` is known. */
  item(): ReadonlySet<object>;
  /** Numbers of the calls that certainly came before, as bits. */
  readonly seen: bigint;
}

export interface Line {
  readonly isTraced: boolean;
  /** Runs the handler's code of a drain. The code that this settles or starts is followed until `drained`. */
  drain(work: () => void): void;
  drained(): void;
  /** The position of the code that runs now, in the flow of that branch. */
  position(branch: string): Position;
  /** The running code has made the call of that number, and is given its promise, which was created `aside`. */
  called(serial: number, promise?: object): void;
  /** Declares a promise of ctx itself: awaiting it is no await of something outside. */
  ofCtx(promise: unknown): void;
  /** Runs what a branch within another one begins with. What it returns is the branch's own line, unless the branch is active already. */
  enter<T>(branch: string, within: string, work: () => T): T;
  /** Makes a call that has a key, in a branch of its own. Nothing else follows in that branch. */
  enterCall<T>(branch: string, within: string, call: () => T): T;
  /** Whether any flow waits for something outside ctx. Unknown, and so false, unless the line is traced. */
  awaitsOutside(): boolean;
  /** The same of any function that has begun, also of one that no flow awaits. */
  hasOutsideBeside(): boolean;
  /** The code is followed no longer. */
  end(): void;
}

interface Segment {
  readonly id: number;
  readonly of: LineState;
  /** Settlements before it; half more between two drains. */
  readonly epoch: number;
  readonly isInDrain: boolean;
  readonly isOutside: boolean;
  /** In which segment the promise of ctx was called that let it continue. By its id, so that no segment keeps those before it in memory. */
  readonly via: number | undefined;
  seen: bigint;
}

/**
 * What is known of a promise. A promise may outlive its run, for example in a cache. What is no longer needed is dropped, so that it does not keep the
 * run in memory.
 */
interface Mark {
  /** In which it was created. */
  readonly created: Segment;
  /** On which it waits. */
  parent: object | undefined;
  /** The last segment that settled it. Undefined if that was no code of a line. */
  settledBy?: Segment | undefined;
  isSettled?: true;
  /** For a promise of ctx: where it was called. */
  calledIn?: Segment;
  /** Its reaction has run. What runs for it again is the job that takes over another promise. */
  hasRun?: true;
  // ── traced lines ──
  /** Of a reaction: the promise that the code after it works on. */
  owner?: object | undefined;
  /** Of a reaction: the function that continues. */
  code?: string;
  /** Of the promise of a function, or of a derived promise: what it waits for now. */
  blockedOn?: object | undefined;
  /** What has come to wait for it, and may have gone on since. */
  waiters?: object[] | undefined;
  /** Of a combinator and its reactions. */
  group?: Group | undefined;
  /** The items that it is in a combinator. */
  items?: { readonly group: Group; readonly index: number }[] | undefined;
}

/** A Promise.all, allSettled, any or race. */
interface Group {
  /** Whether one item decides it, so that others may or may not get to their next call: a race or any. */
  readonly isRace: boolean;
  readonly result: object;
  readonly members: object[];
  /** Of what its items have come to. */
  seen: bigint;
  isOutside: boolean;
}

/** The code that runs now. */
interface Execution {
  readonly segment: Segment;
  readonly owner: object | undefined;
  /** The promise that takes over another one in this job. */
  readonly job: object | undefined;
  /** Functions that are running, the innermost last, with their promises. */
  readonly running: { readonly code: string; readonly promise: object }[];
  /** Branches whose first code is running, each with its position. */
  readonly entering: { readonly branch: string; readonly at: Position }[];
  /** The call of Array.fromAsync that has called this code, if no hook has told of it. */
  collection: object | undefined;
  /** The promise whose reaction this is, and on which it waited. */
  reaction: object | undefined;
  awaited: object | undefined;
  /** Promises that a combinator has created and not listened to, the last of them its result. */
  readonly combined: object[];
  group: Group | undefined;
}

interface LineState {
  isTraced: boolean;
  settled: number;
  isInDrain: boolean;
  /** Whether a Promise.all has failed while some of its items were at work. In another run they may get to calls that items of a later one make. */
  isTorn: boolean;
  /** By branch: the promise of its own line, and by which line it was entered. */
  readonly roots: Map<string, { readonly promise: object; readonly entry: string }>;
  /** Tells the flow of the code that runs. */
  readonly scope: Pick<Scope, "get">;
  /** Promises of functions that have begun and are not settled. */
  readonly begun: Set<object>;
}

/** Adds a private field to a promise, which nobody sees and no frozen object refuses. */
class Marked extends (function (promise: object) {
  return promise;
} as unknown as new (promise: object) => object) {
  #mark: Mark;

  constructor(promise: object, mark: Mark) {
    super(promise);
    this.#mark = mark;
  }

  static of(promise: object | undefined): Mark | undefined {
    return promise !== undefined && #mark in promise ? promise.#mark : undefined;
  }

  static put(promise: object, mark: Mark): void {
    if (#mark in promise) promise.#mark = mark;
    else new Marked(promise, mark);
  }
}

// V8 has one set of hooks for the process, so there is one piece of running code.
let current: Execution | undefined;
/** Whether it is known what code runs, also if it is of no line: that of a reaction, or of the engine. */
let isKnown = false;
let followers = 0;
let unhook: (() => void) | undefined;

function follow(hooks: PromiseHooks): void {
  followers += 1;
  unhook ??= hooks.createHook({ init: created, before: begins, after: ends, settled: settles });
}

/** Runs code of the engine that the handler's code has called. Nothing that it starts is followed. */
export function aside<T>(work: () => T): T {
  const before = current;
  const wasKnown = isKnown;
  current = undefined;
  isKnown = true;
  try {
    return work();
  } finally {
    current = before;
    isKnown = wasKnown;
  }
}

let segments = 0;

function nextId(): number {
  segments += 1;
  return segments;
}

function unfollow(): void {
  followers -= 1;
  if (followers > 0) return;
  unhook?.();
  unhook = undefined;
  current = undefined;
  isKnown = false;
}

function created(promise: Promise<unknown>, parent: Promise<unknown> | undefined): void {
  if (collections.size > 0 && isUnknown()) current = collects(created);
  if (!current) return;
  const mark: Mark = { created: current.segment, parent };
  Marked.put(promise, mark);
  if (current.segment.of.isTraced) trace(current, promise, mark);
}

function settles(promise: Promise<unknown>): void {
  const mark = Marked.of(promise);
  if (!mark) return;
  mark.isSettled = true;
  mark.created.of.begun.delete(promise);
  if (collections.size > 0) collections.delete(promise);
  const segment = current?.segment;
  const { group } = mark;
  // What comes after all items does not depend on which of them was the last.
  mark.settledBy = segment && group?.result === promise ? joined(segment, group) : segment;
  if (group?.result === promise) {
    if (!group.isRace && group.members.some(isAtWork)) mark.created.of.isTorn = true;
    group.members.length = 0;
  }
  mark.group = undefined;
  mark.waiters = undefined;
  mark.items = undefined;
  mark.blockedOn = undefined;
  if (current && current.running.length > 0) {
    const index = current.running.findLastIndex((each) => each.promise === promise);
    if (index !== -1) current.running.splice(index, 1);
  }
}

/** Whether code of a line is still at work on the promise. */
function isAtWork(promise: object): boolean {
  const mark = Marked.of(promise);
  return mark !== undefined && mark.isSettled !== true && !mark.calledIn;
}

function joined(segment: Segment, group: Group): Segment {
  return { ...segment, seen: segment.seen | group.seen, isOutside: segment.isOutside || group.isOutside };
}

function ends(): void {
  current = undefined;
  isKnown = false;
}

function begins(promise: Promise<unknown>): void {
  isKnown = true;
  if (collections.size > 0) noteRunner(begins);
  const mark = Marked.of(promise);
  if (!mark) {
    current = undefined;
    return;
  }
  if (mark.parent === undefined || mark.hasRun) {
    // The job that lets this promise take over another one. It follows from the code that resolved it, at once.
    current = executionOf(mark.created, undefined, promise);
    return;
  }
  mark.hasRun = true;
  const segment = segmentAfter(mark);
  if (mark.group) {
    mark.group.seen |= segment.seen;
    mark.group.isOutside ||= segment.isOutside;
  }
  current = executionOf(segment, mark.owner, undefined);
  current.reaction = promise;
  current.awaited = mark.parent;
  if (mark.owner && mark.code !== undefined) current.running.push({ code: mark.code, promise: mark.owner });
  mark.parent = undefined;
  mark.owner = undefined;
}

function executionOf(segment: Segment, owner: object | undefined, job: object | undefined): Execution {
  return {
    segment,
    owner,
    job,
    running: [],
    entering: [],
    collection: undefined,
    reaction: undefined,
    awaited: undefined,
    combined: [],
    group: undefined,
  };
}

/** The segment that continues after an await (L1, L2). */
function segmentAfter({ created: own, parent }: Mark): Segment {
  const line = own.of;
  const awaited = Marked.of(parent);
  const trigger = awaited?.settledBy;
  return {
    id: nextId(),
    of: line,
    epoch: line.isInDrain ? line.settled : line.settled + 0.5,
    isInDrain: line.isInDrain,
    isOutside: !line.isInDrain || !awaited || !trigger || hasAwaitedElse(own, awaited, trigger),
    via: awaited?.calledIn ? awaited.calledIn.id : trigger?.via,
    seen: own.seen | (trigger?.seen ?? 0n),
  };
}

/**
 * In a drain: whether the code after `own` has awaited something else than ctx. What it had awaited before is settled once it has waited for an
 * effect that it called itself: it can only continue in the drain of that effect.
 */
function hasAwaitedElse(own: Segment, awaited: Mark, trigger: Segment): boolean {
  if (awaited.calledIn) return !trigger.isInDrain || (own.isOutside && awaited.calledIn !== own);
  // A promise that settled where it was created has waited for nothing, as a cache does not that has what is asked for.
  if (trigger.isOutside || awaited.created === trigger) return true;
  const hasWaited = own.epoch < own.of.settled || trigger.epoch < own.epoch;
  return !hasWaited || (own.isOutside && trigger.via !== own.id);
}

// ── traced lines ─────────────────────────────────────────────────────────────────────────────────────────────────

const COMBINATORS: ReadonlySet<string> = new Set(["all", "allSettled", "any", "race"]);
const RACES: ReadonlySet<string> = new Set(["any", "race"]);
const DERIVING: ReadonlySet<string> = new Set(["then", "catch", "finally"]);
/** Who creates a promise, and who has called that. */
const TOP_MAX = 2;
/** Methods of async generators, in which the generator's code runs. */
const GENERATOR: ReadonlySet<string> = new Set(["next", "return", "throw"]);
/** What creates a promise and runs no code that could await. */
const PLAIN: ReadonlySet<string> = new Set(["Promise", "resolve", "reject", "withResolvers", "try"]);

/** Notes which code awaits the promise, or that a function has started to run. */
function trace(execution: Execution, promise: object, mark: Mark): void {
  const [top, next] = frames(TOP_MAX, created);
  if (!top) return;
  const { running, job } = execution;
  const { parent } = mark;
  const caller = next && isBuiltin(next) ? nameOf(next) : undefined;
  const isOfV8 = isBuiltin(top);
  const code = codeOf(top);
  if (isOfV8) {
    const isCombined = COMBINATORS.has(code) || (DERIVING.has(code) && caller !== undefined && COMBINATORS.has(caller));
    if (isCombined) {
      if (parent === undefined) execution.combined.push(promise);
      else join(execution, mark, parent, RACES.has(COMBINATORS.has(code) ? code : (caller ?? "")));
      return;
    }
    if (DERIVING.has(code)) {
      mark.owner = promise;
      if (parent) block(promise, parent);
      if (job) block(job, promise);
      return;
    }
    if (PLAIN.has(code)) return;
  }
  if (parent === undefined) {
    // An async generator has no promise of its own: it works on that of the call of `next` which it answers.
    if (caller !== undefined && GENERATOR.has(caller)) noteBeginning(code, Number.NEGATIVE_INFINITY);
    if (!isOfV8 && !isBeginning(code, top.getPosition())) return;
    const outer = running.at(-1)?.promise;
    if (outer && collections.has(outer)) block(outer, promise);
    running.push({ code, promise });
    const { of } = execution.segment;
    of.begun.add(promise);
    if (isOfV8 && code === COLLECTING) collections.set(promise, { of, flow: of.scope.get() });
    return;
  }
  const exact = running.findLastIndex((each) => each.code === code);
  // With `yield*`, `next` is called of what the generator delegates to as well, and the generator awaits that.
  const index = exact === -1 ? running.findLastIndex((each) => GENERATOR.has(each.code) && each.promise !== parent) : exact;
  const found = running[index];
  // `await` of a subclass of Promise first creates a promise that waits on the function's own.
  if (!found || found.promise === parent) return;
  running.splice(index, 1);
  mark.owner = found.promise;
  mark.code = code;
  block(found.promise, parent);
}

/**
 * A combinator listens to an item. It has created its result before, and a promise for each item that is none, or one of a subclass, right before it
 * listens to that.
 */
function join(execution: Execution, mark: Mark, item: object, isRace: boolean): void {
  const { combined } = execution;
  if (combined.at(-1) === item) combined.pop();
  const result = combined.pop();
  combined.length = 0;
  if (result) {
    execution.group = { isRace, result, members: [], seen: 0n, isOutside: false };
    const own = Marked.of(result);
    if (own) own.group = execution.group;
  }
  const { group } = execution;
  if (!group) return;
  mark.group = group;
  const member = Marked.of(item);
  if (member) (member.items ??= []).push({ group, index: group.members.length });
  group.members.push(item);
}

/** The one builtin that awaits one thing after another by itself. V8 tells nobody of its awaits, and calls its callback from nowhere. */
const COLLECTING = "fromAsync";

/** Calls of Array.fromAsync that are under way, by their promises, with the flow that they belong to. */
const collections = new Map<object, { readonly of: LineState; readonly flow: object | undefined }>();

const DEPTH_MAX = 100;
/** The places in Node.js at which it lets V8 run the reactions that are ready. */
const runners = new Set<string>();

/** The places in Node.js from which the running code was called: `""` for code that V8 has called from nowhere. Undefined if it lies too deep. */
function calledFrom(below: (...given: never[]) => unknown): string | undefined {
  const sites = frames(DEPTH_MAX, below);
  if (sites.length === DEPTH_MAX) return undefined;
  const called = sites.filter((site) => !site.isAsync());
  const inNode = called.slice(called.findLastIndex((site) => site.getScriptNameOrSourceURL()?.startsWith("node:") !== true) + 1);
  return inNode.map((site) => `${site.getScriptNameOrSourceURL()}:${site.getPosition()}`).join(" ");
}

/** To be called in a reaction. */
function noteRunner(below: (...given: never[]) => unknown): void {
  const place = calledFrom(below);
  if (place !== undefined) runners.add(place);
}

/** Whether nothing has told what code runs. What was found before may be that of another flow. */
function isUnknown(): boolean {
  if (isKnown) return false;
  if (!current?.collection) return current === undefined;
  const known = collections.get(current.collection);
  return !known || known.flow !== known.of.scope.get();
}

/**
 * The call of Array.fromAsync that has called the code that runs now, if it is certain: code that V8 has called as it calls reactions, in a flow in
 * which one such call, and no other, has got what it waited for.
 */
function collects(below: (...given: never[]) => unknown): Execution | undefined {
  const ready = [...collections].filter(([promise, { of, flow }]) => {
    const on = Marked.of(promise)?.blockedOn;
    return flow === of.scope.get() && (on === undefined || Marked.of(on)?.isSettled === true);
  });
  const [one] = ready;
  if (!one || ready.length > 1) return undefined;
  // Timers, ticks and other callbacks come from other places.
  const place = calledFrom(below);
  if (place === undefined || (place !== "" && !runners.has(place))) return undefined;
  const [promise, { of }] = one;
  const mark = Marked.of(promise);
  const seen = (mark?.created.seen ?? 0n) | (Marked.of(mark?.blockedOn)?.settledBy?.seen ?? 0n);
  const epoch = of.isInDrain ? of.settled : of.settled + 0.5;
  const execution = executionOf(
    { id: nextId(), of, epoch, isInDrain: of.isInDrain, isOutside: true, via: undefined, seen },
    promise,
    undefined,
  );
  execution.collection = promise;
  execution.running.push({ code: COLLECTING, promise });
  // Nothing tells when the code has run. What comes next says by itself what it is, or comes after this.
  queueMicrotask(() => {
    if (current === execution) current = undefined;
  });
  return execution;
}

function block(promise: object, on: object): void {
  const mark = Marked.of(promise);
  const awaited = Marked.of(on);
  if (mark) mark.blockedOn = on;
  // Most promises have one waiter. Those that have gone on are dropped when another one comes.
  if (awaited) awaited.waiters = [...(awaited.waiters ?? []).filter((waiter) => Marked.of(waiter)?.blockedOn === on), promise];
}

/** By function: where it begins. Dropped from time to time, since code may be created without end. */
const beginnings = new Map<string, number>();
const BEGINNINGS_MAX = 10_000;

/** Whether the promise is that of an async function, which is created where the function begins, and not one that its code has made. */
function isBeginning(code: string, position: number): boolean {
  const known = beginnings.get(code);
  if (known !== undefined && known < position) return false;
  noteBeginning(code, position);
  return true;
}

function noteBeginning(code: string, position: number): void {
  if (beginnings.size >= BEGINNINGS_MAX) beginnings.clear();
  beginnings.set(code, position);
}

/** Deeper calls count as made by the function that runs innermost. */
const FRAMES_MAX = 50;

/** The promise of the innermost function that runs, or of the code that runs it. */
function innermost({ running, owner }: Execution): object | undefined {
  if (running.length <= 1) return running[0]?.promise ?? owner;
  for (const site of frames(FRAMES_MAX, innermost)) {
    const code = codeOf(site);
    const found = running.findLast((each) => each.code === code);
    if (found) return found.promise;
  }
  return owner;
}

/** A call site as V8 gives it, with four methods that its types lack. Each of them takes V8 a while. */
interface CallSite extends NodeJS.CallSite {
  getEnclosingLineNumber(): number | null;
  getEnclosingColumnNumber(): number | null;
  getPosition(): number;
  isAsync(): boolean;
}

/** If others follow promises too, Node.js calls all of them from here. */
const HOOKS = "node:internal/promise_hooks";
const HOOKS_FRAMES = 2;

const keepSites = (_error: Error, sites: readonly NodeJS.CallSite[]) => sites;

/** The innermost frames above `below`. */
function frames(limit: number, below: (...given: never[]) => unknown): readonly CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.prepareStackTrace = keepSites;
    const sites = sitesAbove(limit, below);
    if (!sites.some(isOfHooks)) return sites;
    return sitesAbove(limit + HOOKS_FRAMES, below).filter((site) => !isOfHooks(site));
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function sitesAbove(limit: number, below: (...given: never[]) => unknown): readonly CallSite[] {
  Error.stackTraceLimit = limit;
  const at = {} as { readonly stack: readonly CallSite[] };
  Error.captureStackTrace(at, below);
  return at.stack;
}

function isOfHooks(site: CallSite): boolean {
  return site.getScriptNameOrSourceURL() === HOOKS;
}

/** Whether it is code of V8. Code that was compiled from a text has no script name, but lines. */
function isBuiltin(site: CallSite): boolean {
  return !site.getScriptNameOrSourceURL() && site.getLineNumber() === null;
}

function nameOf(site: CallSite): string {
  return site.getFunctionName() ?? "";
}

/** Identifies the function, not the call. */
function codeOf(site: CallSite): string {
  if (isBuiltin(site)) return nameOf(site);
  return `${site.getScriptNameOrSourceURL()}:${site.getEnclosingLineNumber()}:${site.getEnclosingColumnNumber()}`;
}

/** Bounds a walk along promises. Beyond it, the way is unknown. */
const WALK_MAX = 100_000;

/**
 * The way from a flow's root to the promise that code works on (L3). Undefined if there is none, or more than one, and for items that may be left
 * behind: whether they get to a call is decided anew in each run, so it could be taken for that of an item of a later list.
 */
function wayTo(root: object, owner: object, passed?: (promise: object, isItem: boolean) => void): string | undefined {
  let at = owner;
  let way = "";
  for (let steps = 0; steps < WALK_MAX; steps += 1) {
    if (at === root) return way;
    const mark = Marked.of(at);
    if (!mark) return undefined;
    const waiters = mark.waiters?.filter((waiter) => waiter !== at && Marked.of(waiter)?.blockedOn === at) ?? [];
    const items = mark.items?.filter(({ group }) => Marked.of(group.result)?.isSettled !== true) ?? [];
    // What several lines wait for belongs to none of them.
    if (waiters.length + items.length !== 1) return undefined;
    const [item] = items;
    if (item && (item.group.isRace || mark.created.of.isTorn)) return undefined;
    passed?.(at, item !== undefined);
    if (item) way = way === "" ? String(item.index) : `${way}.${item.index}`;
    at = (item?.group.result ?? waiters[0]) as object;
  }
  return undefined;
}

function itemOf(root: object, owner: object): ReadonlySet<object> {
  const passed: object[] = [];
  let length = 0;
  wayTo(root, owner, (promise, isItem) => {
    passed.push(promise);
    if (isItem) length = passed.length;
  });
  return new Set(passed.slice(0, length));
}

/** Whether what the promise waits for comes from outside ctx. */
function waitsOutside(promise: object | undefined, known: Set<object>): boolean {
  for (let at = promise; at !== undefined && !known.has(at);) {
    known.add(at);
    const mark = Marked.of(at);
    if (!mark) return true;
    if (mark.calledIn || mark.isSettled) return false;
    // What a callback that is no async function has returned to Array.fromAsync is not known.
    if (collections.has(at) && Marked.of(mark.blockedOn)?.isSettled === true) return true;
    if (mark.group?.result === at) return mark.group.members.some((member) => waitsOutside(member, known));
    if (mark.blockedOn === undefined) return true;
    at = mark.blockedOn;
  }
  return false;
}

// ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────────

const UNKNOWN: Position = {
  isOutside: true,
  isKeyed: false,
  running: [],
  entry: "",
  item: () => new Set(),
  way: undefined,
  wayLater: () => undefined,
  seen: 0n,
};

/** Follows the code of one run. A traced line is followed until `end`; any other only in drains. */
export function createLine(scope: Pick<Scope, "get" | "promises">, isTraced: boolean): Line {
  const line: LineState = { isTraced, settled: -1, isInDrain: false, isTorn: false, roots: new Map(), scope, begun: new Set() };
  const hooks = scope.promises;
  const begun = new Set<string>();
  /** Branches that have been entered by code beside each other. */
  const shared = new Set<string>();
  let entries = 0;
  let isFollowing = false;
  // A drain that was on its way as the run ended still comes.
  let hasEnded = false;

  function setFollowing(wanted: boolean): void {
    const on = wanted && !hasEnded;
    if (on === isFollowing) return;
    isFollowing = on;
    if (on) follow(hooks);
    else unfollow();
  }

  function own(): Execution | undefined {
    return current?.segment.of === line ? current : undefined;
  }

  function enter<T>(branch: string, within: string, work: () => T): T {
    const root = line.roots.get(branch);
    if (begun.has(branch) || (root && Marked.of(root.promise)?.isSettled !== true)) {
      shared.add(branch);
      return work();
    }
    const { entry: outer, way, isOutside, seen } = position(within);
    entries += 1;
    const entry = branch === within ? "" : `${outer}>${way ?? `unknown ${entries}`}`;
    begun.add(branch);
    try {
      const done = first(branch, { ...UNKNOWN, isOutside, seen, entry, way: "", wayLater: () => "" }, work);
      // Functions of other code may return anything, and a promise without a mark is not followed.
      if (typeof done === "object" && done !== null && Marked.of(done)) line.roots.set(branch, { promise: done, entry });
      return done;
    } finally {
      begun.delete(branch);
    }
  }

  /** Runs the first code of a branch, also for a callback that has lost what it follows from. */
  function first<T>(branch: string, at: Position, work: () => T): T {
    const before = current;
    const epoch = line.isInDrain ? line.settled : line.settled + 0.5;
    const lost = () => ({ id: nextId(), of: line, epoch, isInDrain: line.isInDrain, isOutside: true, via: undefined, seen: 0n });
    const execution = own() ?? executionOf(lost(), undefined, undefined);
    current = execution;
    execution.entering.push({ branch, at });
    try {
      return work();
    } finally {
      execution.entering.pop();
      current = before;
    }
  }

  function position(branch: string): Position {
    if (collections.size > 0 && isUnknown()) current = collects(position);
    const execution = own();
    if (!execution) return UNKNOWN;
    const { segment, owner, entering } = execution;
    const { isOutside, seen } = segment;
    // The first code of a branch is on its line, also if other code runs it. It may have called before.
    const first = entering.at(-1);
    const running = execution.running.map(({ promise }) => promise);
    if (isOutside && shared.has(branch)) return { ...UNKNOWN, seen, running };
    if (first?.branch === branch) return { ...first.at, isOutside, seen, running };
    const root = line.roots.get(branch);
    const wayOf = (promise: object | undefined) => (root && promise ? wayTo(root.promise, promise) : undefined);
    const way = wayOf(owner);
    if (!isTraced) return { ...UNKNOWN, isOutside, seen };
    const started = innermost(execution);
    const item = () => (root && started ? itemOf(root.promise, started) : new Set<object>());
    const known = { isOutside, seen, isKeyed: false, running, item, entry: root?.entry ?? "" };
    if (!isOutside) return { ...known, way, wayLater: () => way };
    // On the flow's own line its code decides what runs when, also what it starts.
    const isOwn = started === owner || way === "";
    return { ...known, way: isOwn ? way : undefined, wayLater: () => wayOf(started) };
  }

  setFollowing(isTraced);
  return {
    isTraced,
    drain(work) {
      if (hasEnded) return work();
      setFollowing(true);
      line.settled += 1;
      line.isInDrain = true;
      const segment: Segment = { id: nextId(), of: line, epoch: line.settled, isInDrain: true, isOutside: false, via: undefined, seen: 0n };
      current = executionOf(segment, undefined, undefined);
      try {
        work();
      } finally {
        current = undefined;
      }
    },
    drained() {
      line.isInDrain = false;
      setFollowing(isTraced);
    },
    position,
    called(serial, promise) {
      const execution = own();
      if (!execution) return;
      const { segment } = execution;
      segment.seen |= 1n << BigInt(serial);
      if (promise) Marked.put(promise, { created: segment, parent: undefined, calledIn: segment });
    },
    ofCtx(promise) {
      const execution = own();
      const mark = typeof promise === "object" && promise !== null ? Marked.of(promise) : undefined;
      if (execution && mark && !mark.calledIn) mark.calledIn = execution.segment;
    },
    enter,
    enterCall: (branch, within, call) => first(branch, { ...position(within), isKeyed: true }, call),
    awaitsOutside() {
      const known = new Set<object>();
      return isTraced && [...line.roots.values()].some(({ promise }) => waitsOutside(promise, known));
    },
    hasOutsideBeside() {
      const known = new Set<object>();
      return [...line.begun].some((promise) => waitsOutside(promise, known));
    },
    end() {
      line.isTraced = false;
      hasEnded = true;
      line.roots.clear();
      line.begun.clear();
      for (const [promise, { of }] of collections) if (of === line) collections.delete(promise);
      setFollowing(false);
      if (current?.segment.of === line) current = undefined;
    },
  };
}

/** For a handler that is known to make its calls one after the other: it is not followed. */
export function createSequentialLine(): Line {
  let isInDrain = false;
  return {
    isTraced: true,
    drain(work) {
      isInDrain = true;
      work();
    },
    drained: () => void (isInDrain = false),
    position: () => ({ ...UNKNOWN, isOutside: !isInDrain, way: "", wayLater: () => "" }),
    called: () => undefined,
    ofCtx: () => undefined,
    enter: (_branch, _within, work) => work(),
    enterCall: (_branch, _within, call) => call(),
    awaitsOutside: () => true,
    hasOutsideBeside: () => true,
    end: () => undefined,
  };
}

/**
 * To be called when the promise of an effect is given a reaction. `await` of a subclass of Promise does that in a job, which looks like a reaction to
 * the promise of the function that awaits. That promise is not settled, so the job belongs to the code that awaits.
 */
export function listenedTo(): void {
  const mark = Marked.of(current?.reaction);
  if (!current || !mark || mark.created.epoch !== current.segment.epoch || Marked.of(current.awaited)?.isSettled === true) return;
  current = executionOf(mark.created, undefined, current.reaction);
}
