/**
 * The replay engine: one run of a handler, from its start to one of its ends.
 *
 *   handler ──calls──▶ recorded? ──yes──▶ settles at its recorded place ──┐
 *      ▲                  └─no──▶ new: done, recorded, given a place ─────┤
 *      └─────────────── one settlement, then one drain ◀──────────────────┘   … ▶ returned · threw · parked · restarted
 *
 * A handler is ordinary JavaScript with branches, races and loops. What it calls next follows from what settled first. So effects settle one
 * at a time, each settlement gets a place, the place is recorded, and a replay settles in the order of places (I11).
 *
 *   R1  A recorded effect is not done again: its record settles.
 *   R2  Recorded effects settle in the order of their places, each only after everything that was called before it has been called again
 *       (replay/recollection.ts). Until all that is recorded was called and has settled, nothing new is done: a handler that calls something
 *       else instead, or ends, has diverged.
 *   R3  What the handler could see in another order in another run is recorded before a side effect that may follow from it, and so is what
 *       it read from the clock, and the key of a step that was called behind an await of something outside ctx. A step's own result is
 *       recorded before the handler sees it.
 *   R4  The run parks when an ask or a sleep is open and the handler has come to rest: nothing of ctx in flight, and no new effect while the
 *       event loop went idle. So asks that are put together park together.
 *   R5  After its end a run has no effects: what it still calls never settles. What is in flight is told to stop, awaited, and recorded if it
 *       succeeded, so that no step runs beside another run of itself (P5).
 *   R6  What cannot be recorded has not happened: the run throws past the handler, and is begun again when its lease expires.
 *
 * A run that has to wait does not throw: the promise of the ask never settles, so no `catch` of the handler can swallow the pause, and the
 * garbage collector takes the whole run once its end was returned.
 *
 *   replay/course.ts        settlements and drains
 *   replay/recollection.ts  what was recorded, found again by what is called
 *   replay/settling.ts      what settles next
 *   replay/records.ts       what is written, and when      replay/writes.ts      one write after the other
 *   replay/effects.ts       what the handler can do        replay/values.ts      what it may hand over
 *   replay/waits.ts         asks and sleeps                replay/patches.ts     old way or new one
 *   replay/side-effects.ts  steps and calls of tools       replay/steps.ts       tries of a step
 *   replay/flow.ts          whose call it is               replay/unhandled.ts   failures that nobody looked at
 *   replay/rest.ts          parked, or stuck               replay/divergence.ts  what differs from the record
 *   replay/reports.ts       what the run says meanwhile    replay/end.ts         how a run ends
 */
import { canonicalJson } from "./canonical-json.ts";
import { childId } from "./child-id.ts";
import { COMPENSATION } from "./journal.ts";
import { OVER } from "./over.ts";
import { createCourse } from "./replay/course.ts";
import { createDivergence } from "./replay/divergence.ts";
import { createEffects } from "./replay/effects.ts";
import { createEnding, type RunEnd } from "./replay/end.ts";
import { Flow } from "./replay/flow.ts";
import { recollect, type Recollection } from "./replay/recollection.ts";
import { createRecords } from "./replay/records.ts";
import { createReports } from "./replay/reports.ts";
import type { ReplayRequest } from "./replay/request.ts";
import { createRest } from "./replay/rest.ts";
import { createSettling, type Settling } from "./replay/settling.ts";
import { createSideEffects } from "./replay/side-effects.ts";
import { createUnhandled } from "./replay/unhandled.ts";
import { createValues } from "./replay/values.ts";
import { createWaits } from "./replay/waits.ts";
import { createWrites } from "./replay/writes.ts";
import { stopped } from "./run-stopped.ts";
import type { JsonObject } from "./task.ts";

export type { RunEnd } from "./replay/end.ts";
export type { ReplayRequest } from "./replay/request.ts";
export type { FailedStep } from "./replay/steps.ts";

export async function replay(request: ReplayRequest): Promise<RunEnd> {
  const { task, journal, journalSize, handler, signal, ports, settings, compensation } = request;
  if (signal.aborted) return { type: "aborted", entries: [] };
  const { clock, digest, scope } = ports;
  const ending = createEnding();
  const { isOver } = ending;
  /** Aborted when the run is over: timers end, and what is in flight is told to stop. */
  const over = new AbortController();
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();

  // ── its parts ──────────────────────────────────────────────────────────────────────────────────────────────────

  const unhandled = createUnhandled(stop);
  const started = Flow.start(unhandled.strays);
  const flow = compensation ? started.inBranch(COMPENSATION) : started;
  const course = createCourse(clock, () => {
    settling.drained();
    touched();
  });
  const recollected = recollect({ task, journal, scope, start: flow, course });
  const recollection: Recollection = ports.called ? { ...recollected, call: toldTo(recollected, ports.called) } : recollected;
  const writes = createWrites({
    clock,
    ending,
    record: (entries, events) => ports.record(entries, events),
    unwrittenEvents: () => waits.unwrittenEvents(),
  });
  const records = createRecords({ journal, journalSize, settings, record: writes.write, stop });
  const waits = createWaits({
    task,
    settings,
    clock,
    askDigest: (key, request) => ports.askDigest?.(key, request) ?? digest(canonicalJson(request)),
    childId: (key, request) => ports.childId?.(key, request) ?? childId(digest, { id: task.id, seed: task.call.seed }, key, request),
    validate: ports.validate,
    records,
    stop,
    diverged,
    touched,
    settling: () => settling,
    over: over.signal,
  });
  const settling: Settling = createSettling({
    course,
    recollection,
    records,
    journal,
    isOver,
    isHeld: ports.isHeld,
    arrived: () =>
      [...recollection.arrived, ...waits.overdue()].toSorted((a, b) => (a.entry.arrived?.atMs ?? 0) - (b.entry.arrived?.atMs ?? 0)),
  });
  const divergence = createDivergence({ task, recollection, settling });
  const values = createValues(task, settings);
  const sideEffects = createSideEffects({
    task,
    compensation,
    ports,
    clock,
    scope,
    flow,
    settling,
    records,
    values,
    ending,
    over: over.signal,
    ended,
    stop,
    touched,
  });
  const rest = createRest({
    clock,
    settings,
    settling,
    recollection,
    divergence,
    isAtWork: () => sideEffects.isAtWork() || waits.napping() > 0,
    isOver,
    over: over.signal,
    park,
    diverged() {
      const { recorded, found } = divergence.now();
      diverged(recorded, found);
    },
  });
  const reports = createReports(ports, { isOpen: () => !isOver() && settling.isLive(), itemMax: settings.feedItemMax });
  const effects = createEffects({
    task,
    ports,
    scope,
    recollection,
    settling,
    records,
    waits,
    sideEffects,
    reports,
    values,
    divergence,
    unhandled,
    ending,
    over: over.signal,
    stop,
    diverged,
    touched,
  });

  /** Something of ctx has changed. */
  function touched(): void {
    rest.touched();
  }

  // ── ends ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends the run with an error, past every `catch` of the handler. */
  function stop(error: unknown): void {
    if (!isOver()) ending.with({ type: "threw", error, entries: records.take() });
  }

  function diverged(recorded: string, found: string): void {
    if (isOver()) return;
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
    // Nothing is open: the handler is busy with work of its own.
    if (asks.length === 0 && wakeAtMs === undefined) return;
    ending.with({ type: "parked", asks, wakeAtMs, entries: records.take() });
  }

  function aborted(): void {
    const { recorded, found } = divergence.now();
    const diverging = settling.isLive() ? undefined : divergence.error(recorded, found);
    ending.with({ type: "aborted", ...(diverging && { diverging }), entries: [] });
  }

  /** The handler has come to its end: nothing recorded may be left (R2), and nothing rejected may be unheard (P7). */
  async function returned(result: JsonObject): Promise<void> {
    divergence.noteNew("the end of the handler");
    touched();
    await settling.live;
    // Node.js tells of unhandled rejections at the end of the turn.
    await clock.idle();
    const failure = unhandled.first();
    if (failure) return stop(failure);
    try {
      const value = (values.checked("the result", result) ?? {}) as JsonObject;
      if (!isOver()) ending.with({ type: "returned", result: value, entries: records.take() });
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
    void scope.run(flow, async () => handler(effects)).then(returned, threw);
  });

  try {
    const end = await ending.end;
    over.abort(whyOf(end, signal));
    hasEnded();
    await sideEffects.landed(signal);
    await reports.told();
    if (!("entries" in end)) return end;
    // A run that was stopped may not be able to write, and what rests on a write that never came could not be replayed.
    if (end.type !== "aborted") await writes.done();
    else if (!(await writes.isDone())) return end;
    // They have settled for no handler: the next run finds them like answers that came.
    const arrived = { atMs: clock.now(), revision: 0 };
    const left = [...settling.leftOver(), ...sideEffects.outlived()].map(({ id, entry }) => ({ key: id, entry: { ...entry, arrived } }));
    return { ...end, entries: [...end.entries, ...records.take(), ...left] };
  } finally {
    over.abort(OVER);
    signal.removeEventListener("abort", aborted);
  }
}

function toldTo(recollection: Recollection, tell: (id: string) => void): Recollection["call"] {
  return (kind, name) => {
    const call = recollection.call(kind, name);
    tell(call.id);
    return call;
  };
}

function whyOf(end: RunEnd, signal: AbortSignal): unknown {
  if (end.type === "aborted") return signal.reason;
  return stopped(end.type === "returned" || end.type === "restarted" || end.type === "parked" ? "ended" : "failed");
}
