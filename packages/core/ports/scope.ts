/** The port that tells which run a call of `ctx` belongs to, and which part of it. */

/**
 * A value that follows the handler's flow of control through awaits, timers and callbacks (Node.js:
 * AsyncLocalStorage). It identifies the run, and the part of it, that a call belongs to.
 */
export interface Scope {
  run<T>(value: object, work: () => T): T;
  get(): object | undefined;
  /** How the engine follows what handlers await (Node.js: `promiseHooks` of node:v8). */
  readonly promises: PromiseHooks;
  /** Handlers that have awaited nothing but ctx in their last complete run, by kind and name: they need not be followed as closely. */
  readonly awaitOnlyCtx: Set<string>;
  /**
   * By task: how many of its runs were thrown away because they might wait for a lock of their own. The next one waits longer. Of ten thousand, the
   * one of which that is longest ago is forgotten.
   */
  readonly thrownAway: Map<string, number>;
}

/** What is used of `promiseHooks` (node:v8). The function that `createHook` returns removes the hooks. */
export interface PromiseHooks {
  createHook(callbacks: {
    readonly init: (promise: Promise<unknown>, parent: Promise<unknown> | undefined) => void;
    readonly before: (promise: Promise<unknown>) => void;
    readonly after: (promise: Promise<unknown>) => void;
    readonly settled: (promise: Promise<unknown>) => void;
  }): () => void;
}
