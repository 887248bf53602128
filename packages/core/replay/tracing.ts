/** What each function of a traced line awaits (L4). A promise hook does not say who awaits; the frames that are running by then do. */
import { isOfAuthor } from "./call-site.ts";
import { calledFrom, type CallSite, codeOf, frames, isBuiltin, isOfNode, nameOf, stack } from "./frames.ts";
import { block, type Execution, executionOf, type LineState, type Mark, Marked, nextId, type Origin } from "./promise-marks.ts";

const COMBINATORS: ReadonlySet<string> = new Set(["all", "allSettled", "any", "race"]);
const RACES: ReadonlySet<string> = new Set(["any", "race"]);
const DERIVING: ReadonlySet<string> = new Set(["then", "catch", "finally"]);
/** Who creates a promise, and who has called that. */
const TOP_MAX = 2;
/** Methods of async generators, in which the generator's code runs. */
const GENERATOR: ReadonlySet<string> = new Set(["next", "return", "throw"]);
/** What creates a promise and runs no code that could await. */
const PLAIN: ReadonlySet<string> = new Set(["Promise", "resolve", "reject", "withResolvers", "try"]);

/** What makes a promise that is settled by a function which code may hand on. */
const CONSTRUCTOR = "Promise";
const GATES: ReadonlySet<string> = new Set([CONSTRUCTOR, "withResolvers"]);

/** How many promises may be made within the function that is given to `new Promise`, before something that serves this one begins. */
const MADE_MAX = 8;

let origins = 0;

function originIn({ running, owner, segment: { of } }: Execution): Origin {
  origins += 1;
  const by = Marked.of(running.at(-1)?.promise ?? owner)?.origin;
  return { id: origins, callsBefore: of.calls, isSettled: false, by };
}

/**
 * The number of the first call of the code that opens this gate, if that is a function which was begun after the gate by other code than has made it:
 * it probably was left with a lock, and was the work of the code that waits (L5).
 */
export function doneForOther({ segment, owner, reaction, awaited }: Execution, gate: Mark): number | undefined {
  // A reaction opens it for what it has waited for, as in `work().then(resolve)`.
  const opener = Marked.of(owner !== undefined && owner === reaction ? awaited : owner)?.origin;
  if (!opener || !gate.origin || opener.id < gate.origin.id) return undefined;
  let maker = gate.origin.by;
  while (maker?.isSettled) maker = maker.by;
  for (let at: Origin | undefined = opener; at; at = at.by) if (at === maker) return undefined;
  const { of, seen } = segment;
  for (let serial = opener.callsBefore + 1; serial <= of.calls; serial += 1)
    if (((seen & ~of.keyed) >> BigInt(serial)) % 2n === 1n) return serial;
  return undefined;
}

export function noteGate(promise: object, mark: Mark, gate: "own" | "foreign"): void {
  mark.gate ??= gate;
  if (mark.created.isOutside) mark.created.of.gates.add(promise);
}

/** As `new Promise((resolve, reject) => void work().then(resolve, reject))`. No hook says that the function which is given to it has ended; the stack does. */
function noteServed({ made }: Execution, mark: Mark, below: (...given: never[]) => unknown): void {
  if (made.length === 0) return;
  if (stack(below)?.some((site) => isBuiltin(site) && nameOf(site) === CONSTRUCTOR)) mark.serves = made;
}

/** It waits for a promise after all. */
function dropGate(promise: object): void {
  const mark = Marked.of(promise);
  if (mark?.gate !== "foreign") return;
  mark.gate = undefined;
  mark.created.of.gates.delete(promise);
}

/** Notes which code awaits the promise that `below` has been told of, or that a function has started to run. */
export function trace(execution: Execution, promise: object, mark: Mark, below: (...given: never[]) => unknown): void {
  const [top, next] = frames(TOP_MAX, below);
  if (!top) return;
  const { running, job } = execution;
  const { parent } = mark;
  mark.origin = originIn(execution);
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
      noteServed(execution, mark, below);
      if (parent) block(promise, parent);
      if (job) {
        block(job, promise);
        dropGate(job);
      }
      return;
    }
    if (GATES.has(code) && !(next && isOfNode(next))) {
      noteGate(promise, mark, "own");
      if (code === CONSTRUCTOR) execution.made = [promise, ...execution.made.slice(0, MADE_MAX - 1)];
    }
    if (PLAIN.has(code)) return;
  }
  if (parent === undefined) {
    // An async generator has no promise of its own: it works on that of the call of `next` which it answers.
    if (caller !== undefined && GENERATOR.has(caller)) noteBeginning(code, Number.NEGATIVE_INFINITY);
    if (!isOfV8 && !isBeginning(code, top.getPosition())) return;
    const outer = running.at(-1)?.promise;
    if (outer && collections.has(outer) && (outer === execution.collection || caller === COLLECTING)) block(outer, promise);
    noteServed(execution, mark, below);
    if (!isOfV8 && running.some((each) => each.code === code)) dropReturned(execution, code, codesOf(stack(below)?.slice(1)));
    running.push({ code, promise });
    const { of } = execution.segment;
    of.begun.add(promise);
    if (isOfV8 && code === COLLECTING) collections.set(promise, { of, flow: of.scope.get() });
    return;
  }
  const last = running.findLastIndex((each) => each.code === code);
  if (running.findIndex((each) => each.code === code) < last) dropReturned(execution, code, codesOf(stack(below)));
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
    execution.group = { isRace, result, members: [], seenBefore: execution.segment.seen, seen: 0n, isOutside: false };
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

// ── the functions that are running ───────────────────────────────────────────────────────────────────────────────

function codesOf(sites: readonly CallSite[] | undefined): readonly string[] {
  return sites?.map(codeOf) ?? [];
}

/**
 * Drops calls of a function that have returned. No hook tells of one that has returned a promise without awaiting it, but it is no longer on the stack:
 * of several calls, the outermost ones are.
 */
function dropReturned({ running, collection }: Execution, code: string, onStack: readonly string[]): void {
  let left = onStack.filter((each) => each === code).length;
  const kept = running.filter((each) => {
    if (each.code !== code || each.promise === collection) return true;
    left -= 1;
    return left >= 0;
  });
  running.splice(0, running.length, ...kept);
}

/** Who calls: by promises of functions. */
export interface Callers {
  /** The innermost function that runs, or the code that runs it. */
  readonly innermost: object | undefined;
  /** The function that calls by itself, and not by one that it may have been given. */
  readonly itself: object | undefined;
}

export const NOBODY: Callers = { innermost: undefined, itself: undefined };

/** `isItselfNeeded`: it takes the stack, which the other one alone mostly does not. */
export function callers(execution: Execution, isItselfNeeded: boolean): Callers {
  const { running, owner } = execution;
  const isOwnerAlone = running.every(({ promise }) => promise === owner);
  if (running.length === 0 || (isOwnerAlone && !isItselfNeeded)) return { innermost: owner, itself: undefined };
  const sites = stack(callers);
  if (!sites) return NOBODY;
  const codes = codesOf(sites);
  // The call of `next` that runs a generator may not be on the stack.
  for (const code of new Set(running.map((each) => each.code))) if (!GENERATOR.has(code)) dropReturned(execution, code, codes);
  const called = (code: string | undefined) => running.findLast((each) => each.code === code)?.promise;
  const own = sites.findIndex((site) => isOfAuthor(site.getScriptNameOrSourceURL() ?? ""));
  return { innermost: called(codes.find(called)) ?? owner, itself: called(codes[own]) };
}

// ── Array.fromAsync ──────────────────────────────────────────────────────────────────────────────────────────────

/** The one builtin that awaits one thing after another by itself. V8 tells nobody of its awaits, and calls its callback from nowhere. */
const COLLECTING = "fromAsync";

/** Calls of Array.fromAsync that are under way, by their promises, with the flow that they belong to. */
export const collections = new Map<object, { readonly of: LineState; readonly flow: object | undefined }>();

/** The places in Node.js at which it lets V8 run the reactions that are ready. */
const runners = new Set<string>();

/** To be called in a reaction. */
export function noteRunner(below: (...given: never[]) => unknown): void {
  const place = calledFrom(below);
  if (place !== undefined) runners.add(place);
}

/**
 * The call of Array.fromAsync that has called the code that runs now, if it is certain: code that V8 has called as it calls reactions, in a flow in
 * which one such call, and no other, has got what it waited for.
 */
export function collects(below: (...given: never[]) => unknown): Execution | undefined {
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
    { id: nextId(), of, epoch, isInDrain: of.isInDrain, isOutside: true, behind: 0n, via: undefined, seen },
    promise,
    undefined,
  );
  execution.collection = promise;
  execution.running.push({ code: COLLECTING, promise });
  return execution;
}
