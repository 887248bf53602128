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
    Error.prepareStackTrace = itemsOf;
    const at = {} as { readonly stack: string };
    Error.captureStackTrace(at, awaitedBy);
    return at.stack;
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Innermost first. Read from the end: the functions that await come behind those that run, which are far more, and
 * each question to a frame is a call into V8.
 */
function itemsOf(_error: Error, frames: readonly NodeJS.CallSite[]): string {
  let items = "";
  for (const frame of frames.toReversed()) {
    if (!frame.isAsync()) break;
    const item = frame.getPromiseIndex();
    if (item !== null) items = items === "" ? String(item) : `${item}.${items}`;
  }
  return items;
}
