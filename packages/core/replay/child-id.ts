/**
 * The id of a child is derived from the call that creates it. A call that is repeated after a crash therefore finds
 * the child that it created before.
 *
 *   0-YuagbDh7XfhieSlD0dvNkQ      a task that a client called
 *   0-Bq3nPo…(22 characters)~     its child: the same partition, the same key word if content is sealed, and the mark of a child
 *
 * It is derived from the parent's secret seed, so it cannot be guessed (I10).
 */
import { canonicalJson } from "../values/canonical-json.ts";
import type { Digest } from "../ports.ts";
import type { ToolCall } from "../effects.ts";

/** Ends the id of every child, so that stores recognise one without a lookup. */
const MARK = "~";

/** Characters at the end of an id that distinguish it from others. A digest has as many. */
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
