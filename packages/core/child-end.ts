/** What a parent's journal holds of its child's end: an answer that nobody but the child's own last run gives. */
import type { ChildEnd } from "./effects.ts";
import type { ErrorCode } from "./errors.ts";
import type { EntryOutcome } from "./journal.ts";
import type { Answer, Json, JsonObject, Outcome, RpcError } from "./task.ts";

/** What every client would be told of the child, and no more. */
export function answerOfChild(outcome: Outcome): Answer {
  const content = outcome.type === "result" ? { result: outcome.result } : { error: { ...outcome.error } as unknown as Json };
  return { action: "accept", content };
}

/** What a task is told in place of an end for which it has no room. */
export const UNTOLD: EntryOutcome = {
  type: "error",
  name: "JOURNAL_FULL" satisfies ErrorCode,
  message: "what came of the tools that the task has called is as much as it may be told (PARLEY_JOURNAL_SIZE_MAX)",
};

export function childEndOf(outcome: EntryOutcome): ChildEnd {
  if (outcome.type !== "answer") return { type: "cancelled" };
  const { answer } = outcome;
  if (answer.action !== "accept") return { type: answer.action === "timeout" ? "timeout" : "withdrawn" };
  const { result, error } = (answer.content ?? {}) as { readonly result?: JsonObject; readonly error?: unknown };
  return result === undefined ? { type: "error", error: error as RpcError } : { type: "result", result };
}
