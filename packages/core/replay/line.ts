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
 *   L5  Code can be left to other code, as in the queue of a lock, or wait until other code lets it through. In which order that happens may rest
 *       on what the items have awaited. Such code waits for a promise that no code but that of the handler can settle: a gate.
 *       A gate that is opened by a function which other code has begun since, and which has called meanwhile, may have had its work done by that.
 *
 *   running-code.ts   the code that runs now, told by the hooks (L1, L2)     tracing.ts  what each function awaits (L4)
 *   promise-marks.ts  what is known of promises and of running code          frames.ts   stacks and frames
 */
import type { Scope } from "../ports.ts";
import {
  type Execution,
  executionOf,
  type Item,
  type LineState,
  type List,
  type Mark,
  Marked,
  nextId,
  type Position,
  type Segment,
} from "./promise-marks.ts";
import { find, follow, leave, runAs, running, unfollow } from "./running-code.ts";
import { callers, collections, NOBODY } from "./tracing.ts";

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
  /**
   * To be asked before an effect with that promise settles: tells then of code, by its owner, whether it may have gone on by itself in this drain. It has
   * if it awaited the effect, directly or through others, or in a race, which other code may have decided although it need not.
   */
  goesOnByItself(promise: object): (owner: object) => boolean;
  /** Whether any code waits for the promise. Of a traced line; a call may be awaited only after others. */
  isAwaited(promise: object): boolean;
  /** Whether any code waits at a gate (L5). Unknown, and so false, unless the line is traced. */
  isAtGate(): boolean;
  /** The code is followed no longer. */
  end(): void;
}
// ── ways ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Bounds a walk along promises. Beyond it, the way is unknown. */
const WALK_MAX = 100_000;

/**
 * The way from a flow's root to the promise that code works on (L3). Undefined if there is none, or more than one, and for items that may be left
 * behind: whether they get to a call is decided anew in each run, so it could be taken for that of an item of a later list.
 */
export function wayTo(root: object, owner: object, passed?: (promise: object, list: List | undefined) => void): string | undefined {
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
    passed?.(at, item?.group);
    if (item) way = way === "" ? String(item.index) : `${way}.${item.index}`;
    at = (item?.group.result ?? waiters[0]) as object;
  }
  return undefined;
}

/** Whether what waits for the promise comes to `owner`, or to the root by that way. It does not matter whether it decides a race. */
function leadsTo(owner: object | undefined, root: object | undefined, way: string | undefined, promise: object): boolean {
  const open: (readonly [at: object, way: string])[] = [[promise, ""]];
  const known = new Set<object>();
  for (let next = open.pop(); next && known.size < WALK_MAX; next = open.pop()) {
    const [at, by] = next;
    if (at === owner || (at === root && by === way)) return true;
    if (known.has(at)) continue;
    known.add(at);
    const { waiters = [], items = [], serves = [] } = Marked.of(at) ?? {};
    for (const gate of serves) open.push([gate, by]);
    for (const waiter of waiters) if (Marked.of(waiter)?.blockedOn === at) open.push([waiter, by]);
    for (const { group, index } of items) open.push([group.result, by === "" ? String(index) : `${by}.${index}`]);
  }
  return false;
}

/** The promises, and what waits for them, directly or through others. `since`: what is older than that settlement is where it ends. */
function allThatAwait(promises: readonly object[], since = Number.NEGATIVE_INFINITY): ReadonlySet<object> {
  const known = new Set<object>();
  const open = [...promises];
  for (let at = open.pop(); at && known.size < WALK_MAX; at = open.pop()) {
    if (known.has(at)) continue;
    known.add(at);
    const { created, waiters = [], items = [] } = Marked.of(at) ?? {};
    if (created && created.epoch < since) continue;
    for (const waiter of waiters) if (Marked.of(waiter)?.blockedOn === at) open.push(waiter);
    for (const { group } of items) open.push(group.result);
  }
  return known;
}

/** The race or any that the promise waits for, if it does. */
function raceOf(promise: object): object | undefined {
  const known = new Set<object>();
  for (let at: object | undefined = promise; at && !known.has(at);) {
    known.add(at);
    const mark: Mark | undefined = Marked.of(at);
    if (mark?.group?.isRace && mark.group.result === at) return at;
    at = mark?.blockedOn;
  }
  return undefined;
}

export const NO_ITEM: Item = { functions: new Set(), list: undefined };

function itemOf(root: object, owner: object): Item {
  const passed: object[] = [];
  let item = NO_ITEM;
  wayTo(root, owner, (promise, list) => {
    passed.push(promise);
    if (list) item = { functions: new Set(passed), list };
  });
  return item;
}

/** Whether what the promise waits for comes from outside ctx. */
export function waitsOutside(promise: object | undefined, known: Set<object>): boolean {
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
  behind: 0n,
  isKeyed: false,
  running: [],
  entry: "",
  item: () => NO_ITEM,
  way: undefined,
  wayLater: () => undefined,
  startedAs: undefined,
  isLeft: undefined,
  owner: undefined,
  caller: undefined,
  seen: 0n,
};

const nobody = () => undefined;

/** Follows the code of one run. A traced line is followed until `end`; any other only in drains. */
export function createLine(
  scope: Pick<Scope, "get" | "promises">,
  isTraced: boolean,
  didForOther: LineState["didForOther"] = nobody,
): Line {
  const line: LineState = {
    isTraced,
    settled: -1,
    isInDrain: false,
    isTorn: false,
    roots: new Map(),
    scope,
    begun: new Set(),
    gates: new Set(),
    calls: 0,
    keyed: 0n,
    didForOther,
  };
  const hooks = scope.promises;
  const begun = new Set<string>();
  /** Branches that have been entered by code beside each other. */
  const shared = new Set<string>();
  let entries = 0;
  /** Whether a call is being made that has a key of its own in the handler's flow. */
  let isKeyed = false;
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
    const execution = running();
    return execution?.segment.of === line ? execution : undefined;
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
    const epoch = line.isInDrain ? line.settled : line.settled + 0.5;
    const lost = () => ({
      id: nextId(),
      of: line,
      epoch,
      isInDrain: line.isInDrain,
      isOutside: true,
      behind: 0n,
      via: undefined,
      seen: 0n,
    });
    const execution = own() ?? executionOf(lost(), undefined, undefined);
    execution.entering.push({ branch, at });
    try {
      return runAs(execution, work);
    } finally {
      execution.entering.pop();
    }
  }

  function position(branch: string): Position {
    find(position);
    const execution = own();
    if (!execution) return UNKNOWN;
    const { segment, owner, entering } = execution;
    const { seen } = segment;
    const isOutside = segment.isOutside || execution.isUntold;
    // The first code of a branch is on its line, also if other code runs it. It may have called before.
    const first = entering.at(-1);
    // Nobody is told what Array.fromAsync awaits.
    const mayBeLeft = line.gates.size > 0 && !execution.collection;
    const { innermost: started, itself } = isTraced ? callers(execution, mayBeLeft) : NOBODY;
    const running = execution.running.map(({ promise }) => promise);
    const waiting = Marked.of(owner)?.opens ? undefined : owner;
    const leftBy = (way: string | undefined) => (promise: object) => {
      const root = line.roots.get(branch)?.promise;
      // What its flow does not await may be a loop that works off what others have left with it.
      const by = !root || (waiting && leadsTo(root, undefined, undefined, waiting)) ? waiting : undefined;
      const isOwn = [promise, itself].some((each) => each && leadsTo(by, root, way, each));
      return !isOwn && [...line.gates].some((gate) => !leadsTo(undefined, root, "", gate));
    };
    if (isOutside && shared.has(branch)) return { ...UNKNOWN, seen, running, owner };
    const startedWay = () => {
      const root = line.roots.get(branch);
      return root && started ? wayTo(root.promise, started) : undefined;
    };
    if (first?.branch === branch)
      return {
        ...first.at,
        isOutside,
        seen,
        running,
        owner,
        isLeft: first.at.isKeyed ? first.at.isLeft : mayBeLeft ? leftBy("") : undefined,
        caller: started,
        startedAs: started && startedWay,
      };
    const root = line.roots.get(branch);
    const way = root && owner ? wayTo(root.promise, owner) : undefined;
    if (!isTraced) return { ...UNKNOWN, isOutside, seen };
    const item = () => (root && started ? itemOf(root.promise, started) : NO_ITEM);
    const startedAs = started === owner ? undefined : startedWay;
    const { behind } = segment;
    const entry = root?.entry ?? "";
    // What the flow's own code has started behind an outside await is in order, whoever gets the result.
    const isLeft = mayBeLeft && !(isOutside && way === "") ? leftBy(way) : undefined;
    const known = { isOutside, behind, isLeft, seen, isKeyed: false, running, item, entry, owner, caller: started, startedAs };
    if (!isOutside) return { ...known, way, wayLater: () => way };
    // On the flow's own line its code decides what runs when, also what it starts.
    const isOwn = started === owner || way === "";
    return { ...known, way: isOwn ? way : undefined, wayLater: startedWay };
  }

  setFollowing(isTraced);
  return {
    isTraced,
    drain(work) {
      if (hasEnded) return work();
      setFollowing(true);
      line.settled += 1;
      line.isInDrain = true;
      const segment: Segment = {
        id: nextId(),
        of: line,
        epoch: line.settled,
        isInDrain: true,
        isOutside: false,
        behind: 0n,
        via: undefined,
        seen: 0n,
      };
      runAs(executionOf(segment, undefined, undefined), work);
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
      line.calls = serial;
      if (isKeyed) line.keyed |= 1n << BigInt(serial);
      if (promise) Marked.put(promise, { created: segment, parent: undefined, calledIn: segment });
    },
    ofCtx(promise) {
      const execution = own();
      const mark = typeof promise === "object" && promise !== null ? Marked.of(promise) : undefined;
      if (execution && mark && !mark.calledIn) mark.calledIn = execution.segment;
    },
    enter,
    enterCall(branch, within, call) {
      const at = { ...position(within), isKeyed: true };
      // In the handler's own flow the key says whose call it is, also if other code makes it.
      if (within !== "") return first(branch, at, call);
      isKeyed = true;
      try {
        return first(branch, { ...at, isLeft: undefined }, call);
      } finally {
        isKeyed = false;
      }
    },
    awaitsOutside() {
      const known = new Set<object>();
      return isTraced && [...line.roots.values()].some(({ promise }) => waitsOutside(promise, known));
    },
    hasOutsideBeside() {
      const known = new Set<object>();
      return [...line.begun].some((promise) => waitsOutside(promise, known));
    },
    goesOnByItself(promise) {
      const races = [...line.begun].flatMap((each) => raceOf(each) ?? []);
      const known = allThatAwait([promise, ...races]);
      // Functions that it has begun in this drain belong to what awaits them.
      return (owner) => [...allThatAwait([owner], line.settled)].some((each) => known.has(each));
    },
    isAwaited(promise) {
      const { waiters = [], items = [] } = Marked.of(promise) ?? {};
      return waiters.length + items.length > 0;
    },
    isAtGate: () => line.gates.size > 0,
    end() {
      line.isTraced = false;
      hasEnded = true;
      line.roots.clear();
      line.begun.clear();
      line.gates.clear();
      // A promise that outlives its run has the line, but must not keep what that can call.
      line.didForOther = nobody;
      for (const [promise, { of }] of collections) if (of === line) collections.delete(promise);
      setFollowing(false);
      leave(line);
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
    goesOnByItself: () => () => true,
    isAwaited: () => true,
    isAtGate: () => false,
    end: () => undefined,
  };
}
