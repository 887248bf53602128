import { nounFor } from "../values/plain-data.ts";

/** The signal of an option, checked for authors without types: an AbortController in its place is easily written. */
export function signalOf(signal: AbortSignal | undefined): AbortSignal | undefined {
  // Not by its class: a test's environment may have one of its own.
  if (signal === undefined || typeof (signal as Partial<AbortSignal> | null)?.aborted === "boolean") return signal;
  throw new TypeError(`signal must be an AbortSignal, such as controller.signal, and is ${nounFor(signal)}`);
}
