/**
 * The effects that a handler calls: the implementation of `Effects` for one run.
 *
 * An effect is called at once, which gives it its key, and settles later, in its place (settling.ts). After the end of the run calls never
 * settle (R5).
 */
import type { CallOptions, ChildEnd, Effects, Reading, Settled, ToolCall } from "../effects.ts";
import { ParleyError } from "../errors.ts";
import { readingKey } from "../journal.ts";
import type { AskRequest, EventRequest, Json, JsonObject } from "../task.ts";
import { derivedRandom, derivedUuid } from "./derived-values.ts";
import type { Divergence, Moment } from "./divergence.ts";
import { forever, type Pending, pendingEffect } from "./effect-promise.ts";
import type { Line } from "./line.ts";
import { createPatches } from "./patches.ts";
import type { Begun, Call, CalledKind, Recollection } from "./recollection.ts";
import type { Records } from "./records.ts";
import type { Reports } from "./reports.ts";
import type { Run } from "./run.ts";
import { aside } from "./running-code.ts";
import type { Settling } from "./settling.ts";
import type { SideEffects } from "./side-effects.ts";
import type { Unhandled } from "./unhandled.ts";
import type { Values } from "./values.ts";
import type { Asked, Waits } from "./waits.ts";

export interface EffectsParts {
  readonly line: Pick<Line, "ofCtx">;
  readonly recollection: Recollection;
  readonly settling: Settling;
  readonly records: Records;
  readonly waits: Waits;
  readonly sideEffects: SideEffects;
  readonly reports: Reports;
  readonly values: Values;
  readonly divergence: Divergence;
  readonly unhandled: Unhandled;
}

export function createEffects(run: Run, parts: EffectsParts): Effects {
  const { task, journal, ports, ending, over, stop, diverged, touched } = run;
  const { line, recollection, settling, records, waits, sideEffects, reports, values, divergence, unhandled } = parts;
  const { digest, clock, accessToken, openFile } = ports;
  const { isOver } = ending;
  const { checked } = values;

  /**
   * Calls an effect that settles later. `wait` registers what settles it; what it throws rejects the effect. `isAtOnce`: the caller needs its key now,
   * even if who waits for the code that calls is not known yet.
   */
  function effect<T>(kind: CalledKind, name: string, wait: (call: Call, pending: Pending<T>) => void, isAtOnce = false): Promise<T> {
    if (isOver()) return forever();
    const pending = aside(() => pendingEffect<T>());
    const { promise } = pending;
    let what = `${kind} ${name}`;
    const noted: Pending<T> = {
      ...pending,
      reject(error) {
        unhandled.rejected(promise, what, error);
        pending.reject(error);
      },
    };
    const take = (begun: Begun, at?: Moment) => {
      const call = taken(kind, begun, at);
      what = call.id;
      // The call may have ended the run, to be made again by one that follows the handler more closely.
      if (isOver()) return;
      wait(call, noted);
      goOn();
    };
    try {
      const begun = recollection.begin(kind, name, promise);
      if (begun.isReady || isAtOnce) aside(() => take(begun));
      else {
        const at = divergence.moment();
        later(() => take(begun, at), noted.reject);
      }
    } catch (error) {
      noted.reject(error);
    }
    return promise;
  }

  /** What the engine then waits for is nothing that the handler's code does (line.ts). */
  function goOn(): void {
    aside(() => {
      touched();
      settling.advance();
    });
  }

  /** Runs work when all promise reactions that are ready have run. */
  function later(work: () => void, failed: (error: unknown) => void): void {
    touched();
    clock.afterMicrotasks(() => {
      if (isOver()) return;
      try {
        work();
      } catch (error) {
        failed(error);
      }
    });
  }

  /** Gives the call its key. A call that replay could not tell from another ends the run. */
  function taken(kind: CalledKind, begun: Begun, at?: Moment): Call {
    try {
      const call = begun.take();
      divergence.noteCall(kind, call, at);
      return call;
    } catch (error) {
      if (error instanceof ParleyError && error.code === "AMBIGUOUS_EFFECT") stop(error);
      throw error;
    }
  }

  function now(name = "now"): number {
    const { id, calledAt, entry } = taken("now", recollection.begin("now", name));
    goOn();
    if (entry?.outcome.type === "value") return entry.outcome.value as number;
    const value = clock.now();
    if (isOver()) return value;
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
    called: goOn,
  });

  /** Adds no microtask to those of `work`, so that a race is decided as it would be without the branch. */
  function inBranch<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return recollection.branch(key, work);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  async function restart(args: JsonObject): Promise<never> {
    divergence.noteNew("a restart");
    touched();
    await settling.live;
    const notAwaited = unhandled.notAwaited();
    if (notAwaited) stop(notAwaited);
    if (!isOver()) ending.with({ type: "restarted", arguments: checked("the arguments of the restart", args) as JsonObject });
    return forever();
  }

  /** An event may be read more than once in a run. */
  const readings = new Map<string, Json | undefined>();

  function readingOf(askKey: string | undefined): Reading {
    if (askKey === undefined) throw new Error("an answer is read before it has settled");
    const key = readingKey(askKey);
    const recorded = journal.get(key)?.outcome;
    return {
      kept: recorded?.type === "value" ? recorded.value : readings.get(key),
      keep(content, isDrawn) {
        if (isOver()) return;
        const value = checked(`what the schema of ${askKey} makes of its answer`, content) as Json;
        readings.set(key, value);
        records.note({ key, entry: { digest: "", calledAt: "0", outcome: { type: "value", value } } });
        if (isDrawn) records.mustBeSaved();
      },
    };
  }

  function ask(kind: "ask" | "event", name: string, asking: (call: Call) => Asked): Promise<Settled> {
    return effect<Settled>(kind, name, (call, pending) => waits.ask(call, pending, asking(call)), kind === "event");
  }

  function asked<R extends AskRequest | EventRequest>(call: Call, request: R): R {
    return checked(`the ask ${call.key}`, request) as R;
  }

  async function secretOf(reading: Promise<string>): Promise<string> {
    const text = await reading;
    values.secretRead(text);
    return text;
  }

  function callTool(name: string, request: ToolCall, options: CallOptions = {}): Promise<ChildEnd> {
    return effect<ChildEnd>("call", name, (call, pending) => {
      const toCall = checked(`the call ${call.key}`, request) as unknown as ToolCall;
      const made = waits.call(call, pending, { request: toCall, options });
      if (made) sideEffects.startChild(call, made, toCall);
    });
  }

  return {
    taskId: task.id,
    call: task.call,
    signal: over,
    storedValueMax: run.settings.storedValueMax,
    ask: (name, request, options = {}) => ask("ask", name, (call) => ({ request: asked(call, request), options })),
    event(name, request, options = {}) {
      let key: string | undefined;
      const answer = ask("event", name, (call) => {
        key = call.key;
        return { request: asked(call, request), options };
      });
      values.tokenGiven();
      // A run that has ended gives out no token.
      return { ...(key === undefined ? { token: "", url: "" } : ports.tokenOf(key)), answer, reading: () => readingOf(key) };
    },
    callTool,
    step(name, work, options = {}) {
      const { tells } = options;
      const ask = tells && waits.settledLast(recollection.scoped("ask", tells.ask));
      const telling = tells && ask !== undefined && ((result: Json | undefined) => ({ what: tells.what(result), key: ask }));
      return effect("step", name, (call, pending) => sideEffects.step(call, pending, { name, work, options, ...(telling && { telling }) }));
    },
    sleep: (name, ms, options = {}) => effect("sleep", name, (call, pending) => waits.sleep(call, pending, { ms, options })),
    now,
    random: (name = "random") => derivedRandom(digest, task.call.seed, taken("random", recollection.begin("random", name)).id),
    uuid: (name = "uuid") => derivedUuid(digest, task.call.seed, taken("uuid", recollection.begin("uuid", name)).id),
    patched: patches.decide,
    tookPatch: patches.took,
    deprecatePatch: patches.deprecate,
    wasRecorded: recollection.wasRecorded,
    branch: inBranch,
    keyed: (key, call) => recollection.keyed(key, call),
    ofCtx(promise) {
      line.ofCtx(promise);
      return promise;
    },
    mustBeAwaited(promise, { shown, name }, signal) {
      if (!isOver())
        unhandled.mustBeAwaited(promise, { shown, signal, wasAsked: name === undefined ? undefined : recollection.asked(name) });
      return promise;
    },
    readingOf: (name) => readingOf(waits.settledLast(recollection.scoped("ask", name))),
    answeredBy: (name) => waits.answeredBy(recollection.scoped("ask", name)),
    deposit: (key) => secretOf(aside(() => ports.deposit(key))),
    accessToken: accessToken && ((key, refused) => secretOf(aside(() => accessToken(key, refused)))),
    kept: ports.kept,
    openFile: openFile && ((id) => aside(() => openFile(id))),
    restart,
    report(item) {
      values.assertNoSecretIn(item);
      aside(() => reports.item(item));
    },
    status(message) {
      values.assertNoSecret("the status", message);
      aside(() => reports.message(message));
    },
    immediateResponse(text) {
      values.assertNoSecret("the immediate response", text);
      aside(() => reports.immediateResponse(text));
    },
    announce: (announcement) => aside(() => reports.announce(announcement)),
  };
}
