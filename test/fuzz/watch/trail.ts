/** Which cases were under way when: a rule of the whole run is broken at a time, not by a reply. */

export interface Trail {
  /** Notes a case. Call what it returns when the case is over. */
  begin(step: Step): () => void;
  /** The cases that were under way, those that took longest first. */
  during(fromMs: number, toMs: number): readonly Step[];
}

export interface Step {
  readonly name: string;
  /** Sends the case once more. */
  readonly again: () => Promise<void>;
}

interface Span extends Step {
  readonly fromMs: number;
  toMs: number;
}

const KEPT = 20_000;

export function createTrail(): Trail {
  const steps: Span[] = [];
  return {
    begin(begun) {
      const step = { ...begun, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      steps.push(step);
      if (steps.length > KEPT) steps.splice(0, KEPT / 2);
      return () => {
        step.toMs = Date.now();
      };
    },
    during: (fromMs, toMs) =>
      steps.filter((step) => step.fromMs <= toMs && step.toMs >= fromMs).toSorted((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs)),
  };
}
