/** The port that brings runs to workers. */
import type { Called, RunCause, RunRef } from "./runs.ts";

export interface RunQueue {
  /**
   * Adds a run. A run that is added twice for the same cause is added once; `begin` settles runs that are added for
   * several causes. Runs of new tasks come after all others, and all runs with a `share` (`shareOf`) take turns.
   * `calls`: what a new task calls, so that the worker knows this before it takes the task.
   */
  add(run: RunRef & { readonly cause?: RunCause; readonly share?: string; readonly calls?: Called }): Promise<void>;
  /**
   * Returns the name under which a worker listens for this run, so that the store can offer the run in the same
   * change that makes it due; undefined if no worker listens, or if runs were recently queued. A lane is faster than
   * the queue but gives no guarantee: the sweep finds a run that was offered and never begun.
   */
  lane?(run: {
    readonly taskId: string;
    readonly cause: "created" | "answered";
    readonly share?: string;
    /** As for `add`. */
    readonly calls?: Called;
  }): string | undefined;
}
