/** For implementations of the Scope port. Asks V8, which every process that runs handlers is based on. */

import type { Awaiting } from "./ports.ts";

/** Deeper stacks are cut off, so calls that differ only beyond this depth look the same. */
const FRAMES_MAX = 100;

/** Awaits a handler. It is the outermost function that V8 shows as awaiting a call of the handler. */
export async function awaitHandler<T>(handler: () => Promise<T>): Promise<T> {
  return await handler();
}

/**
 * For a running async function V8 knows which one awaits it, and through which item of Promise.all, allSettled or
 * any.
 */
export function awaitedBy(): Awaiting {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES_MAX;
    Error.prepareStackTrace = awaitingOf;
    const at = {} as { readonly stack: Awaiting };
    Error.captureStackTrace(at, awaitedBy);
    return at.stack;
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Items are innermost first. Read from the end: the functions that await come behind those that run, which are far
 * more, and each question to a frame is a call into V8.
 */
function awaitingOf(_error: Error, frames: readonly NodeJS.CallSite[]): Awaiting {
  let items = "";
  let isByHandler = false;
  for (const frame of frames.toReversed()) {
    if (!frame.isAsync()) break;
    isByHandler ||= frame.getFunctionName() === awaitHandler.name;
    const item = frame.getPromiseIndex();
    if (item !== null) items = items === "" ? String(item) : `${item}.${items}`;
  }
  return { items, isByHandler };
}
