/** A task's times as clients see them. */
import { isFinished, type Task } from "@parley/core";

/** Counted from the task's creation. An unfinished task is kept at least its retention longer than now, so its time grows with every look. */
export function ttlMs({ call, status, expiresAtMs }: Task, nowMs: number): number {
  if (isFinished(status)) return Math.trunc(expiresAtMs - call.createdAtMs);
  return Math.trunc(Math.max(call.retentionMs, nowMs - call.createdAtMs + call.retentionMs));
}

export function taskTimes(task: Task): { readonly createdAt: string; readonly lastUpdatedAt: string } {
  return { createdAt: new Date(task.call.createdAtMs).toISOString(), lastUpdatedAt: new Date(task.updatedAtMs).toISOString() };
}
