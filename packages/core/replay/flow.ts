/**
 * A flow: one thread of execution within a handler. It follows the handler through awaits, timers and callbacks (the Scope port), and knows
 * the run it belongs to and the effects it has called.
 *
 * It answers three questions that counting calls cannot answer: whether one call came before another in the same flow, whether ctx is used
 * inside a step or by the handler of another task, and which run an uncaught error belongs to.
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
  /** Keys of the surrounding `ctx.branch` calls, each followed by a slash: `alice/`. */
  readonly branch: string;
  /** The key of the step whose work this is. */
  readonly step: string | undefined;
  readonly #call: number;
  readonly #before: Flow | undefined;

  private constructor(strays: Strays, branch: string, step: string | undefined, call: number, before: Flow | undefined) {
    this.strays = strays;
    this.branch = branch;
    this.step = step;
    this.#call = call;
    this.#before = before;
  }

  /** The flow at the start of a run. */
  static start(strays: Strays): Flow {
    return new Flow(strays, "", undefined, 0, undefined);
  }

  /** The flow after it has made the call of that number. Numbers increase within a run. */
  after(call: number): Flow {
    return new Flow(this.strays, this.branch, this.step, call, this);
  }

  inBranch(branch: string): Flow {
    return new Flow(this.strays, branch, this.step, this.#call, this.#before);
  }

  inStep(step: string): Flow {
    return new Flow(this.strays, this.branch, step, this.#call, this.#before);
  }

  /** The number of its last call, or of the flow that it descends from; 0 for none. */
  get lastCall(): number {
    return this.#call;
  }

  /** Whether this flow, or one that it descends from, made that call. */
  hasCalled(call: number): boolean {
    if (this.#call === call) return true;
    let flow = this.#before;
    while (flow && flow.#call > call) flow = flow.#before;
    return flow !== undefined && flow.#call === call;
  }
}

/** Where errors of the current flow belong; undefined outside of handlers. For listeners of uncaught errors. */
export function straysOf(scoped: object | undefined): Strays | undefined {
  return scoped instanceof Flow ? scoped.strays : undefined;
}
