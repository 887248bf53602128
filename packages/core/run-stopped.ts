/**
 * Why what a run has in flight is told to stop: the `reason` of the signals that steps get.
 *
 * One object for each reason, made once: an exception with a stack trace of its own for every run that ends would be more work than most steps.
 */
export type StopReason =
  /** A client cancelled the task. */
  | "cancelled"
  /** The run has worked for as long as the tool may (`runTimeout`). */
  | "timeout"
  /** Another branch of the tool failed, and nobody waits for this one. */
  | "failed"
  /** The tool has returned, or begins anew. */
  | "ended"
  /** Another worker has the task, or this one could not say in time that it lives. */
  | "lost"
  /** The worker is shut down; another one does the step again. */
  | "draining";

/** The `reason` of a `signal` whose run ended before its step: `why` says what ended it. */
export class RunStopped extends Error {
  override readonly name = "RunStopped";
  readonly why: StopReason;
  constructor(why: StopReason) {
    super(SAYS[why]);
    this.why = why;
  }
}

const SAYS: { readonly [why in StopReason]: string } = {
  cancelled: "the task was cancelled by its client",
  timeout: "the run took longer than the tool's runTimeout",
  failed: "another branch of the tool failed",
  ended: "the tool has come to its end",
  lost: "this worker does not hold the task any more",
  draining: "the worker is shutting down",
};

const made = new Map<StopReason, RunStopped>();

export function stopped(why: StopReason): RunStopped {
  const known = made.get(why) ?? new RunStopped(why);
  made.set(why, known);
  return known;
}
