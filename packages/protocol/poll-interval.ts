/**
 * The poll interval of a task that clients receive.
 *
 * It is a tenth of the time since the task last changed, within bounds. A client that polls therefore sees a change at most a tenth late, and polls
 * O(log wait) times instead of O(wait). Any change of the task restores the shortest interval; a client learns of it with the notification of the
 * change, or with its next poll. A task that has ended will not change, so there is nothing to be late for: its interval stays the shortest.
 */
import { isFinished, type Task } from "@parley/core";

/** Takes a task; returns whole milliseconds. */
export type PollInterval = (task: Pick<Task, "status" | "updatedAtMs">) => number;

/** How late a change may be seen, as a share of the wait so far. */
const SHARE = 1 / 10;

export interface PollBounds {
  readonly shortestMs: number;
  /** Raised to the shortest interval if it is less. */
  readonly longestMs: number;
  /** The clock of the tasks' timestamps. */
  readonly now: () => number;
}

export function growingPollInterval({ shortestMs, longestMs, now }: PollBounds): PollInterval {
  return ({ status, updatedAtMs }) => {
    if (isFinished(status)) return shortestMs;
    return Math.max(shortestMs, Math.min(longestMs, Math.floor((now() - updatedAtMs) * SHARE)));
  };
}
