/**
 * The id of a child follows from the call that makes it, so that a call which is made again after a crash finds the child that it made.
 *
 *   0-YuagbDh7XfhieSlD0dvNkQ      a task that a client called
 *   0-Bq3nPo…(22 characters)~     its child: the same partition, and the same word of a key where content is sealed; the mark says what it is
 *
 * It is made of the parent's secret seed, so nobody guesses it (I10).
 */
import { canonicalJson } from "./canonical-json.ts";
import type { Digest } from "./ports.ts";
import type { ToolCall } from "./effects.ts";

/** Ends the id of every child, so that stores know one without looking. */
const MARK = "~";

/** Characters of an id that tell it from others, at its end; a digest has as many. */
const OWN_CHARS = 22;

export function isChildId(taskId: string): boolean {
  return taskId.endsWith(MARK);
}

export function childId(digest: Digest, parent: { readonly id: string; readonly seed: string }, key: string, call: ToolCall): string {
  const { id, seed } = parent;
  const own = isChildId(id) ? id.slice(0, -MARK.length) : id;
  const head = own.length > OWN_CHARS ? own.slice(0, -OWN_CHARS) : own.slice(0, own.indexOf("-") + 1);
  const text = canonicalJson({ parent: id, key, tool: call.tool, arguments: call.arguments });
  return `${head}${digest(`${seed} child ${text}`).slice(0, OWN_CHARS)}${MARK}`;
}
