/**
 * Hands errors that no code caught to the run under test that they belong to, as a worker does: its task fails with UNHANDLED_REJECTION. The test
 * runner would otherwise fail the whole process for what one handler did.
 *
 *   of a run under test      its task fails, unless it handles the promise before it ends
 *   of one that has ended    a warning on standard error
 *   of anything else         the test runner's, as before
 */
import { type Strays, straysOf } from "@parley/core";

type Emit = (event: string | symbol, ...args: unknown[]) => boolean;

const rejected = new WeakMap<object, Strays>();
let isListening = false;
let running = 0;

/** `current` returns the flow of the code that is running, if it is of a run under test. */
export function listenForStrays(current: () => object | undefined): void {
  if (isListening) return;
  isListening = true;
  // Not a listener of its own: those of the test runner would be called as well.
  const emit = process.emit.bind(process) as Emit;
  const replacement: Emit = (event, ...args) => isTaken(current, event, args) || emit(event, ...args);
  process.emit = replacement as typeof process.emit;
}

/** Errors of runs belong to them only while `work` is at work. */
export async function whileRunning<T>(work: () => Promise<T>): Promise<T> {
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
  }
}

function isTaken(current: () => object | undefined, event: string | symbol, [first, second]: readonly unknown[]): boolean {
  if (event === "rejectionHandled") {
    const strays = rejected.get(first as object);
    strays?.handled(first as object);
    return strays !== undefined;
  }
  if (event !== "unhandledRejection" && event !== "uncaughtException") return false;
  const strays = straysOf(current());
  if (!strays) return false;
  if (running === 0) {
    const what = event === "unhandledRejection" ? "a promise was rejected and never handled" : "a callback threw";
    process.emitWarning(`After the end of a run under test, ${what}: ${String(first)}`, { code: "PARLEY_LEFT_BEHIND" });
  } else if (event === "unhandledRejection") {
    rejected.set(second as object, strays);
    strays.rejected(second as object, first);
  } else strays.threw(first);
  return true;
}
