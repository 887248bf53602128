/**
 * Helpers such as `ask.confirm(…)` that a generator has made and not yielded. Without its `yield*`, `if (ask.confirm(…))` is always true, and no one
 * is asked.
 *
 * A helper belongs to the generator in whose turn it is made. What an async generator makes after an await of its own belongs to none.
 */
import { ParleyError } from "@parley/core";

/** The helpers of one tool that have not been yielded, as an author writes them. */
export type Unyielded = Set<{ readonly helper: string }>;

let current: Unyielded | undefined;

/** Runs one turn of a generator. */
export function during<T>(unyielded: Unyielded, turn: () => T): T {
  const before = current;
  current = unyielded;
  try {
    return turn();
  } finally {
    current = before;
  }
}

/** Notes a helper. Returns what to call when it is yielded. */
export function noteMade(helper: string): () => void {
  const made = { helper };
  const unyielded = current;
  unyielded?.add(made);
  return () => void unyielded?.delete(made);
}

/** To be called when the tool has ended. Throws NOT_AWAITED. */
export function assertAllYielded(unyielded: Unyielded): void {
  const [first] = unyielded;
  if (first) throw new ParleyError("NOT_AWAITED", `${first.helper} was never yielded`);
}
