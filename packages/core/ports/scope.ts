/** The port that tells which run a call of `ctx` belongs to, and which part of it. */

/**
 * A value that follows the handler's flow of control through awaits, timers and callbacks (Node.js:
 * AsyncLocalStorage). It identifies the run, and the part of it, that a call belongs to.
 */
export interface Scope {
  run<T>(value: object, work: () => T): T;
  get(): object | undefined;
  /** Sets the value for the rest of this synchronous code and everything that it starts. */
  enter(value: object): void;
  /** Returns what awaits the running code. Costs several microseconds (Node.js: the asynchronous part of a stack trace). */
  awaitedBy(): Awaiting;
}

export interface Awaiting {
  /** The items of Promise.all, allSettled and any, from the innermost out, such as `1.0`; `""` if unknown. */
  readonly items: string;
  /** Whether it is known that the handler itself awaits it, through however many functions. Not so for what a queue or an event calls. */
  readonly isByHandler: boolean;
}
