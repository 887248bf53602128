/** Steps and calls of tools: what changes the world outside, begun when all that it may follow from is recorded (R3), and awaited when the run ends (R5). */
import { HEED_SIGNAL_MS, isFinal, stepError, tryStep } from "./steps.ts";
import { OVER } from "../over.ts";
import type { StepAttempt, StepOptions, ToolCall } from "../effects.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";
import type { Clock, Scope } from "../ports.ts";
import type { Json, TaskAtWork } from "../task.ts";
import { isFromOutside } from "./course.ts";
import { derivedUuid } from "./derived.ts";
import type { Pending } from "./effect-promise.ts";
import type { Ending } from "./end.ts";
import type { Flow } from "./flow.ts";
import type { Call, Recorded } from "./recollection.ts";
import type { Records } from "./records.ts";
import type { ReplayPorts, ReplayRequest } from "./request.ts";
import type { Settling } from "./settling.ts";
import type { Values } from "./values.ts";
import type { NewCall } from "./waits.ts";

/** What a call can come to instead of a child. */
const CALL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  "INVALID_ARGUMENTS",
  "TOO_LARGE",
  "TOOL_NOT_FOUND",
  "QUOTA_EXCEEDED",
  "CHILD_REFUSED",
]);

export interface StepWanted {
  readonly name: string;
  readonly work: (attempt: StepAttempt) => unknown;
  readonly options: StepOptions;
}

export interface SideEffects {
  /** Waits for the step, and does it unless its result is recorded. */
  step(call: Call, pending: Pending<Json | undefined>, wanted: StepWanted): void;
  /** Makes the child of a call. */
  startChild(call: Call, made: NewCall, request: ToolCall): void;
  isAtWork(): boolean;
  /** Waits for what is in flight. Work that does not heed its signal is waited for while the run has time, and then left behind. */
  landed(signal: AbortSignal): Promise<void>;
  /** Results of steps that outlived the handler: a run that tries again must not do them again (R5). */
  outlived(): readonly Recorded[];
}

export interface SideEffectsOptions {
  readonly task: TaskAtWork;
  readonly compensation: ReplayRequest["compensation"];
  readonly ports: Pick<ReplayPorts, "digest" | "isHeld" | "startChild" | "stepFailed">;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly flow: Flow;
  readonly settling: Settling;
  readonly records: Records;
  readonly values: Pick<Values, "checked">;
  readonly ending: Ending;
  /** Aborted when the run is over: what is in flight is told to stop. */
  readonly over: AbortSignal;
  /** Resolves when the run is over. */
  readonly ended: Promise<void>;
  readonly stop: (error: unknown) => void;
  /** Something of ctx has changed. */
  readonly touched: () => void;
}

export function createSideEffects({
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
  over,
  ended,
  stop,
  touched,
}: SideEffectsOptions): SideEffects {
  const { isOver } = ending;
  const inFlight = new Set<Promise<void>>();
  const outlived: Recorded[] = [];

  function begin(work: Promise<void>): void {
    const running = work.finally(() => {
      inFlight.delete(running);
      touched();
    });
    inFlight.add(running);
  }

  async function doStep(call: Call, { work, options }: StepWanted): Promise<void> {
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
      signal: over,
      checked: (value) => values.checked(`the result of step ${key}`, value),
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
    return derivedUuid(ports.digest, task.call.seed, `failure ${id}`);
  }

  /** A side effect like a step's, but for its record: the store makes the child and opens the call in one change. */
  async function makeChild({ id }: Call, { open, made }: NewCall, request: ToolCall): Promise<void> {
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

  return {
    step(call, { resolve, reject }, wanted) {
      settling.await(call.id, {
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
    outlived: () => outlived,
  };
}
