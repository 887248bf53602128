/**
 * What a list shows of a task: little, however large its arguments, questions and outcome are. Stores keep what it needs apart from the rest, so
 * that a page of a thousand tasks reads no more than it shows.
 */
import type { Outcome, Task, TaskStatus } from "./task.ts";

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
  /** What the tool says that it is doing. */
  readonly message?: string;
  /** What went wrong, of a call that failed or whose tool said no; `""` if that was not said. */
  readonly problem?: string;
}

/** Characters of a problem that are kept for lists. */
export const PROBLEM_CHARS = 1_000;

/** What the tasks of one page may have to say in all, in characters of JSON; one task is always shown. */
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

/** Undefined for a result that says yes. */
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
