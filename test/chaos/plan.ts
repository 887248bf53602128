/** The plan of a lifecycle, drawn before it begins: what the tool does, and how the person behaves. */
import type { Random } from "./random.ts";

export type Action =
  | { readonly do: "step"; readonly name: string; readonly workMs: number }
  /** Questions that are put together. With a timeout they become NOBODY's answer. */
  | { readonly do: "ask"; readonly names: readonly string[]; readonly timeoutMs?: number }
  | { readonly do: "sleep"; readonly name: string; readonly ms: number };

/** How the person behaves. */
export type Manner =
  /** Answers every question. */
  | "answers"
  /** Answers each question several times at once, each time with another value. */
  | "races"
  /** Answers, then says the same again, then something else; once more when the task has ended. */
  | "repeats"
  /** Cancels at a question, or at once. */
  | "cancels"
  /** Answers all but the last question, which is still open at the end. */
  | "leaves"
  /** Does not answer what has a timeout. */
  | "ignores"
  /** Answers what has a timeout at about its deadline. */
  | "hurries";

export interface Plan {
  readonly lifecycle: number;
  readonly manner: Manner;
  readonly actions: readonly Action[];
  /** Before which question a person cancels; 0 is at once. */
  readonly cancelAt: number;
}

/** The answer of an ask that timed out. */
export const NOBODY = "nobody";

const MANNERS: Readonly<Record<Manner, number>> = { answers: 7, races: 4, repeats: 3, cancels: 2, leaves: 2, ignores: 1, hurries: 1 };

export function drawPlan(random: Random, lifecycle: number): Plan {
  const manner = random.weighted(MANNERS);
  const questions = random.between(1, 3);
  const timed = manner === "ignores" || manner === "hurries";
  const actions: Action[] = [];
  for (let question = 1; question <= questions; question += 1) {
    if (random.chance(0.8)) actions.push(drawStep(random, `step-${question}`));
    if (random.chance(0.15)) actions.push({ do: "sleep", name: `sleep-${question}`, ms: random.between(1_100, 2_500) });
    const names = random.chance(0.2) ? [`ask-${question}`, `ask-${question}-too`] : [`ask-${question}`];
    actions.push({ do: "ask", names, ...(timed && { timeoutMs: random.between(1_000, 3_000) }) });
  }
  actions.push(drawStep(random, "last"));
  return { lifecycle, manner, actions, cancelAt: random.between(0, questions) };
}

/** Most steps are quick; some take long enough for a worker to be stopped, replaced and woken again in the middle. */
function drawStep(random: Random, name: string): Action {
  return { do: "step", name, workMs: random.chance(0.15) ? random.between(500, 2_500) : random.between(0, 30) };
}

/** Every question of a plan, in order. */
export function asksOf({ actions }: Plan): string[] {
  return actions.flatMap((action) => (action.do === "ask" ? action.names : []));
}

/** The last questions to be put: what a person that leaves does not answer. */
export function lastAsksOf({ actions }: Plan): readonly string[] {
  const last = actions.findLast((action) => action.do === "ask");
  return last?.do === "ask" ? last.names : [];
}
