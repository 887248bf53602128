import type { FeedItem } from "@parley/core";

/**
 * The report of a call that waits for a person, whose progress was `last` so far. Many clients give up a request after a minute without
 * progress, and a person may take longer to answer.
 */
export function stillWaiting(last = 0): Extract<FeedItem, { type: "progress" }> {
  // Progress must increase with every notification. Nothing was done, so it increases by next to nothing.
  const least = Math.max(1e-6, Math.abs(last) * Number.EPSILON);
  return { type: "progress", progress: last + least, message: "Waiting for an answer." };
}
