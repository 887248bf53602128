/**
 * Handles closed output, as in `parley tools | head -1`: the command closes its resources and exits silently, with the exit code that shells report for a
 * command ended by a closed pipe. Nothing is cancelled: a task that was called keeps waiting.
 *
 * If output cannot be written for another reason, such as a full disk, the command fails as with any other error.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** 128 + SIGPIPE. */
export const PIPE_CLOSED = 141;

/** Grace period in which a command may clean up after its output was closed. */
const GRACE_MS = 2_000;

/** The reader of standard output or standard error has closed it. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

const lost = Promise.withResolvers<never>();
lost.promise.catch(() => undefined);
let isServer = false;

/** Rejects with PipeClosed, or with an Error that says why output cannot be written. Never settles otherwise. */
export const outputLost: Promise<never> = lost.promise;

/** For commands that serve clients: they continue after their output is closed. */
export function serveWithoutOutput(): void {
  isServer = true;
}

/** Runs a command, and ends it soon after its output is lost. Call it once. */
export async function untilOutputLost(work: () => Promise<unknown>): Promise<void> {
  let problem: Error | undefined;
  for (const [stream, name] of [
    [process.stdout, "standard output"],
    [process.stderr, "standard error"],
  ] as const) {
    // Every write to a closed pipe emits an error.
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (isServer) return;
      const isClosed = error.code === "EPIPE";
      problem ??= isClosed ? new PipeClosed() : new Error(`${name} cannot be written: ${error.message}`, { cause: error });
      // Set here too, in case the command has already returned.
      process.exitCode = isClosed ? PIPE_CLOSED : 1;
      lost.reject(problem);
    });
  }
  const over = outputLost.catch(async (error: unknown) => {
    await sleep(GRACE_MS, undefined, { ref: false });
    throw error;
  });
  await Promise.race([work(), over]);
  // The error of the last write arrives a moment later.
  await new Promise((resolve) => setImmediate(resolve));
  if (problem !== undefined) throw problem;
}
