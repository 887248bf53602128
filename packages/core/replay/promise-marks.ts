/**
 * What is known of the promises that the code of lines has made, and of the code that runs now. Both are filled in by the promise hooks (running-code.ts),
 * and read to find out by what way a flow awaits its code (line.ts).
 */
import type { Scope } from "../ports.ts";

/** The code that runs between two awaits. */
export interface Segment {
  readonly id: number;
  readonly of: LineState;
  /** Settlements before it; half more between two drains, since code there is never the one that awaited in the drain before (`listenedTo`). */
  readonly epoch: number;
  readonly isInDrain: boolean;
  readonly isOutside: boolean;
  /** Numbers of calls, as bits: those of code beside it that has let it through, at a lock or in a queue, while it had awaited something outside (L5). */
  readonly behind: bigint;
  /** In which segment the promise of ctx was called that let it continue. By its id, so that no segment keeps those before it in memory. */
  readonly via: number | undefined;
  seen: bigint;
}

/** By which code a promise was made. Without any promise, which it would keep in memory. */
export interface Origin {
  readonly id: number;
  /** The number of the last call before that. */
  readonly callsBefore: number;
  isSettled: boolean;
  /** Of the function that has made it, or called the function that it is of. */
  by: Origin | undefined;
}

/**
 * What is known of a promise. A promise may outlive its run, for example in a cache. What is no longer needed is dropped, so that it does not keep the
 * run in memory.
 */
export interface Mark {
  /** In which it was created. */
  readonly created: Segment;
  /** On which it waits. Undefined once its reaction has run: what runs for it then is the job that takes over another promise. */
  parent: object | undefined;
  /** The last segment that settled it. Undefined if that was no code of a line. */
  settledBy?: Segment | undefined;
  isSettled?: true;
  /** For a promise of ctx: where it was called. */
  calledIn?: Segment;
  // ── traced lines ──
  origin?: Origin;
  /** Whether code has been given the functions that settle it, which it may have handed on; `foreign`: to an object with a `then` that is no promise. */
  gate?: "own" | "foreign" | undefined;
  /** Whether the code that works on it has opened a gate: it may run what others have left with it. */
  opens?: true;
  /** Of what was begun, or listened to, in the function that was given to `new Promise`: gates that it probably opens. */
  serves?: readonly object[];
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
export interface Group extends List {
  /** Whether one item decides it, so that others may or may not get to their next call: a race or any. */
  readonly isRace: boolean;
  readonly result: object;
  readonly members: object[];
  /** Of what its items have come to. */
  seen: bigint;
  isOutside: boolean;
}

/** The code that runs now. */
export interface Execution {
  readonly segment: Segment;
  readonly owner: object | undefined;
  /** The promise that takes over another one in this job. */
  readonly job: object | undefined;
  /** Whether it is not known which code has resolved the promise of the job: what that had awaited is not known either. */
  isUntold: boolean;
  /** Functions that are running, the innermost last, with their promises. */
  readonly running: { readonly code: string; readonly promise: object }[];
  /** Branches whose first code is running, each with its position. */
  readonly entering: { readonly branch: string; readonly at: Position }[];
  /** The call of Array.fromAsync that has called this code, if no hook has told of it. */
  collection: object | undefined;
  /** The promise whose reaction this is, and on which it waited. */
  reaction: object | undefined;
  awaited: object | undefined;
  /** What this code has made last with `new Promise`, the newest first. */
  made: readonly object[];
  /** Promises that a combinator has created and not listened to, the last of them its result. */
  readonly combined: object[];
  group: Group | undefined;
}

/** Where the code that runs now stands. */
export interface Position {
  readonly isOutside: boolean;
  /** Numbers of calls, as bits: those of code beside it, without which it would not have come here (L5). */
  readonly behind: bigint;
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
  /**
   * Numbers of items as in `way`, of the function that calls, also if its code has awaited nothing so far and so belongs to the line that has started
   * it. To be asked as `wayLater`; undefined if the line is not traced, or if `way` says it.
   */
  readonly startedAs: (() => string | undefined) | undefined;
  /**
   * Whether the code that calls may be another item's, left in a queue or with a lock: some code waits at a gate, and the code that runs gets
   * neither the promise of the call nor that of a function which calls by itself. To be asked as `wayLater`. Undefined if no code waits at a gate (L5).
   */
  readonly isLeft: ((promise: object) => boolean) | undefined;
  /** The promise that the code works on which runs now. Of a traced line; undefined if it is not known. */
  readonly owner: object | undefined;
  /** The promise of the function that calls. Of a traced line. */
  readonly caller: object | undefined;
  /** The outermost item of the way. To be asked when `wayLater` is known. */
  item(): Item;
  /** Numbers of the calls that certainly came before, as bits. */
  readonly seen: bigint;
}

/** An item of a list that the flow itself awaits. */
export interface Item {
  /** What it consists of: promises of its functions. */
  readonly functions: ReadonlySet<object>;
  readonly list: List | undefined;
}

/** A Promise.all or allSettled. */
export interface List {
  /** Numbers of the calls that certainly came before it was made, as bits. */
  readonly seenBefore: bigint;
}

/** A line as the hooks see it. */
export interface LineState {
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
  /** Promises that are not settled, and that code has made with `new Promise` or the like after it had awaited something outside ctx (L5). */
  readonly gates: Set<object>;
  /** The number of the last call. */
  calls: number;
  /** Numbers of calls, as bits: those with a key of their own in the handler's flow, which says whose they are. */
  keyed: bigint;
  /** To be called when code has let other code through and has done its work before, with the number of the first call of that (L5). */
  didForOther: (serial: number) => void;
}

/** Adds a private field to a promise, which nobody sees and no frozen object refuses. */
export class Marked extends (function (promise: object) {
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

let segments = 0;

export function nextId(): number {
  segments += 1;
  return segments;
}

export function executionOf(segment: Segment, owner: object | undefined, job: object | undefined): Execution {
  return {
    segment,
    owner,
    job,
    isUntold: false,
    running: [],
    entering: [],
    collection: undefined,
    reaction: undefined,
    awaited: undefined,
    made: [],
    combined: [],
    group: undefined,
  };
}

/** The promise of a function, or a derived promise, waits for another one. */
export function block(promise: object, on: object): void {
  const mark = Marked.of(promise);
  const awaited = Marked.of(on);
  if (mark) mark.blockedOn = on;
  // Most promises have one waiter. Those that have gone on are dropped when another one comes.
  if (awaited) awaited.waiters = [...(awaited.waiters ?? []).filter((waiter) => Marked.of(waiter)?.blockedOn === on), promise];
}
