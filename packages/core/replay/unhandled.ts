/** Failures that the handler was told of and did not look at, and errors of its own that nobody caught: they end its task (I12). */
import { ParleyError } from "../errors.ts";
import type { EffectPromise } from "./effect-promise.ts";
import type { Strays } from "./flow.ts";

export interface Unhandled {
  /** For the flow of the run. */
  readonly strays: Strays;
  /** An effect has failed for the handler. */
  rejected(promise: EffectPromise<unknown>, what: string, error: unknown): void;
  /** The first failure that nobody looked at. Complete at the end of a turn of the event loop: Node.js tells of unhandled rejections there. */
  first(): ParleyError | undefined;
}

export function createUnhandled(stop: (error: ParleyError) => void): Unhandled {
  /** Rejections that the handler has been told of, by the effect that was rejected. */
  const rejections = new Map<EffectPromise<unknown>, { readonly what: string; readonly error: unknown }>();
  const stray = new Map<object, unknown>();
  return {
    strays: {
      rejected: (promise, error) => void stray.set(promise, error),
      handled: (promise) => void stray.delete(promise),
      threw: (error) => stop(unhandledError("a callback threw", error)),
    },
    rejected: (promise, what, error) => void rejections.set(promise, { what, error }),
    first() {
      const unheard = [...rejections].find(([promise]) => !promise.isHeard);
      const [rejection] = stray;
      if (unheard) return unhandledError(`nobody awaited ${unheard[1].what}, which failed`, unheard[1].error);
      if (rejection) return unhandledError("a promise was rejected and nobody handled it", rejection[1]);
      return undefined;
    },
  };
}

function unhandledError(what: string, cause: unknown): ParleyError {
  return new ParleyError("UNHANDLED_REJECTION", what, { cause });
}
