/** A task's times as clients see them. */
import type { TaskSummary } from "@parley/core";

type Times = Pick<TaskSummary, "createdAtMs" | "updatedAtMs" | "retentionMs" | "expiresAtMs">;

/**
 * Counted from the task's creation. An unfinished task never expires; its ttl assumes that it ended with its last change, so that the value stays
 * the same until the task changes.
 */
export function ttlMs({ createdAtMs, updatedAtMs, retentionMs, expiresAtMs }: Times): number {
  return Math.trunc((expiresAtMs ?? updatedAtMs + retentionMs) - createdAtMs);
}

/** A change may be stamped by a machine whose clock is behind that of the one which created the task: nothing changes before it exists. */
export function taskTimes({ createdAtMs, updatedAtMs }: Times): { readonly createdAt: string; readonly lastUpdatedAt: string } {
  return { createdAt: new Date(createdAtMs).toISOString(), lastUpdatedAt: new Date(Math.max(createdAtMs, updatedAtMs)).toISOString() };
}
