/** The code that runs now, told by V8's promise hooks, and what it follows from (L1, L2). */
import type { PromiseHooks } from "../ports.ts";
import { type Execution, executionOf, type Group, type LineState, type Mark, Marked, nextId, type Segment } from "./promise-marks.ts";
import { collections, collects, doneForOther, noteGate, noteRunner, trace } from "./tracing.ts";

// V8 has one set of hooks for the process, so there is one piece of running code.
let current: Execution | undefined;
/** Whether it is known what code runs, also if it is of no line: that of a reaction, or of the engine. */
let isKnown = false;
let followers = 0;
let unhook: (() => void) | undefined;

export function follow(hooks: PromiseHooks): void {
  followers += 1;
  unhook ??= hooks.createHook({ init: created, before: begins, after: ends, settled: settles });
}

export function unfollow(): void {
  followers -= 1;
  if (followers > 0) return;
  unhook?.();
  unhook = undefined;
  current = undefined;
  isKnown = false;
}

/** The code that runs now, if it is of a line. */
export function running(): Execution | undefined {
  return current;
}

/** Runs work as code of a line. */
export function runAs<T>(execution: Execution, work: () => T): T {
  const before = current;
  current = execution;
  try {
    return work();
  } finally {
    current = before;
  }
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

/** The rest of the code that runs now is followed no longer, if it is of that line. */
export function leave(line: LineState): void {
  if (current?.segment.of === line) current = undefined;
}

/** Looks for the code that runs now if no hook has told of it, as those of Array.fromAsync do not. `below`: the function that asks. */
export function find(below: (...given: never[]) => unknown): void {
  if (collections.size === 0 || !isUnknown()) return;
  const execution = collects(below);
  current = execution;
  // Nothing tells when the code has run. What comes next says by itself what it is, or comes after this.
  if (execution)
    queueMicrotask(() => {
      if (current === execution) current = undefined;
    });
}

function created(promise: Promise<unknown>, parent: Promise<unknown> | undefined): void {
  find(created);
  if (!current) return;
  const mark: Mark = { created: current.segment, parent };
  Marked.put(promise, mark);
  if (current.segment.of.isTraced) trace(current, promise, mark, created);
}

function settles(promise: Promise<unknown>): void {
  const mark = Marked.of(promise);
  if (!mark) return;
  mark.isSettled = true;
  if (mark.origin) {
    mark.origin.isSettled = true;
    if (mark.origin.by?.isSettled) mark.origin.by = undefined;
  }
  mark.created.of.begun.delete(promise);
  if (mark.gate) opened(promise, mark);
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

function opened(gate: Promise<unknown>, mark: Mark): void {
  const { of } = mark.created;
  const wasWaitedAt = of.gates.delete(gate);
  const opener = Marked.of(current?.owner);
  if (!current || !opener || current.owner === gate) return;
  opener.opens = true;
  const call = wasWaitedAt ? doneForOther(current, mark) : undefined;
  if (call !== undefined) aside(() => of.didForOther(call));
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
  if (mark.parent === undefined || isOfAwait(mark)) {
    // The job that lets this promise take over another one, or anything else with a `then`. Who resolved it is known if `await` did.
    current = executionOf(mark.created, promise, promise);
    current.isUntold = mark.parent === undefined;
    // It waits for what has a `then` of its own, unless that turns out to be a promise.
    if (current.segment.of.isTraced) noteGate(promise, mark, "foreign");
    mark.parent = undefined;
    return;
  }
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

/**
 * Whether the promise is one that `await` makes for what is no ordinary promise. It waits on that of the function that awaits, and its job comes at
 * once, while that is not settled. Of a traced line no settlement passes unseen.
 */
function isOfAwait({ created, parent }: Mark): boolean {
  const awaited = Marked.of(parent);
  return created.of.isTraced && awaited?.created.of === created.of && !awaited.isSettled;
}

/** The segment that continues after an await (L1, L2). */
function segmentAfter({ created: own, parent }: Mark): Segment {
  const line = own.of;
  const awaited = Marked.of(parent);
  const trigger = awaited?.settledBy;
  const isOutside = !line.isInDrain || !awaited || !trigger || hasAwaitedElse(own, awaited, trigger);
  return {
    id: nextId(),
    of: line,
    epoch: line.isInDrain ? line.settled : line.settled + 0.5,
    isInDrain: line.isInDrain,
    isOutside,
    behind: isOutside ? own.behind | (trigger?.behind ?? 0n) | letThroughBy(own, awaited, trigger) : 0n,
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
  // Nor has one that another run has settled, and that code of this one finds in a cache.
  if (trigger.isOutside || awaited.created === trigger || trigger.of !== own.of) return true;
  const hasWaited = own.epoch < own.of.settled || trigger.epoch < own.epoch;
  return !hasWaited || (own.isOutside && trigger.via !== own.id);
}

/** The calls of the code beside `own` that has opened the gate at which `own` waited, right after an effect. A pool opens it after a read (L5). */
function letThroughBy(own: Segment, awaited: Mark | undefined, trigger: Segment | undefined): bigint {
  return awaited?.gate && awaited.created.isOutside && trigger?.of === own.of && !trigger.isOutside ? trigger.seen & ~own.seen : 0n;
}

/** Whether nothing has told what code runs. What was found before may be that of another flow. */
function isUnknown(): boolean {
  if (isKnown) return false;
  if (!current?.collection) return current === undefined;
  const known = collections.get(current.collection);
  return !known || known.flow !== known.of.scope.get();
}

/**
 * To be called when the promise of an effect is given a reaction. `await` of a subclass of Promise does that in a job, which looks like a reaction to
 * the promise of the function that awaits. That promise is not settled, so the job belongs to the code that awaits. What is not known to be unsettled
 * is what the code has waited for, as a promise that was made before the run and is ready at once.
 */
export function listenedTo(): void {
  const mark = Marked.of(current?.reaction);
  const awaited = Marked.of(current?.awaited);
  if (!current || !mark || !awaited || awaited.isSettled || mark.created.epoch !== current.segment.epoch) return;
  current = executionOf(mark.created, undefined, current.reaction);
}
