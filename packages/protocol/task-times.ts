/** A task's times as clients see them. */
import type { Task } from "@parley/core";

/**
 * Counted from the task's creation. An unfinished task never expires; what is promised is what would be left if it ended with its last change,
 * so that the same task reads the same until it changes.
 */
export function ttlMs({ call, updatedAtMs, expiresAtMs }: Task): number {
  return Math.trunc((expiresAtMs ?? updatedAtMs + call.retentionMs) - call.createdAtMs);
}

export function taskTimes(task: Task): { readonly createdAt: string; readonly lastUpdatedAt: string } {
  return { createdAt: new Date(task.call.createdAtMs).toISOString(), lastUpdatedAt: new Date(task.updatedAtMs).toISOString() };
}
