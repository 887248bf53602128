/**
 * How long a client is told to wait before it asks for a task's state again.
 *
 * A tenth of the time for which nothing has happened to the task, within bounds: who polls sees a change at most a tenth later than it could
 * have, and asks O(log) times of the wait instead of O(wait). Any change of the task brings the shortest interval back, which clients that are
 * told of changes learn with the change, and the others with their next look.
 */

/** `unchangedSinceMs`: when something last happened to the task. In milliseconds, a whole number. */
export type PollInterval = (unchangedSinceMs: number) => number;

/** The share of the wait so far by which a change may be seen late. */
const SHARE = 1 / 10;

export interface PollBounds {
  readonly shortestMs: number;
  /** Counts as the shortest one where it is less. */
  readonly longestMs: number;
  /** The clock by which tasks are dated. */
  readonly now: () => number;
}

export function growingPollInterval({ shortestMs, longestMs, now }: PollBounds): PollInterval {
  return (unchangedSinceMs) => Math.max(shortestMs, Math.min(longestMs, Math.floor((now() - unchangedSinceMs) * SHARE)));
}
