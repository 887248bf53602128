/** How a child's end is recorded in its parent's journal: as an answer that only the child's own last run can give. */
import type { ChildEnd } from "../effects.ts";
import type { ErrorCode } from "../errors.ts";
import type { EntryOutcome } from "../journal.ts";
import type { Answer, Json, JsonObject, Outcome, RpcError } from "../task.ts";

/** Exactly what a client would receive as the child's result. */
export function answerOfChild(outcome: Outcome): Answer {
  const content = outcome.type === "result" ? { result: outcome.result } : { error: { ...outcome.error } as unknown as Json };
  return { action: "accept", content };
}

/** Recorded in place of an end that the parent's journal has no room for. */
export const CHILD_END_TOO_LARGE: EntryOutcome = {
  type: "error",
  name: "JOURNAL_FULL" satisfies ErrorCode,
  message: "the results of the tools that the task has called exceed what its journal may hold (PARLEY_JOURNAL_SIZE_MAX)",
};

export function childEndOf(outcome: EntryOutcome): ChildEnd {
  if (outcome.type !== "answer") return { type: "cancelled" };
  const { answer } = outcome;
  if (answer.action !== "accept") return { type: answer.action === "timeout" ? "timeout" : "withdrawn" };
  const { result, error } = (answer.content ?? {}) as { readonly result?: JsonObject; readonly error?: unknown };
  return result === undefined ? { type: "error", error: error as RpcError } : { type: "result", result };
}
