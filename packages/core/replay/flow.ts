/**
 * A flow: a part of a handler with names of its own, which the handler itself, a branch, an item of a map or a call with a key is. It follows the
 * code through awaits, timers and callbacks (the Scope port).
 *
 * It tells which branch a call belongs to, whether ctx is used inside a step or by the handler of another task, and which run an uncaught error
 * belongs to.
 */

/** Receives a run's errors that no code caught. */
export interface Strays {
  /** A promise was rejected and is not handled so far. */
  rejected(promise: object, error: unknown): void;
  /** The rejection was handled later. */
  handled(promise: object): void;
  /** A callback threw. No promise carries the error, so it cannot be handled later. */
  threw(error: unknown): void;
}

export class Flow {
  readonly strays: Strays;
  /** Keys of the surrounding branches, each followed by a slash: `alice/`. */
  readonly branch: string;
  /** The key of the step whose work this is. */
  readonly step: string | undefined;

  private constructor(strays: Strays, branch: string, step: string | undefined) {
    this.strays = strays;
    this.branch = branch;
    this.step = step;
  }

  /** The flow at the start of a run. */
  static start(strays: Strays): Flow {
    return new Flow(strays, "", undefined);
  }

  inBranch(branch: string): Flow {
    return new Flow(this.strays, branch, this.step);
  }

  inStep(step: string): Flow {
    return new Flow(this.strays, this.branch, step);
  }
}

/** Where errors of the current flow belong; undefined outside of handlers. For listeners of uncaught errors. */
export function straysOf(scoped: object | undefined): Strays | undefined {
  return scoped instanceof Flow ? scoped.strays : undefined;
}
