/** What must hold in every case. */
export const RULES = {
  "mix-up": "a result or an answer reaches the branch that asked for it",
  key: "an idempotency key belongs to one branch, and a branch's step has one key",
  input: "each try of a step sees the same facts and decisions",
  beside: "no two tries of a step run at once while their worker lives",
  repeat: "what is recorded is not done again, and nothing is done again without a fault",
  leftover: "nothing of a run is at work once it has parked or ended",
  order: "each run sees what the runs before it saw, in the same order",
  equal: "a task ends as its handler would without crashes and replays",
  answer: "an ask settles with the answer that was accepted",
  shown: "people are shown what the handler waits for, and nothing else",
  end: "every task comes to its end once it has all answers and time",
  failure: "no task is failed whose handler replay can reproduce",
  skipped: "no task completes over recorded work that its last run did not ask for",
  unhandled: "no rejection of a handler reaches the process",
  undone: "what a task has done is undone if it ends without its result, each thing once, and only then",
  displaced: "a run keeps its task while its worker lives and its lease lasts",
} as const satisfies Record<string, string>;

export type Rule = keyof typeof RULES;

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
}

/** Rules that a task may break which then fails loudly, where its handler did what replay cannot see. */
export const SILENT: ReadonlySet<Rule> = new Set<Rule>([
  "mix-up",
  "key",
  "input",
  "repeat",
  "order",
  "answer",
  "shown",
  "failure",
  "skipped",
]);

/**
 * Rules that a task may break which was refused because it calls beside other code after an await of something that is not ctx. Whose result is
 * whose, and what is done, is none of them.
 */
export const REFUSED: ReadonlySet<Rule> = new Set<Rule>(["order", "shown", "failure", "skipped"]);

/** By these a task says itself that its handler cannot be replayed: new code may no longer await what the old code began. */
export const LOUD: ReadonlySet<string> = new Set(["REPLAY_DIVERGED", "AMBIGUOUS_EFFECT", "UNHANDLED_REJECTION"]);
