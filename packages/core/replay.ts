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
 *   replay/records.ts       what is written, and when
 *   replay/waits.ts         asks and sleeps          replay/steps.ts    side effects
 *   replay/flow.ts          whose call it is         replay/reports.ts  what the run says meanwhile
 *   replay/patches.ts       old way or new one
 */
import { canonicalJson, throughJson } from "./canonical-json.ts";
import { childId } from "./child-id.ts";
import type { CallOptions, ChildEnd, Effects, Settled, StepAttempt, StepOptions, ToolCall } from "./effects.ts";
import { type ErrorCode, ParleyError, StepFailed, ToolError } from "./errors.ts";
import { hasEventToken } from "./event-token.ts";
import { COMPENSATION, entryKey, type EntryOutcome, type Journal, type KeyedEntry } from "./journal.ts";
import { OVER } from "./over.ts";
import type { Clock, Digest, Scope, ValidateSchema } from "./ports.ts";
import { stopped } from "./run-stopped.ts";
import { createCourse, isFromOutside } from "./replay/course.ts";
import { derivedRandom, derivedUuid } from "./replay/derived.ts";
import { type EffectPromise, forever, type Pending, pendingEffect } from "./replay/effect-promise.ts";
import { createEnding, type RunEnd } from "./replay/end.ts";
import { Flow } from "./replay/flow.ts";
import { type Call, type CalledKind, recollect, type Recollection, type Recorded } from "./replay/recollection.ts";
import { createPatches } from "./replay/patches.ts";
import { createRecords } from "./replay/records.ts";
import { createReports, type ReportPorts } from "./replay/reports.ts";
import { createSettling, type Settling } from "./replay/settling.ts";
import { type FailedTry, HEED_SIGNAL_MS, isFinal, PARLEY_ERROR, TOOL_ERROR, tryStep } from "./replay/steps.ts";
import { type Asked, createWaits, type NewCall } from "./replay/waits.ts";
import type { Settings } from "./settings.ts";
import {
  type AskRequest,
  type AwaitedCall,
  type EventRequest,
  type Json,
  type JsonObject,
  type Open,
  openOf,
  type TaskAtWork,
} from "./task.ts";

export type { RunEnd } from "./replay/end.ts";

export interface ReplayRequest {
  readonly task: TaskAtWork;
  readonly journal: Journal;
  /** Characters of JSON that the journal holds. */
  readonly journalSize: number;
  readonly handler: (effects: Effects) => Promise<JsonObject>;
  /** Aborted when the run must stop; the run then ends as `aborted`. */
  readonly signal: AbortSignal;
  /** The last run of a task that ended without its result: names of its effects are apart from those of the runs before. */
  readonly compensation?: { /** No further try follows: steps that fail are recorded as failed. */ readonly isLastTry: boolean };
  readonly ports: ReportPorts & {
    readonly clock: Clock;
    readonly scope: Scope;
    readonly digest: Digest;
    readonly validate: ValidateSchema;
    /** Throws, or aborts `signal`, when the run no longer holds its task; so do `report` and `announce`. */
    record(entries: readonly KeyedEntry[], asks: readonly Open[]): Promise<void>;
    /** Effects' own. */
    readonly tokenOf: (key: string) => { readonly token: string; readonly url: string };
    /** Whether the run holds its task for sure (P6), renewing its hold if there is doubt. If not, aborts `signal`. */
    isHeld(): boolean | Promise<boolean>;
    /** Effects' own. */
    deposit(key: string): Promise<string>;
    readonly accessToken: Effects["accessToken"];
    readonly openFile: Effects["openFile"];
    /** For the log: a try of a step failed. */
    stepFailed(failure: FailedStep): void;
    /** The digest of a question, for those who replay what they can no longer compare with what was asked. */
    askDigest?(key: string, request: AskRequest | EventRequest): string;
    /** The id of a call's child, for the same. */
    childId?(key: string, request: ToolCall): string;
    /**
     * Makes the child and opens the call, in one change. An error of CALL_ERRORS is what became of the call; anything else ends the run. Aborts `signal`
     * when the run no longer holds its task.
     */
    startChild(open: AwaitedCall, request: ToolCall): Promise<void>;
    /** Told of each call of the handler, by its entry's key. */
    called?(id: string): void;
  };
  readonly settings: Settings;
}

export interface FailedStep extends FailedTry {
  /** Its key: the name, with `#2`, `#3` … for later steps of that name. */
  readonly step: string;
  /** Under which the error is to be logged: the same in every run, so that a caller who is told of it in a later one leads to the line. */
  readonly defectId: string;
}

/** What a call can come to instead of a child. */
const CALL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  "INVALID_ARGUMENTS",
  "TOO_LARGE",
  "TOOL_NOT_FOUND",
  "QUOTA_EXCEEDED",
  "CHILD_REFUSED",
]);

/** What was at hand when it was recorded may have to be fetched now, by a handler that awaits things outside ctx: how much longer it has. */
const PATIENCE_OUTSIDE = 12;

/** How often a run that waits for recorded work to be called again looks: soon at first, then each second. */
const CATCH_UP_FIRST_MS = 10;
const CATCH_UP_MAX_MS = 1_000;

export async function replay(request: ReplayRequest): Promise<RunEnd> {
  const { task, journal, journalSize, handler, signal, ports, settings, compensation } = request;
  if (signal.aborted) return { type: "aborted", entries: [] };
  const { clock, digest, scope } = ports;
  const ending = createEnding();
  const { isOver } = ending;
  /** Aborted when the run is over: timers end, and what is in flight is told to stop. */
  const over = new AbortController();

  const started = Flow.start({
    rejected: (promise, error) => void unhandled.set(promise, error),
    handled: (promise) => void unhandled.delete(promise),
    threw: (error) => stop(unhandledError("a callback threw", error)),
  });
  const flow = compensation ? started.inBranch(COMPENSATION) : started;
  const course = createCourse(clock, () => {
    settling.drained();
    touched();
  });
  const recollected = recollect({ task, journal, scope, start: flow, course });
  const recollection: Recollection = ports.called ? { ...recollected, call: toldTo(recollected, ports.called) } : recollected;
  const records = createRecords({ journal, journalSize, settings, record, stop });
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
  const reports = createReports(ports, { isOpen: () => !isOver() && settling.isLive(), itemMax: settings.feedItemMax });

  // ── ends ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends the run with an error, past every `catch` of the handler. */
  function stop(error: unknown): void {
    if (!isOver()) ending.with({ type: "threw", error, entries: records.take() });
  }

  function diverged(recorded: string, found: string): void {
    if (isOver()) return;
    ending.with({ type: "diverged", error: divergence(recorded, found), patches: patchesAhead(), ...(thrown && { thrown }) });
  }

  function divergence(recorded: string, found: string): ParleyError {
    const message = `replay diverged in ${task.call.kind} ${task.call.name}: recorded ${recorded}, found ${found}`;
    return new ParleyError("REPLAY_DIVERGED", message, { data: { recorded, found }, ...(thrown && { cause: thrown.error }) });
  }

  /** What the handler threw while recorded work had not been called again: what it awaited outside ctx may work in the next run. */
  let thrown: { readonly error: unknown } | undefined;

  /** Recorded decisions that the handler has not asked for. */
  function patchesAhead(): string[] {
    const prefix = entryKey("patch", "");
    return [...recollection.ahead].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
  }

  /** A store that is away is no failure of the step: the handler must not see it, or it would end the task (R6). */
  async function record(entries: readonly KeyedEntry[]): Promise<void> {
    const events = waits.unwrittenEvents();
    writing = writing.then(() => ports.record(entries, events));
    try {
      await writing;
    } catch (error) {
      ending.fail(error);
    }
    // What was not recorded is not acted on.
    if (isOver()) await forever();
  }
  /** One write after the other, and none behind one that failed: no place is recorded without those before it. */
  let writing: Promise<void> = Promise.resolve();

  // ── coming to rest ─────────────────────────────────────────────────────────────────────────────────────────────

  const inFlight = new Set<Promise<void>>();
  /** The first thing that the handler did which no record tells of. */
  let unrecorded: string | undefined;
  let activity = 0;
  let isWatching = false;

  function touched(): void {
    activity += 1;
    if (!isWatching && !isOver()) void watch();
  }

  /** Parks the run when it has come to rest (R4), and ends it when it does not come back to what was recorded (R2). */
  async function watch(): Promise<void> {
    isWatching = true;
    let stuckAtMs: number | undefined;
    let lookMs = CATCH_UP_FIRST_MS;
    let seen = activity;
    for (;;) {
      await clock.idle();
      // Everything that continues now touches again when it is done.
      if (isOver() || settling.isBusy()) break;
      // Since the last look, however long ago: a run that comes further has its patience anew.
      if (activity !== seen) {
        seen = activity;
        stuckAtMs = undefined;
        continue;
      }
      if (settling.isLive()) {
        if (inFlight.size === 0 && waits.napping() === 0) park();
        break;
      }
      // The handler is busy with work of its own, and has done nothing that was not recorded: it has all the time of the run. One that has
      // passed a recorded decision without a word is older code, and need not keep its worker as long.
      if (unrecorded === undefined && patchesAhead().length === 0) break;
      stuckAtMs ??= clock.now();
      // A branch that awaits something outside ctx has its time too: a false alarm would fail a sound task.
      const patienceMs = settings.divergenceWaitMs * (recollection.hasOutside() ? PATIENCE_OUTSIDE : 1);
      if (!recollection.isAheadOutside() && clock.now() - stuckAtMs >= patienceMs) {
        diverged(settling.missing(), unrecorded ?? "nothing new");
        break;
      }
      await clock.sleep(lookMs, over.signal);
      lookMs = Math.min(2 * lookMs, CATCH_UP_MAX_MS);
    }
    isWatching = false;
  }

  function park(): void {
    const asks = waits.asks();
    const wakeAtMs = waits.wakeAtMs();
    // Nothing is open: the handler is busy with work of its own.
    if (asks.length === 0 && wakeAtMs === undefined) return;
    ending.with({ type: "parked", asks, wakeAtMs, entries: records.take() });
  }

  // ── effects ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Rejections that the handler has been told of, by the effect that was rejected. */
  const rejections = new Map<EffectPromise<unknown>, { readonly what: string; readonly error: unknown }>();
  const unhandled = new Map<object, unknown>();

  /** Calls an effect that settles later; `wait` says by what. */
  function effect<T>(kind: CalledKind, name: string, wait: (call: Call, pending: Pending<T>) => void): Promise<T> {
    if (isOver()) return forever();
    const pending = pendingEffect<T>();
    const { promise } = pending;
    let call: Call;
    try {
      call = called(kind, name);
    } catch (error) {
      rejections.set(promise, { what: `${kind} ${name}`, error });
      pending.reject(error);
      return promise;
    }
    const noted: Pending<T> = {
      ...pending,
      reject(error) {
        rejections.set(promise, { what: call.id, error });
        pending.reject(error);
      },
    };
    try {
      wait(call, noted);
    } catch (error) {
      noted.reject(error);
    }
    touched();
    settling.advance();
    return promise;
  }

  function called(kind: CalledKind, name: string): Call {
    try {
      const call = recollection.call(kind, name);
      const isOpen = (kind === "ask" || kind === "event" || kind === "call") && openOf(task).some(({ key }) => key === call.key);
      const isRecorded = call.entry !== undefined || isOpen;
      if (!isRecorded && kind !== "random" && kind !== "uuid") unrecorded ??= `new ${call.id}`;
      return call;
    } catch (error) {
      if (error instanceof ParleyError && error.code === "AMBIGUOUS_EFFECT") stop(error);
      throw error;
    }
  }

  function step(name: string, work: (attempt: StepAttempt) => unknown, options: StepOptions = {}): Promise<Json | undefined> {
    return effect<Json | undefined>("step", name, (call, { resolve, reject }) => {
      settling.await(call.id, {
        isWithdrawn: () => false,
        settle({ outcome }) {
          if (outcome.type === "value") resolve(outcome.value);
          else reject(stepError(name, outcome, defectIdOf(call)));
        },
      });
      if (call.entry && call.entry.outcome.type !== "begun") return;
      const running = doStep(call, work, options).finally(() => {
        inFlight.delete(running);
        touched();
      });
      inFlight.add(running);
    });
  }

  async function doStep(call: Call, work: (attempt: StepAttempt) => unknown, options: StepOptions): Promise<void> {
    const { id, key, calledAt, effectKey } = call;
    await Promise.race([settling.live, ended]);
    if (!settling.isCalm()) await Promise.race([settling.calm(), ended]);
    if (isOver()) return;
    const inStep = flow.inStep(key);
    // Another run could give the key of such a call to another one, and a key is what a side effect is known by: it is written first (R3).
    if (isFromOutside(calledAt) && !call.entry) {
      records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "begun" } } });
      records.mustBeSaved();
    }
    let failedWith: unknown;
    const outcome = await tryStep({
      key,
      options,
      clock,
      idempotencyKey: `${task.id}.${effectKey}`,
      work: (attempt) => scope.run(inStep, () => work(attempt)),
      signal: over.signal,
      checked: (value) => checked(`the result of step ${key}`, value),
      failed(failure) {
        failedWith = failure.error;
        ports.stepFailed({ ...failure, step: key, defectId: defectIdOf(call) });
      },
      mayAct() {
        if (isOver()) return false;
        // Other branches settle, and read the clock, while this one waits: each wait is followed by another look (R3).
        if (!settling.isCalm()) return Promise.race([settling.calm(), ended]).then(() => !isOver());
        if (!records.isSaved()) return Promise.race([records.saved(), ended]).then(() => !isOver());
        return ports.isHeld();
      },
    });
    if (outcome === undefined) return;
    // The compensation is tried again, and this step with it.
    if (compensation?.isLastTry === false && outcome.type === "error" && !isFinal(failedWith))
      return stop(stepError(call.key, outcome, defectIdOf(call)));
    const entry = { digest: "", calledAt, outcome };
    if (!isOver()) settling.add({ id, entry, isStep: true });
    else if (outcome.type === "value") outlived.push({ id, entry });
  }

  function defectIdOf({ id }: Call): string {
    return derivedUuid(digest, task.call.seed, `failure ${id}`);
  }

  /** Results of steps that outlived the handler: a run that tries again must not do them again (R5). */
  const outlived: Recorded[] = [];

  function checked(what: string, value: unknown): Json | undefined {
    let stored: ReturnType<typeof throughJson>;
    try {
      stored = throughJson(value);
    } catch (cause) {
      throw new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data`, { cause });
    }
    assertNoToken(what, stored.text);
    const { length } = stored.text;
    if (length > settings.storedValueMax) {
      throw new ParleyError(
        "TOO_LARGE",
        `${what} has ${length} characters of JSON; the limit is ${settings.storedValueMax} (PARLEY_STORED_VALUE_MAX)`,
      );
    }
    return stored.value;
  }

  /** Whether this run has given out tokens, which stand in nothing that is recorded or told. */
  let hasTokens = false;

  function assertNoToken(what: string, text: string): void {
    if (!hasTokens || !hasEventToken(task.id, text)) return;
    throw new ParleyError("EVENT_TOKEN_MISPLACED", `${what} holds the token of an event`);
  }

  function now(name = "now"): number {
    const { id, calledAt, entry } = called("now", name);
    touched();
    settling.advance();
    if (entry?.outcome.type === "value") return entry.outcome.value as number;
    const value = clock.now();
    records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "value", value } } });
    records.mustBeSaved();
    return value;
  }

  const patches = createPatches({
    call: recollection.call,
    scoped: recollection.scoped,
    records,
    isLive: settling.isLive,
    diverged,
    called() {
      touched();
      settling.advance();
    },
  });

  /** Adds nothing to the microtasks that `work` takes: a race is decided as it would be without. */
  function inBranch<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return scope.run(recollection.branch(key), work);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  async function restart(args: JsonObject): Promise<never> {
    unrecorded ??= "a restart";
    touched();
    await settling.live;
    if (!isOver()) ending.with({ type: "restarted", arguments: checked("the arguments of the restart", args) as JsonObject });
    return forever();
  }

  function ask(kind: "ask" | "event", name: string, asking: (call: Call) => Asked): Promise<Settled> {
    return effect<Settled>(kind, name, (call, pending) => waits.ask(call, pending, asking(call)));
  }

  function asked<R extends AskRequest | EventRequest>(call: Call, request: R): R {
    return checked(`the ask ${call.key}`, request) as R;
  }

  function callTool(name: string, request: ToolCall, options: CallOptions = {}): Promise<ChildEnd> {
    return effect<ChildEnd>("call", name, (call, pending) => {
      const toCall = checked(`the call ${call.key}`, request) as unknown as ToolCall;
      const made = waits.call(call, pending, { request: toCall, options });
      if (!made) return;
      const starting = startChild(call, made, toCall).finally(() => {
        inFlight.delete(starting);
        touched();
      });
      inFlight.add(starting);
    });
  }

  /** A side effect like a step's, but for its record: the store makes the child and opens the call in one change. */
  async function startChild({ id }: Call, { open, made }: NewCall, request: ToolCall): Promise<void> {
    // The open call says what had settled before it: a next run that did not find that settled could never call again.
    records.mustBeSavedIfNoted();
    await Promise.race([settling.live, ended]);
    // Other branches settle while this one waits: each wait is followed by another look (R3).
    while (!isOver() && !(settling.isCalm() && records.isSaved())) {
      if (!settling.isCalm()) await Promise.race([settling.calm(), ended]);
      else await Promise.race([records.saved(), ended]);
    }
    if (isOver() || !settling.isWaitedFor(id) || !(await ports.isHeld()) || isOver()) return;
    try {
      await ports.startChild(open, request);
      if (!isOver()) made();
    } catch (error) {
      if (!(error instanceof ParleyError && CALL_ERRORS.has(error.code))) return ending.fail(error);
      const { code, message } = error;
      const entry = { digest: open.digest, calledAt: open.calledAt, outcome: { type: "error", name: code, message } } as const;
      // Another run could be told something else: it is written before the handler sees it (R3).
      if (!isOver() && settling.isWaitedFor(id)) settling.add({ id, entry, isStep: true });
    }
  }

  const effects: Effects = {
    taskId: task.id,
    call: task.call,
    signal: over.signal,
    ask: (name, request, options = {}) => ask("ask", name, (call) => ({ request: asked(call, request), options })),
    event(name, request, options = {}) {
      let key: string | undefined;
      const answer = ask("event", name, (call) => {
        key = call.key;
        return { request: asked(call, request), options };
      });
      hasTokens = true;
      // After its end a run gives out nothing.
      return { ...(key === undefined ? { token: "", url: "" } : ports.tokenOf(key)), answer };
    },
    callTool,
    step,
    sleep: (name, ms, options = {}) => effect("sleep", name, (call, pending) => waits.sleep(call, pending, { ms, options })),
    now,
    random: (name = "random") => derivedRandom(digest, task.call.seed, called("random", name).id),
    uuid: (name = "uuid") => derivedUuid(digest, task.call.seed, called("uuid", name).id),
    patched: patches.decide,
    deprecatePatch: patches.deprecate,
    branch: inBranch,
    answeredBy: (name) => waits.answeredBy(recollection.scoped("ask", name)),
    deposit: (key) => ports.deposit(key),
    accessToken: ports.accessToken,
    openFile: ports.openFile,
    restart,
    report(item) {
      if (hasTokens) assertNoToken(`a ${item.type}`, JSON.stringify(item));
      reports.item(item);
    },
    status(message) {
      assertNoToken("the status", message);
      reports.message(message);
    },
    immediateResponse(text) {
      assertNoToken("the immediate response", text);
      reports.immediateResponse(text);
    },
    announce: reports.announce,
  };

  // ── the run ────────────────────────────────────────────────────────────────────────────────────────────────────

  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();

  const onAbort = () => {
    const diverging = settling.isLive() ? undefined : divergence(settling.missing(), unrecorded ?? "nothing new");
    ending.with({ type: "aborted", ...(diverging && { diverging }), entries: [] });
  };
  signal.addEventListener("abort", onAbort, { once: true });

  /** The handler has come to its end: nothing recorded may be left (R2), and nothing rejected may be unheard (P7). */
  async function returned(result: JsonObject): Promise<void> {
    unrecorded ??= "the end of the handler";
    touched();
    await settling.live;
    // Node.js tells of unhandled rejections at the end of the turn.
    await clock.idle();
    const unheard = [...rejections].find(([promise]) => !promise.isHeard);
    const [rejection] = unhandled;
    if (unheard) return stop(unhandledError(`nobody awaited ${unheard[1].what}, which failed`, unheard[1].error));
    if (rejection) return stop(unhandledError("a promise was rejected and nobody handled it", rejection[1]));
    try {
      const value = (checked("the result", result) ?? {}) as JsonObject;
      if (!isOver()) ending.with({ type: "returned", result: value, entries: records.take() });
    } catch (error) {
      stop(error);
    }
  }

  async function threw(error: unknown): Promise<void> {
    unrecorded ??= "the end of the handler";
    if (!settling.isLive()) thrown = { error };
    touched();
    await settling.live;
    stop(error);
  }

  course.start(() => {
    void scope.run(flow, async () => handler(effects)).then(returned, threw);
  });

  try {
    const end = await ending.end;
    over.abort(whyOf(end, signal));
    hasEnded();
    await landed();
    await reports.told();
    if (!("entries" in end)) return end;
    // A run that was stopped may not be able to write, and what rests on a write that never came could not be replayed.
    if (end.type !== "aborted") await writing;
    else if (!(await isWritten())) return end;
    // They have settled for no handler: the next run finds them like answers that came.
    const arrived = { atMs: clock.now(), revision: 0 };
    const left = [...settling.leftOver(), ...outlived].map(({ id, entry }) => ({ key: id, entry: { ...entry, arrived } }));
    return { ...end, entries: [...end.entries, ...records.take(), ...left] };
  } finally {
    over.abort(OVER);
    signal.removeEventListener("abort", onAbort);
  }

  /** Whether every write has come through. One that is on its way is waited for, for a while. */
  async function isWritten(): Promise<boolean> {
    const waited = new AbortController();
    const written = writing.then(
      () => true,
      () => false,
    );
    void written.then(() => waited.abort(OVER));
    return await Promise.race([written, clock.sleep(HEED_SIGNAL_MS, waited.signal).then(() => false)]);
  }

  /** Waits for what is in flight. Work that does not heed its signal is waited for while the run has time, and then left behind. */
  async function landed(): Promise<void> {
    if (inFlight.size === 0) return;
    const all = Promise.allSettled(inFlight);
    const waited = new AbortController();
    void all.then(() => waited.abort(OVER));
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([all, aborted.then(() => clock.sleep(HEED_SIGNAL_MS, waited.signal))]);
  }
}

function toldTo(recollection: Recollection, tell: (id: string) => void): Recollection["call"] {
  return (kind, name) => {
    const call = recollection.call(kind, name);
    tell(call.id);
    return call;
  };
}

function stepError(name: string, outcome: EntryOutcome, defectId: string): Error {
  if (outcome.type !== "error") return new Error(`step ${name} is recorded as ${outcome.type}`);
  if (outcome.name === TOOL_ERROR) return new ToolError(outcome.message);
  return new StepFailed(name, outcome.message, { defectId, isForCaller: outcome.name === PARLEY_ERROR });
}

function whyOf(end: RunEnd, signal: AbortSignal): unknown {
  if (end.type === "aborted") return signal.reason;
  return stopped(end.type === "returned" || end.type === "restarted" || end.type === "parked" ? "ended" : "failed");
}

function unhandledError(what: string, cause: unknown): ParleyError {
  return new ParleyError("UNHANDLED_REJECTION", what, { cause });
}
