/**
 * Handles uncaught errors of a front end, as apps/worker/stray-errors.ts does for workers:
 *
 *   a promise that is rejected and not handled   logged; the process continues
 *   thrown in a callback of an author's code     logged; the process continues
 *   thrown in any other callback                 logged; the process shuts down, because its state is unknown
 */
import { describeError, type Log } from "@parley/core";
import { authoredCode } from "@parley/node";

export interface StrayErrors {
  /** Resolves when the process must shut down. */
  readonly broken: Promise<void>;
  /** Stops handling these errors. */
  stop(): void;
}

export function catchStrayErrors(log: Log): StrayErrors {
  const { promise: broken, resolve: breaks } = Promise.withResolvers<void>();
  const noted = (error: unknown, message: string): string | undefined => {
    const from = authoredCode();
    log.error({ ...(from !== undefined && { from }), ...describeError(error) }, message);
    return from;
  };
  const onRejection = (error: unknown) => void noted(error, "unhandled promise rejection");
  const onException = (error: unknown) => {
    if (noted(error, "uncaught exception") === undefined) breaks();
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  return {
    broken,
    stop() {
      process.off("unhandledRejection", onRejection);
      process.off("uncaughtException", onException);
    },
  };
}
