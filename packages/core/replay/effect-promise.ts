import { listenedTo } from "./running-code.ts";

/**
 * A promise that knows whether any code listens to it.
 *
 * A handler may start a step, await something else, and look at the step later. A failure in between is not handled yet, which must end neither
 * the process nor the task. Only when the handler returns is it clear whether the failure was ever handled.
 */
export class EffectPromise<T> extends Promise<T> {
  /** Promises that are derived from this one are ordinary: Node.js reports their unhandled rejections. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  #isHeard = false;
  /** Set a microtask after it has settled. */
  isSettled = false;

  /** Whether it was awaited or given a reaction in any other way. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isHeard = true;
    listenedTo();
    return super.then(onFulfilled, onRejected);
  }
}

/** Promises of `noted` that were awaited or given a reaction in any other way. */
const heard = new WeakSet<object>();

/**
 * `await`, and everything else that attaches a reaction, first reads the `constructor` of a promise. Promises of a subclass with a `then` would
 * settle later: only those whose constructor is Promise are awaited directly.
 */
const NOTED: object = Object.create(Promise.prototype, {
  constructor: {
    get(this: object) {
      heard.add(this);
      return Promise;
    },
  },
});

/** Notes from now on whether any code listens to the promise. What is not an ordinary promise stays as it is, such as what a branch returns. */
export function noted(promise: unknown): void {
  if (promise instanceof Promise && Object.getPrototypeOf(promise) === Promise.prototype) Object.setPrototypeOf(promise, NOTED);
}

/** Whether code listens to the promise. What is neither of an effect nor `noted` counts as heard. */
export function isHeard(promise: unknown): boolean {
  if (promise instanceof EffectPromise) return promise.isHeard;
  return !(promise instanceof Promise) || Object.getPrototypeOf(promise) !== NOTED || heard.has(promise);
}

/** The promise that the handler holds, and the functions that settle it. */
export interface Pending<T> {
  readonly promise: EffectPromise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export function pendingEffect<T>(): Pending<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new EffectPromise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // Keeps Node.js from reporting the rejection. `then` of the class would count as a listener.
  const settled = () => void (promise.isSettled = true);
  void Promise.prototype.then.call(promise, settled, settled);
  return { promise, resolve, reject };
}

/** Never settles. */
export function forever(): Promise<never> {
  return new Promise<never>(() => undefined);
}
