/**
 * Why the work in flight of a run is told to stop: the `reason` of the signals that steps receive.
 *
 * There is one object for each reason. A new exception with a stack trace for every run that ends would cost more than most steps.
 */
export type StopReason =
  /** A client cancelled the task. */
  | "cancelled"
  /** The run reached the time limit of its tool (`runTimeout`). */
  | "timeout"
  /** Another branch of the tool failed, so no code waits for this one. */
  | "failed"
  /** The tool has returned or restarts. */
  | "ended"
  /** Another worker has the task, or this one could not renew its lease in time. */
  | "lost"
  /** The worker shuts down; another one runs the step again. */
  | "draining";

/** The `reason` of a step's `signal` when its run ended first; `why` says what ended the run. */
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
  ended: "the tool has ended",
  lost: "this worker no longer holds the task",
  draining: "the worker is shutting down",
};

const made = new Map<StopReason, RunStopped>();

export function stopped(why: StopReason): RunStopped {
  const known = made.get(why) ?? new RunStopped(why);
  made.set(why, known);
  return known;
}
