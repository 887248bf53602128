/**
 * A promise that knows whether anybody listens to it.
 *
 * A handler may start a step, await something else, and look at the step later: a failure that comes in between is not unhandled, only not
 * handled yet, and must neither end the process nor the task. Whether it stayed unheard is known when the handler returns.
 */
export class EffectPromise<T> extends Promise<T> {
  /** What is derived from it is an ordinary promise, whose rejections Node.js watches. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  #isHeard = false;

  /** Whether it was awaited, or given a reaction in another way. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isHeard = true;
    return super.then(onFulfilled, onRejected);
  }
}

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
  // Not through `then` of the class, which would count as hearing it.
  void Promise.prototype.then.call(promise, undefined, () => undefined);
  return { promise, resolve, reject };
}

export function forever(): Promise<never> {
  return new Promise<never>(() => undefined);
}
