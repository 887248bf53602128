/**
 * Handles uncaught errors: promises that reject without a handler, and callbacks that throw.
 *
 *   in an active run        passed to the run, which ends with UNHANDLED_REJECTION unless it handles the promise before it ends
 *   in a run that has ended logged with its task; nothing ends
 *   outside runs, rejected  logged; the process continues
 *   outside runs, thrown    logged; the process shuts down, because its state is unknown. Not if an author's code threw that runs outside
 *                           of runs, such as a schema or, on a front end in the same process, a resource
 *
 * By default Node.js would exit in each case and take all other runs with it, and every worker that takes the task over would exit the same
 * way (I12).
 */
import { describeError, type Log, type Scope, type Strays, straysOf } from "@parley/core";
import { authoredCode } from "@parley/node";
import type { RunAtWork } from "./runs-at-work.ts";

export interface CatchStrayErrors {
  /** The scope that handlers run in. */
  readonly scope: Pick<Scope, "get">;
  readonly current: () => RunAtWork | undefined;
  readonly log: Log;
  /** Counts one error. */
  readonly count: (of: StrayOf) => void;
  /** Called when the process must shut down. */
  readonly broken: () => void;
}

export type StrayOf = "run" | "ended_run" | "process";

/** Returns a function that stops handling these errors. */
export function catchStrayErrors({ scope, current, log, count, broken }: CatchStrayErrors): () => void {
  /** Node.js reports a late handler outside of any scope, so rejections are mapped to their run here. */
  const rejected = new WeakMap<Promise<unknown>, Strays>();

  /** Counts and logs an error; returns the run's strays if it belongs to a run. */
  function noted(error: unknown, message: string): Strays | undefined {
    const strays = straysOf(scope.get());
    const run = current();
    const of: StrayOf = strays === undefined ? "process" : run?.isOver === false ? "run" : "ended_run";
    count(of);
    const from = authoredCode();
    const about = { ...(run && { taskId: run.taskId, run: run.run, tool: run.tool }), ...(from !== undefined && { from }) };
    const fields = { ...about, of, ...describeError(error) };
    // The run itself logs the outcome.
    if (of === "run") log.debug(fields, message);
    else if (of === "ended_run") log.warn(fields, message);
    else log.error(fields, message);
    return strays;
  }

  function onRejection(error: unknown, promise: Promise<unknown>): void {
    const strays = noted(error, "unhandled promise rejection");
    if (strays === undefined) return;
    rejected.set(promise, strays);
    strays.rejected(promise, error);
  }

  function onHandled(promise: Promise<unknown>): void {
    rejected.get(promise)?.handled(promise);
  }

  function onException(error: unknown): void {
    const strays = noted(error, "uncaught exception");
    if (strays) strays.threw(error);
    else if (authoredCode() === undefined) broken();
  }

  process.on("unhandledRejection", onRejection);
  process.on("rejectionHandled", onHandled);
  process.on("uncaughtException", onException);
  return () => {
    process.off("unhandledRejection", onRejection);
    process.off("rejectionHandled", onHandled);
    process.off("uncaughtException", onException);
  };
}
