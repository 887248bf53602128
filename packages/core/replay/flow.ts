/**
 * A flow: one thread of a handler's own course. It follows the handler through awaits, timers and callbacks (the Scope port), and knows which
 * run it belongs to and which effects it called before.
 *
 * That tells three things that no counting of calls can tell: whether one call came before another in the same flow, whether ctx was called
 * from within a step or by another task's handler, and whose error it is that nobody caught.
 */

/** What a run wants to hear of errors that nobody caught. */
export interface Strays {
  /** A promise was rejected and nobody has handled it so far. */
  rejected(promise: object, error: unknown): void;
  /** Somebody has handled it after all. */
  handled(promise: object): void;
  /** A callback threw: nothing awaits it. */
  threw(error: unknown): void;
}

export class Flow {
  readonly strays: Strays;
  /** Keys of the `ctx.branch`es around it, each with a slash behind it. */
  readonly branch: string;
  /** The step whose work this is. */
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

  /** The flow behind its call number `call`; numbers grow. */
  after(call: number): Flow {
    return new Flow(this.strays, this.branch, this.step, call, this);
  }

  inBranch(branch: string): Flow {
    return new Flow(this.strays, branch, this.step, this.#call, this.#before);
  }

  inStep(step: string): Flow {
    return new Flow(this.strays, this.branch, step, this.#call, this.#before);
  }

  /** Whether this flow made that call itself, or came out of one that did. */
  hasCalled(call: number): boolean {
    if (this.#call === call) return true;
    let flow = this.#before;
    while (flow && flow.#call > call) flow = flow.#before;
    return flow !== undefined && flow.#call === call;
  }
}

/** The run whose course led to where this is called; undefined outside of handlers. For those who listen for uncaught errors. */
export function straysOf(scoped: object | undefined): Strays | undefined {
  return scoped instanceof Flow ? scoped.strays : undefined;
}
