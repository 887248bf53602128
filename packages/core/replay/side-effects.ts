/**
 * Steps and calls of other tools: the effects that change something outside.
 *
 *   SE1  One begins when the run is live and calm, everything it may depend on is recorded (R3), and the run holds its task (R7). Every wait
 *        for one of these is followed by another look at all of them, because other branches continue in the meantime.
 *   SE2  When the run ends, what is in flight is told to stop and awaited (R5). A step that succeeds all the same settles for no handler, and is
 *        recorded (`leftOver`); one that fails is done again by the next run.
 */
import type { StepAttempt, StepOptions, ToolCall } from "../effects.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";
import type { Entry } from "../journal.ts";
import { OVER } from "../wait-over.ts";
import type { Json } from "../task.ts";
import { derivedUuid } from "./derived-values.ts";
import type { Pending } from "./effect-promise.ts";
import type { Flow } from "./flow.ts";
import type { Line } from "./line.ts";
import type { Call } from "./recollection.ts";
import type { Records } from "./records.ts";
import type { Run } from "./run.ts";
import type { Settling } from "./settling.ts";
import { HEED_SIGNAL_MS, isFinal, stepError, tryStep } from "./steps.ts";
import type { Values } from "./values.ts";
import type { NewCall } from "./waits.ts";

/** Errors that the handler receives in place of a child's end. Any other error of `startChild` ends the run. */
const CALL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  "INVALID_ARGUMENTS",
  "CALL_TIMEOUT",
  "TOO_LARGE",
  "TOOL_NOT_FOUND",
  "QUOTA_EXCEEDED",
  "CHILD_REFUSED",
]);

export interface StepWanted {
  readonly name: string;
  readonly work: (attempt: StepAttempt) => unknown;
  readonly options: StepOptions;
  /** What others hear of with the result. */
  readonly telling?: (result: Json | undefined) => Entry["tells"];
}

export interface SideEffects {
  /** Waits for the step to settle, and does its work unless the outcome is recorded. */
  step(call: Call, pending: Pending<Json | undefined>, wanted: StepWanted): void;
  /** Creates the child of a new call. */
  startChild(call: Call, made: NewCall, request: ToolCall): void;
  isAtWork(): boolean;
  /**
   * Waits for everything in flight. After the request's signal is aborted it waits HEED_SIGNAL_MS longer, and then leaves work that ignores its
   * signal behind.
   */
  landed(signal: AbortSignal): Promise<void>;
}

export interface SideEffectsOptions {
  /** The flow in which the handler starts. */
  readonly flow: Flow;
  readonly line: Pick<Line, "isAtGate">;
  readonly settling: Settling;
  readonly records: Records;
  readonly values: Pick<Values, "checked" | "withoutSecrets">;
  /** Resolves when the run is over. */
  readonly ended: Promise<void>;
}

export function createSideEffects(run: Run, { flow, line, settling, records, values, ended }: SideEffectsOptions): SideEffects {
  const { task, compensation, ports, ending, over, stop, touched } = run;
  const { clock, scope } = ports;
  const { isOver } = ending;
  const inFlight = new Set<Promise<void>>();

  function begin(work: Promise<void>): void {
    const running = work.finally(() => {
      inFlight.delete(running);
      touched();
    });
    inFlight.add(running);
  }

  async function doStep(call: Call, { work, options, telling }: StepWanted): Promise<void> {
    const { id, key, calledAt } = call;
    await Promise.race([settling.live, ended]);
    if (!settling.isCalm()) await Promise.race([settling.calm(), ended]);
    if (isOver()) return;
    if (line.isAtGate()) noteBegun(call);
    const inStep = flow.inStep(key);
    let failedWith: unknown;
    const outcome = await tryStep({
      key,
      options,
      clock,
      idempotencyKey: `${task.id}.${key}`,
      async work(attempt) {
        try {
          return await scope.run(inStep, () => work(attempt));
        } catch (error) {
          throw values.withoutSecrets(`the error of step ${key}`, error);
        }
      },
      signal: over,
      checked: (value) => values.checked(`the result of step ${key}`, value),
      failed(failure) {
        failedWith = failure.error;
        ports.stepFailed({ ...failure, step: key, defectId: defectIdOf(call) });
      },
      mayAct() {
        if (isOver()) return false;
        if (!settling.isCalm()) return Promise.race([settling.calm(), ended]).then(() => !isOver());
        if (!records.isSaved()) return Promise.race([records.saved(), ended]).then(() => !isOver());
        return ports.isHeld();
      },
    });
    if (outcome === undefined) return;
    // The whole compensation is tried again, and this step with it.
    if (compensation?.isLastTry === false && outcome.type === "error" && !isFinal(failedWith))
      return stop(stepError(key, outcome, defectIdOf(call)));
    const tells = outcome.type === "value" ? telling?.(outcome.value) : undefined;
    const entry = { digest: "", calledAt, outcome, ...(tells && { tells }) };
    const isLater = outcome.type === "value" && options.isRecordedLater?.(outcome.value) === true;
    settling.add({ id, entry, isStep: true, isLater });
  }

  /**
   * What waits at a gate may wait for this run's own code, and whose step this is may rest on who came first. If the worker dies meanwhile, the next run
   * must come to this step again before it does anything new.
   */
  function noteBegun({ id, calledAt, entry }: Call): void {
    if (entry) return;
    records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "begun" } } });
    records.mustBeSaved();
  }

  function defectIdOf({ id }: Call): string {
    return derivedUuid(ports.digest, task.call.seed, `failure ${id}`);
  }

  /** The store creates the child and opens the call in one change, so no entry of the run's own is written. */
  async function makeChild({ id }: Call, { open, made }: NewCall, request: ToolCall): Promise<void> {
    // The open call tells after which settlement it was made. If that settlement were not recorded, no later run could make the call again.
    records.mustBeSavedIfNoted();
    await Promise.race([settling.live, ended]);
    while (!isOver() && !(settling.isCalm() && records.isSaved())) {
      if (!settling.isCalm()) await Promise.race([settling.calm(), ended]);
      else await Promise.race([records.saved(), ended]);
    }
    if (isOver() || !settling.isWaitedFor(id) || !(await ports.isHeld()) || isOver()) return;
    try {
      await ports.startChild(open, request);
      made();
    } catch (error) {
      if (!(error instanceof ParleyError && CALL_ERRORS.has(error.code))) return ending.fail(error);
      const { code, message } = error;
      const entry = { digest: open.digest, calledAt: open.calledAt, outcome: { type: "error", name: code, message } } as const;
      // Another run could receive a different error, so this one is written before the handler sees it (R3).
      if (!isOver() && settling.isWaitedFor(id)) settling.add({ id, entry, isStep: true });
    }
  }

  return {
    step(call, { promise, resolve, reject }, wanted) {
      settling.await(call.id, {
        promise,
        isWithdrawn: () => false,
        settle({ outcome }) {
          if (outcome.type === "value") resolve(outcome.value);
          else reject(stepError(wanted.name, outcome, defectIdOf(call)));
        },
      });
      if (call.entry && call.entry.outcome.type !== "begun") return;
      begin(doStep(call, wanted));
    },
    startChild: (call, made, request) => begin(makeChild(call, made, request)),
    isAtWork: () => inFlight.size > 0,
    async landed(signal) {
      if (inFlight.size === 0) return;
      const all = Promise.allSettled(inFlight);
      const waited = new AbortController();
      void all.then(() => waited.abort(OVER));
      const aborted = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await Promise.race([all, aborted.then(() => clock.sleep(HEED_SIGNAL_MS, waited.signal))]);
    },
  };
}
