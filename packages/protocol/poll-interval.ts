/**
 * The poll interval of a task that clients receive.
 *
 * It is a tenth of the time since the task last changed, within bounds. A client that polls therefore sees a change at most a tenth late, and polls
 * O(log wait) times instead of O(wait). Any change of the task restores the shortest interval; a client learns of it with the notification of the
 * change, or with its next poll.
 */

/** Takes the time at which the task last changed; returns whole milliseconds. */
export type PollInterval = (unchangedSinceMs: number) => number;

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
  return (unchangedSinceMs) => Math.max(shortestMs, Math.min(longestMs, Math.floor((now() - unchangedSinceMs) * SHARE)));
}
