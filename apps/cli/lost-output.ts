/**
 * What becomes of a command when nobody reads what it prints any more, as in `parley tools | head -1`: it closes what it opened and ends without a word, with the
 * exit code that a shell gives to a command which a closed pipe has ended. Nothing is cancelled: a task that was called waits.
 *
 * Output that cannot be written for another reason, such as a full disk, is an error like any other.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** 128 and the number of SIGPIPE. */
export const PIPE_CLOSED = 141;

/** For what a command does on its own when it finds that its output is gone. */
const GRACE_MS = 2_000;

/** Nobody reads what is printed. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

const lost = Promise.withResolvers<never>();
lost.promise.catch(() => undefined);
let isServer = false;

/** Rejects with PipeClosed, or with an Error that says why nothing can be written. Never settles while output is read. */
export const outputLost: Promise<never> = lost.promise;

/** For commands that serve others: they continue when nobody reads what they print. */
export function serveWithoutOutput(): void {
  isServer = true;
}

/** Runs a command, and ends it soon after its output is lost. To be called once. */
export async function whileHeard(work: () => Promise<unknown>): Promise<void> {
  let problem: Error | undefined;
  for (const [stream, name] of [
    [process.stdout, "standard output"],
    [process.stderr, "standard error"],
  ] as const) {
    // Each write to a pipe that is closed is told anew.
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (isServer) return;
      const isClosed = error.code === "EPIPE";
      problem ??= isClosed ? new PipeClosed() : new Error(`${name} cannot be written: ${error.message}`, { cause: error });
      // Also for a command that is over before it is told.
      process.exitCode = isClosed ? PIPE_CLOSED : 1;
      lost.reject(problem);
    });
  }
  const over = outputLost.catch(async (error: unknown) => {
    await sleep(GRACE_MS, undefined, { ref: false });
    throw error;
  });
  await Promise.race([work(), over]);
  // Of what was written last it is told a moment later.
  await new Promise((resolve) => setImmediate(resolve));
  if (problem !== undefined) throw problem;
}
