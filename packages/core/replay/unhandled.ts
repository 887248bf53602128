/**
 * Failures that the code of a handler did not handle, and calls that it did not await. They fail its task, and neither the worker nor its other
 * runs (I12).
 *
 * An effect that failed counts as handled when its promise was awaited or given any other reaction, even much later. Other promises are followed
 * by Node.js (Strays).
 */
import { ParleyError } from "../errors.ts";
import { EffectPromise, isHeard, noted } from "./effect-promise.ts";
import type { Strays } from "./flow.ts";

export interface CallToAwait {
  /** As the author wrote it. */
  readonly shown: string;
  /** A question that is withdrawn by it needs no await. */
  readonly signal: AbortSignal | undefined;
  /** Whether an earlier run asked it. */
  readonly wasAsked: (() => boolean) | undefined;
}

export interface Unhandled {
  /** Receives the errors that Node.js reports for flows of this run. */
  readonly strays: Strays;
  /** Notes that an effect failed for the handler; `what` names it in the error. */
  rejected(promise: EffectPromise<unknown>, what: string, error: unknown): void;
  /** UNHANDLED_REJECTION for the first failure that was not handled. Complete at the end of a turn, when Node.js has reported its rejections. */
  first(): ParleyError | undefined;
  mustBeAwaited(promise: unknown, call: CallToAwait): void;
  /**
   * NOT_AWAITED for the first such call whose promise no code listens to. A step that has ended by now was done, and a question that an earlier run
   * asked was open while the handler waited for something else: it may have returned early, without looking at them.
   */
  notAwaited(): ParleyError | undefined;
}

/** `stop` ends the run: no promise carries the error of a callback that threw, so it cannot be handled later. */
export function createUnhandled(stop: (error: ParleyError) => void): Unhandled {
  const rejections = new Map<EffectPromise<unknown>, { readonly what: string; readonly error: unknown }>();
  const stray = new Map<object, unknown>();
  const calls: { readonly promise: unknown; readonly call: CallToAwait }[] = [];
  return {
    strays: {
      rejected: (promise, error) => void stray.set(promise, error),
      handled: (promise) => void stray.delete(promise),
      threw: (error) => stop(unhandledError("a callback threw", error)),
    },
    rejected: (promise, what, error) => void rejections.set(promise, { what, error }),
    first() {
      const unawaited = [...rejections].find(([promise]) => !promise.isHeard);
      const [rejection] = stray;
      if (unawaited) return unhandledError(`${unawaited[1].what} failed and was never awaited`, unawaited[1].error);
      if (rejection) return unhandledError("a promise was rejected and never handled", rejection[1]);
      return undefined;
    },
    mustBeAwaited(promise, call) {
      noted(promise);
      calls.push({ promise, call });
    },
    notAwaited() {
      const isDone = (promise: unknown) => promise instanceof EffectPromise && promise.isSettled;
      const needsNoAwait = ({ signal, wasAsked }: CallToAwait) => signal?.aborted === true || wasAsked?.() === true;
      const dropped = calls.find(({ promise, call }) => !isHeard(promise) && !isDone(promise) && !needsNoAwait(call));
      return dropped && new ParleyError("NOT_AWAITED", `nothing had awaited ${dropped.call.shown} when the handler ended`);
    },
  };
}

function unhandledError(what: string, cause: unknown): ParleyError {
  return new ParleyError("UNHANDLED_REJECTION", what, { cause });
}
