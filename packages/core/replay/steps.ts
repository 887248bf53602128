/** Doing a step's work: tries, waits between them, time limits. What becomes of it is what the journal keeps. */
import { errorName, errorText } from "../describe-error.ts";
import type { StepAttempt, StepOptions } from "../effects.ts";
import { kindOf, ParleyError, StepFailed, ToolError } from "../errors.ts";
import type { EntryOutcome } from "../journal.ts";
import { OVER } from "../over.ts";
import type { Clock } from "../ports.ts";
import type { Json } from "../task.ts";
import { forever } from "./effect-promise.ts";

/** How long work has to heed its aborted signal before it is left behind. */
export const HEED_SIGNAL_MS = 5_000;

export interface StepWork {
  readonly key: string;
  /** The same for every try and every run. */
  readonly idempotencyKey: string;
  readonly work: (attempt: StepAttempt) => unknown;
  readonly options: StepOptions;
  readonly clock: Clock;
  /** Aborted when the run ends: no further try begins, and what the work throws then says nothing about it. */
  readonly signal: AbortSignal;
  /** As it will come back from the journal. Throws ParleyErrors for what cannot be kept. */
  readonly checked: (value: unknown) => Json | undefined;
  /**
   * Asked before each try: whether everything before it is recorded (R3) and the run still holds its task (P6). It is asked again until it
   * answers at once, so that nothing comes between the answer and the work. False ends the step without an outcome.
   */
  readonly mayAct: () => boolean | Promise<boolean>;
  /** Told of each try that failed, while there is its error: what is recorded has neither stack nor causes. */
  readonly failed: (failure: FailedTry) => void;
}

export interface FailedTry {
  readonly error: unknown;
  readonly attempt: number;
  /** It is not tried again. */
  readonly isLast: boolean;
}

export interface FailedStep extends FailedTry {
  /** Its key: the name, with `#2`, `#3` … for later steps of that name. */
  readonly step: string;
  /** Under which the error is to be logged: the same in every run, so that a caller who is told of it in a later one leads to the line. */
  readonly defectId: string;
}

/** The step's outcome; undefined when the run ended before there was one. */
export async function tryStep(step: StepWork): Promise<EntryOutcome | undefined> {
  const { options, clock, signal, checked, mayAct, failed } = step;
  const attempts = options.attempts ?? 1;
  for (let attempt = 1; ; attempt += 1) {
    for (let may = mayAct(); may !== true; may = mayAct()) {
      if (!(await may)) return undefined;
    }
    try {
      const value = checked(await tryOnce(step, attempt));
      return value === undefined ? { type: "value" } : { type: "value", value };
    } catch (error) {
      // It may have failed for no other reason: the next run tries again.
      if (signal.aborted) return undefined;
      const isLast = isFinal(error) || attempt >= attempts;
      failed({ error, attempt, isLast });
      if (isLast) return { type: "error", name: recordedName(error), message: errorText(error) };
      await clock.sleep((options.backoffMs ?? 1_000) * 2 ** (attempt - 1), signal);
    }
  }
}

/** Plain data and size stay as they are on every try, and a ToolError is the author's final word unless it says otherwise. */
export function isFinal(error: unknown): boolean {
  if (kindOf(error) === "parley") return (error as ParleyError).code !== "STEP_TIMEOUT";
  return kindOf(error) === "tool" && !(error as ToolError).retryable;
}

/** On replay the name says for whom the message is: see `stepError`. So no other error may come by one of these two. */
function recordedName(error: unknown): string {
  const kind = kindOf(error);
  if (kind === "parley") return PARLEY_ERROR;
  if (kind === "tool") return TOOL_ERROR;
  const name = errorName(error);
  return name === PARLEY_ERROR || name === TOOL_ERROR ? "Error" : name;
}

const PARLEY_ERROR = "ParleyError";
const TOOL_ERROR = "ToolError";

/** What the handler is told of a step that is recorded as failed. */
export function stepError(name: string, outcome: EntryOutcome, defectId: string): Error {
  if (outcome.type !== "error") return new Error(`step ${name} is recorded as ${outcome.type}`);
  if (outcome.name === TOOL_ERROR) return new ToolError(outcome.message);
  return new StepFailed(name, outcome.message, { defectId, isForCaller: outcome.name === PARLEY_ERROR });
}

async function tryOnce({ key, idempotencyKey, work, options: { timeoutMs }, clock, signal }: StepWork, attempt: number): Promise<unknown> {
  if (timeoutMs === undefined) return work({ attempt, idempotencyKey, signal });
  const done = new AbortController();
  const late = new AbortController();
  const working = (async () => work({ attempt, idempotencyKey, signal: AbortSignal.any([signal, late.signal]) }))();
  const timeout = clock.sleep(timeoutMs, AbortSignal.any([signal, done.signal])).then(async () => {
    if (done.signal.aborted || signal.aborted) return await forever();
    const error = new ParleyError("STEP_TIMEOUT", `step ${key} took longer than ${timeoutMs} ms`);
    late.abort(error);
    // The next try must not begin beside this one; work that ignores its signal is not waited for without end.
    await Promise.race([working.then(ignore, ignore), clock.sleep(Math.min(timeoutMs, HEED_SIGNAL_MS), signal)]);
    throw error;
  });
  try {
    return await Promise.race([
      timeout,
      working.then(
        (value) => (late.signal.aborted ? timeout : value),
        (error: unknown) => (late.signal.aborted ? timeout : Promise.reject(error as Error)),
      ),
    ]);
  } finally {
    done.abort(OVER);
  }
}

function ignore(): void {
  // Its time was over.
}
