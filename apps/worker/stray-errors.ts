/**
 * Errors that nobody caught: a promise that was rejected without anybody listening, a callback that threw.
 *
 *   of a run at work       told to the run, which ends with UNHANDLED_REJECTION unless it handles the promise before its own end
 *   of a run that is over  logged against its task, and ends nothing
 *   of no run, rejected    logged; the process continues
 *   of no run, thrown      logged; the process ends: nobody knows in what state it is
 *
 * Node.js would end the process in each case, with all the runs beside, and each worker that takes the task over would meet the same end (P7).
 */
import { describeError, type Log, type Scope, type Strays, straysOf } from "@parley/core";
import type { RunAtWork } from "./runs-at-work.ts";

export interface CatchStrayErrors {
  /** The one that the runs' handlers are in. */
  readonly scope: Pick<Scope, "get">;
  readonly current: () => RunAtWork | undefined;
  readonly log: Log;
  /** Counts one. */
  readonly count: (of: StrayOf) => void;
  /** Called when the process is to end. */
  readonly broken: () => void;
}

export type StrayOf = "run" | "ended_run" | "process";

/** Returns what stops it. */
export function catchStrayErrors({ scope, current, log, count, broken }: CatchStrayErrors): () => void {
  /** That a rejection was handled after all is told outside of any scope. */
  const rejected = new WeakMap<Promise<unknown>, Strays>();

  /** Whose error it is, counted and logged. */
  function noted(error: unknown, message: string): Strays | undefined {
    const strays = straysOf(scope.get());
    const run = current();
    const of: StrayOf = strays === undefined ? "process" : run?.isOver === false ? "run" : "ended_run";
    count(of);
    const fields = { ...(run && { taskId: run.taskId, run: run.run, tool: run.tool }), of, ...describeError(error) };
    // The run itself logs what it makes of it.
    if (of === "run") log.debug(fields, message);
    else if (of === "ended_run") log.warn(fields, message);
    else log.error(fields, message);
    return strays;
  }

  function onRejection(error: unknown, promise: Promise<unknown>): void {
    const strays = noted(error, "promise rejected and nobody handled it");
    if (strays === undefined) return;
    rejected.set(promise, strays);
    strays.rejected(promise, error);
  }

  function onHandled(promise: Promise<unknown>): void {
    rejected.get(promise)?.handled(promise);
  }

  function onException(error: unknown): void {
    const strays = noted(error, "exception that nobody caught");
    if (strays) strays.threw(error);
    else broken();
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
