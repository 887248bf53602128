/** The work of one step: its attempts, the waits between them, their time limits. Its outcome is what the journal records. */
import { backoff } from "../values/backoff.ts";
import { errorName, errorText } from "../task/describe-error.ts";
import type { StepAttempt, StepOptions } from "../effects.ts";
import { kindOf, ParleyError, StepFailed, ToolError } from "../errors.ts";
import type { EntryOutcome } from "../journal.ts";
import { OVER } from "../wait-over.ts";
import type { Clock } from "../ports.ts";
import type { Json } from "../task.ts";
import { forever } from "./effect-promise.ts";

/** How long work may take to respond to its aborted signal before the run stops waiting for it. */
export const HEED_SIGNAL_MS = 5_000;

export interface StepWork {
  readonly key: string;
  /** The same for every attempt and in every run. */
  readonly idempotencyKey: string;
  readonly work: (attempt: StepAttempt) => unknown;
  readonly options: StepOptions;
  readonly clock: Clock;
  /** Aborted when the run ends. No further attempt begins, and an error that the work throws from then on is not its outcome. */
  readonly signal: AbortSignal;
  /** The value as the journal will return it. Throws a ParleyError for a value that cannot be recorded. */
  readonly checked: (value: unknown) => Json | undefined;
  /**
   * Asked before each attempt: whether everything before it is recorded (R3) and the run holds its task (R7). A promise is awaited and the
   * question asked again, until the answer is immediate: nothing may happen between the answer and the work. False ends the step without
   * an outcome.
   */
  readonly mayAct: () => boolean | Promise<boolean>;
  /** Called for each failed attempt, with the error itself: the recorded one has neither a stack nor causes. */
  readonly failed: (failure: FailedTry) => void;
}

export interface FailedTry {
  readonly error: unknown;
  readonly attempt: number;
  /** No further attempt follows. */
  readonly isLast: boolean;
}

export interface FailedStep extends FailedTry {
  /** The key of the step: its name, with `#2`, `#3` … for later steps of that name. */
  readonly step: string;
  /** The id under which the error is logged. It is the same in every run, so a caller who receives it later can point to the log line. */
  readonly defectId: string;
}

/** Returns the step's outcome, or undefined if the run ended first. */
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
      // The end of the run may be the only reason for the error. The next run tries again.
      if (signal.aborted) return undefined;
      // Also if `attempts` is not a number: nothing is tried without end.
      const isLast = isFinal(error) || !(attempt < attempts);
      failed({ error, attempt, isLast });
      if (isLast) return { type: "error", name: recordedName(error), message: errorText(error) };
      await clock.sleep(backoff(options.backoffMs ?? 1_000, attempt - 1), signal);
    }
  }
}

/**
 * Whether another attempt is useless. Errors of values (not plain data, too large) would repeat themselves, and a ToolError is final unless its
 * author made it `retryable`.
 */
export function isFinal(error: unknown): boolean {
  if (kindOf(error) === "parley") return (error as ParleyError).code !== "STEP_TIMEOUT";
  return kindOf(error) === "tool" && !(error as ToolError).retryable;
}

/** The recorded name says who may see the message (`stepError`), so no other error may be recorded under these two names. */
function recordedName(error: unknown): string {
  const kind = kindOf(error);
  if (kind === "parley") return PARLEY_ERROR;
  if (kind === "tool") return TOOL_ERROR;
  const name = errorName(error);
  return name === PARLEY_ERROR || name === TOOL_ERROR ? "Error" : name;
}

const PARLEY_ERROR = "ParleyError";
const TOOL_ERROR = "ToolError";

/** The error that the handler receives for a step that is recorded as failed. */
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
    // The next attempt must not run beside this one, but the wait for work that ignores its signal is limited.
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
  // The attempt had already timed out.
}
