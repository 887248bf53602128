/**
 * The replay engine: one run of a handler, from its first line to one of its ends.
 *
 *   handler ──calls──▶ recorded? ──yes──▶ settles at its recorded place ────────┐
 *      ▲                  └─no──▶ new: done, recorded, settles at the next place ┤
 *      └───────────── one settlement, then one drain ◀──────────────────────────┘   … ▶ returned · threw · parked · restarted
 *
 * A handler is ordinary JavaScript with branches, races and loops, and what it calls next depends on what settled first. Effects therefore
 * settle one at a time. Each settlement gets a place, the place is recorded, and a replay settles effects in the order of their places (I11).
 *
 *   R1  A recorded effect is not repeated. It settles with its record.
 *   R2  Recorded effects settle in the order of their places. Each one waits until every call that preceded it has been made again
 *       (replay/recollection.ts). The run does nothing new until every recorded call has been made again and has settled. A handler that
 *       calls something else instead, or ends, has diverged.
 *   R3  Before a side effect begins, everything it may depend on and another run could see differently is recorded: the order of
 *       settlements and clock readings. A step's own result is recorded before the handler sees it, unless it is `isRecordedLater`: then it is
 *       recorded before the next side effect.
 *   R4  The run parks when something is open (an ask, an event, a call or a sleep) and the handler is at rest: no effect is in flight, and a
 *       turn of the event loop brought no new one. Asks that are made together therefore park together.
 *   R5  A run that has ended has no more effects: calls made after its end never settle. Work in flight is told to stop, awaited, and
 *       recorded if it succeeds, so that no step is ever at work in two runs at once.
 *   R6  A write that fails ends the run, and the handler never sees the failure. Another run begins when the lease expires.
 *   R7  Nothing new settles and no side effect begins unless the run is sure to hold its task (I5).
 *
 * A run that has to wait does not throw. The promise of the ask never settles, so no `catch` in the handler can intercept the pause, and the
 * garbage collector reclaims the whole run once its end has been returned.
 *
 *   replay/course.ts          settlements and drains                    replay/end.ts             how a run ends
 *   replay/line.ts            what code awaits, one by one              replay/flow.ts            which names and run a call belongs to
 *   replay/running-code.ts    the code that runs now                    replay/promise-marks.ts   what is known of promises
 *   replay/tracing.ts         what each function awaits                 replay/frames.ts          stacks and frames
 *   replay/recorded-calls.ts  what earlier runs called                  replay/divergence.ts      how the handler departs from the journal
 *   replay/recollection.ts    matches calls with their records          replay/run.ts             what all of these have at hand
 *   replay/settling.ts        what settles next                         replay/writes.ts          one write after another
 *   replay/records.ts         what is written, and when                 replay/values.ts          what may be recorded or reported
 *   replay/effects.ts         the effects that a handler calls          replay/effect-promise.ts  what the handler awaits
 *   replay/side-effects.ts    steps and calls of other tools            replay/steps.ts           the attempts of one step
 *   replay/waits.ts           asks, events, calls and sleeps            replay/patches.ts         old code path or new one
 *   replay/at-rest.ts         when to park, and when to give up         replay/unhandled.ts       failures that no code handled
 *   replay/reports.ts         progress, logs and status                 replay/derived-values.ts  random numbers and UUIDs
 *   replay/request.ts         what a run is given                       replay/call-site.ts       where the code of a tool called ctx
 */
import { openOf } from "./task.ts";
import { COMPENSATION, entryKey, type KeyedEntry, readingKey } from "./journal.ts";
import { OVER } from "./wait-over.ts";
import { createCourse } from "./replay/course.ts";
import { createDivergence } from "./replay/divergence.ts";
import { createEffects } from "./replay/effects.ts";
import { createEnding, type RunEnd } from "./replay/end.ts";
import { Flow } from "./replay/flow.ts";
import { createLine, createSequentialLine } from "./replay/line.ts";
import { recollect, type Recollection } from "./replay/recollection.ts";
import { readRecordedCalls } from "./replay/recorded-calls.ts";
import { createRecords } from "./replay/records.ts";
import { createReports } from "./replay/reports.ts";
import type { ReplayRequest } from "./replay/request.ts";
import { createRest } from "./replay/at-rest.ts";
import type { Run } from "./replay/run.ts";
import { createSettling, type Settling } from "./replay/settling.ts";
import { createSideEffects } from "./replay/side-effects.ts";
import { createUnhandled } from "./replay/unhandled.ts";
import { createValues } from "./replay/values.ts";
import { createWaits } from "./replay/waits.ts";
import { createWrites } from "./replay/writes.ts";
import { stopped } from "./run-stopped.ts";
import type { Effects } from "./effects.ts";
import type { JsonObject } from "./task.ts";

export type { RunEnd } from "./replay/end.ts";
export type { ReplayRequest } from "./replay/request.ts";
export type { FailedStep } from "./replay/steps.ts";

/**
 * Tasks of a process of which it is remembered how many runs have been thrown away. More than a process has under way: with fewer, tasks that wait in turn
 * for the same slow service would make each other forgotten, and none would ever wait long enough.
 */
const THROWN_AWAY_MAX = 10_000;

/** How many times as long the next run of such a task may wait. */
const LONGER_EACH_TIME = 4;

/**
 * Runs the handler once. The caller writes what the returned end says; entries that had to be written earlier have been.
 * Rejects if a write failed (R6), or a report.
 */
export async function replay(request: ReplayRequest): Promise<RunEnd> {
  const { task, journal, journalSize, handler, signal, ports, settings, compensation } = request;
  if (signal.aborted) return { type: "aborted", entries: [] };
  const { clock, scope } = ports;
  const ending = createEnding();
  const { isOver } = ending;
  const over = new AbortController();
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
  const run: Run = { ...request, ending, over: over.signal, stop, diverged, touched };

  // ── the parts ──────────────────────────────────────────────────────────────────────────────────────────────────

  const unhandled = createUnhandled(stop);
  const started = Flow.start(unhandled.strays);
  const flow = compensation ? started.inBranch(COMPENSATION) : started;
  const recorded = readRecordedCalls(task, journal);
  const handlerId = `${task.call.kind} ${task.call.name}`;
  const isTraced = compensation !== undefined || recorded.hasOutside || recorded.hasItems || !scope.awaitOnlyCtx.has(handlerId);
  const line = request.isSequential ? createSequentialLine() : createLine(scope, isTraced, (serial) => recollected.doneForOther(serial));
  const course = createCourse({
    clock,
    line,
    drained() {
      settling.drained();
      touched();
    },
  });
  const recollected: Recollection = recollect({ task, journal, recorded, scope, start: flow, course, line, traceFirst, refuse });
  const recollection: Recollection = ports.called ? { ...recollected, ...reportingCalls(recollected, ports.called) } : recollected;
  const writes = createWrites({
    clock,
    ending,
    record: (entries, events) => ports.record(entries, events),
    unwrittenEvents: () => waits.unwrittenEvents(),
  });
  const isOutOfTurn = () => settling.isOutOfTurn();
  const records = createRecords({ journal, journalSize, settings, record: writes.write, isOutOfTurn, stop });
  const waits = createWaits(run, { records, settling: () => settling });
  const settling: Settling = createSettling({
    course,
    recollection,
    records,
    journal,
    isOver,
    isHeld: ports.isHeld,
    mayCallMeanwhile: () => request.isSequential !== true && (line.awaitsOutside() || line.hasOutsideBeside()),
    arrived: () =>
      [...recollection.arrived, ...waits.overdue()].toSorted((a, b) => (a.entry.arrived?.atMs ?? 0) - (b.entry.arrived?.atMs ?? 0)),
  });
  const divergence = createDivergence({ task, recollection, settling, line });
  const values = createValues(task, settings);
  const sideEffects = createSideEffects(run, { flow, line, settling, records, values, ended });
  const isAtWork = () => sideEffects.isAtWork() || waits.isNapping();
  const rest = createRest(run, { settling, recollection, line, divergence, isAtWork, park, traceFirst, lockWaitMs, startOver });
  const reports = createReports(ports, { isOpen: () => !isOver() && settling.isLive(), itemMax: settings.feedItemMax });
  const effects = createEffects(run, { line, recollection, settling, records, waits, sideEffects, reports, values, divergence, unhandled });

  function touched(): void {
    rest.touched();
  }

  // ── ends ───────────────────────────────────────────────────────────────────────────────────────────────────────

  function stop(error: unknown): void {
    if (isOver()) return;
    if (settling.isOutOfTurn()) startOver();
    else refuse(error);
  }

  function refuse(error: unknown): void {
    const { kind, name } = task.call;
    ending.with({ type: "threw", error: values.withoutSecrets(`the error of ${kind} ${name}`, error), entries: noted() });
  }

  function diverged(recorded?: string, found?: string): void {
    if (settling.isOutOfTurn()) return startOver();
    const thrown = divergence.thrown();
    ending.with({
      type: "diverged",
      error: divergence.error(recorded, found),
      patches: divergence.patchesAhead(),
      ...(thrown && { thrown }),
    });
  }

  function park(): void {
    const asks = waits.asks();
    const wakeAtMs = waits.wakeAtMs();
    // Nothing is open: the handler awaits something outside ctx.
    if (asks.length === 0 && wakeAtMs === undefined) return;
    ending.with({ type: "parked", asks, wakeAtMs, entries: records.take() });
  }

  /** The next run follows the handler more closely (line.ts). Every run would, but few handlers need it, and it costs. */
  function traceFirst(): void {
    scope.awaitOnlyCtx.delete(handlerId);
    // A question may show what is noted beside it, and is asked only if that is kept.
    const asks = settling.isLive() ? waits.asks() : openOf(task);
    ending.with({ type: "parked", asks, wakeAtMs: clock.now(), isAgain: true, entries: noted() });
  }

  function lockWaitMs(): number {
    return settings.divergenceWaitMs * LONGER_EACH_TIME ** (scope.thrownAway.get(task.id) ?? 0);
  }

  function startOver(): void {
    const { thrownAway } = scope;
    const times = thrownAway.get(task.id) ?? 0;
    thrownAway.delete(task.id);
    thrownAway.set(task.id, times + 1);
    const [oldest] = thrownAway.keys();
    if (thrownAway.size > THROWN_AWAY_MAX && oldest !== undefined) thrownAway.delete(oldest);
    ending.with({ type: "parked", asks: openOf(task), wakeAtMs: clock.now(), isAgain: true, entries: noted() });
  }

  /**
   * What is to be written with the end. What a run has called that has not caught up with its records may come in another order in the next one, which
   * would wait for it in this one.
   */
  function noted(): KeyedEntry[] {
    return settling.isLive() ? records.take() : notBinding(records.take());
  }

  function aborted(): void {
    const diverging = settling.isLive() ? undefined : divergence.error();
    ending.with({ type: "aborted", ...(diverging && { diverging }), entries: [] });
  }

  /** The handler returned. Every recorded call must have been made again (R2), and every failure must have been handled (I12). */
  async function returned(result: JsonObject): Promise<void> {
    divergence.noteNew("the end of the handler");
    touched();
    await settling.live;
    // Node.js reports unhandled rejections at the end of the turn.
    await clock.idle();
    const failure = unhandled.first() ?? unhandled.notAwaited();
    if (failure) return stop(failure);
    try {
      const value = (values.checked("the result", result) ?? {}) as JsonObject;
      if (isOver()) return;
      ending.with({ type: "returned", result: value, entries: records.take() });
      if (!recollection.hasOutside() && !recollection.hasItems()) scope.awaitOnlyCtx.add(handlerId);
    } catch (error) {
      stop(error);
    }
  }

  async function threw(error: unknown): Promise<void> {
    divergence.noteThrown(error);
    touched();
    await settling.live;
    stop(error);
  }

  // ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────

  signal.addEventListener("abort", aborted, { once: true });
  course.start(() => {
    void scope.run(flow, () => line.enter(flow.branch, flow.branch, () => startHandler(handler, effects))).then(returned, threw);
  });

  try {
    const end = await ending.end;
    over.abort(stopReason(end, signal));
    hasEnded();
    await sideEffects.landed(signal);
    await reports.sent();
    if (!("entries" in end)) return end;
    // A stopped run may be unable to write, and results that depend on a missing write could not be replayed.
    if (end.type !== "aborted") await writes.done();
    else if (!(await writes.isDone())) return end;
    // These results have settled for no handler. The next run finds them as it finds answers that arrived in between.
    const arrived = { atMs: clock.now(), revision: 0 };
    const left = settling.leftOver().map(({ id, entry }) => ({ key: id, entry: { ...entry, arrived } }));
    return { ...end, entries: [...end.entries, ...noted(), ...left] };
  } finally {
    over.abort(OVER);
    line.end();
    signal.removeEventListener("abort", aborted);
  }
}

function startHandler(handler: ReplayRequest["handler"], effects: Effects): Promise<JsonObject> {
  try {
    return handler(effects);
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** Of the notes of a run that is thrown away, what may be kept because it binds no later run: when the sleeps end that it has begun. */
function notBinding(entries: readonly KeyedEntry[]): KeyedEntry[] {
  const begun = entries.filter(({ key, entry }) => key.startsWith(entryKey("sleep", "")) && entry.place === undefined);
  return begun.map(({ key, entry }) => ({ key: readingKey(key), entry }));
}

function reportingCalls({ begin }: Recollection, called: (id: string) => void): Pick<Recollection, "begin" | "call"> {
  const reporting: Recollection["begin"] = (kind, name, promise) => {
    const begun = begin(kind, name, promise);
    return {
      ...begun,
      take() {
        const call = begun.take();
        called(call.id);
        return call;
      },
    };
  };
  return { begin: reporting, call: (kind, name) => reporting(kind, name).take() };
}

function stopReason(end: RunEnd, signal: AbortSignal): unknown {
  if (end.type === "aborted") return signal.reason;
  return stopped(end.type === "returned" || end.type === "restarted" || end.type === "parked" ? "ended" : "failed");
}
