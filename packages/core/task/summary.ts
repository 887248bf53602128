/**
 * What a list shows of a task. It is small however large the task's arguments, questions and outcome are. Stores keep
 * it separately, so that a page of a thousand tasks reads no more than it shows.
 */
import type { Outcome, Task, TaskStatus } from "../task.ts";

export interface TaskSummary {
  readonly id: string;
  readonly principal: string;
  readonly tenant?: string;
  readonly hidden: boolean;
  readonly status: TaskStatus;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly retentionMs: number;
  readonly expiresAtMs?: number;
  /** The tool's status message. */
  readonly message?: string;
  /** What went wrong: the message of a failed call or of a result with `isError`; `""` if there is none. */
  readonly problem?: string;
}

/** Maximum characters of a problem in lists. */
export const PROBLEM_CHARS = 1_000;

/** Maximum size of the summaries on one page, in characters of JSON. A page always has at least one task. */
export const PAGE_SIZE_MAX = 1_048_576;

export function summaryOf(task: Task): TaskSummary {
  const { id, call, status, updatedAtMs, expiresAtMs, message, outcome } = task;
  const { principal, tenant, hidden, createdAtMs, retentionMs } = call;
  const problem = outcome && problemOf(outcome);
  return {
    id,
    principal,
    ...(tenant !== undefined && { tenant }),
    hidden,
    status,
    createdAtMs,
    updatedAtMs,
    retentionMs,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(message !== undefined && { message }),
    ...(problem !== undefined && { problem }),
  };
}

/** Undefined for a successful result. */
export function problemOf(outcome: Outcome): string | undefined {
  if (outcome.type === "error") return outcome.error.message.slice(0, PROBLEM_CHARS);
  return outcome.result["isError"] === true ? firstText(outcome.result["content"]).slice(0, PROBLEM_CHARS) : undefined;
}

function firstText(content: unknown): string {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  for (const block of blocks) {
    const { type, text } = (block ?? {}) as { readonly type?: unknown; readonly text?: unknown };
    if (type === "text" && typeof text === "string") return text;
  }
  return "";
}
