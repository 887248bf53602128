/** The port to time. Core has no timers of its own. */

export interface Clock {
  now(): number;
  /** Calls back after `ms`, unless the returned function is called before. Costs less than `sleep`. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after `ms`, or at once when `signal` is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when everything that is ready to run has run (Node.js: setImmediate). */
  idle(): Promise<void>;
  /**
   * Calls back when all promise reactions that are ready have run, including those that they lead to, and before any
   * event from outside (Node.js: a tick after the microtask queue).
   */
  afterMicrotasks(callback: () => void): void;
}
