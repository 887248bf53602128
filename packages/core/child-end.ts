/** What a parent's journal holds of its child's end: an answer that nobody but the child's own last run gives. */
import type { ChildEnd } from "./effects.ts";
import type { EntryOutcome } from "./journal.ts";
import type { Answer, Json, JsonObject, Outcome, RpcError } from "./task.ts";

/** What every client would be told of the child, and no more. */
export function answerOfChild(outcome: Outcome): Answer {
  const content = outcome.type === "result" ? { result: outcome.result } : { error: { ...outcome.error } as unknown as Json };
  return { action: "accept", content };
}

export function childEndOf(outcome: EntryOutcome): ChildEnd {
  if (outcome.type !== "answer") return { type: "cancelled" };
  const { answer } = outcome;
  if (answer.action !== "accept") return { type: answer.action === "timeout" ? "timeout" : "withdrawn" };
  const { result, error } = (answer.content ?? {}) as { readonly result?: JsonObject; readonly error?: unknown };
  return result === undefined ? { type: "error", error: error as RpcError } : { type: "result", result };
}
