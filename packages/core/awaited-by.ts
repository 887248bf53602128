/** For implementations of the Scope port. Asks V8, which every process that runs handlers is based on. */

/** Deeper stacks are cut off, so calls that differ only beyond this depth look the same. */
const FRAMES_MAX = 100;

/**
 * For a running async function V8 knows which one awaits it, and through which item of Promise.all, allSettled or
 * any.
 */
export function awaitedBy(): string {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES_MAX;
    Error.prepareStackTrace = (_error, frames) => frames;
    const at: { stack?: NodeJS.CallSite[] } = {};
    Error.captureStackTrace(at, awaitedBy);
    const items = (at.stack ?? []).map((frame) => (frame.isAsync() ? frame.getPromiseIndex() : null));
    return items.filter((item) => item !== null).join(".");
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}
