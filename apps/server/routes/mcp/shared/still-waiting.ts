import type { FeedItem, Task } from "@parley/core";

type Progress = Extract<FeedItem, { type: "progress" }>;

/**
 * The progress to report after `last`: it must increase with every notification (specification, basic/utilities/progress). An upstream that is called
 * again starts again, and one that a person kept waiting does not know what its caller was told meanwhile. Then it increases by next to nothing.
 */
export function increased(item: Progress, last: number | undefined): Progress {
  if (last === undefined || item.progress > last) return item;
  return { ...item, progress: last + Math.max(1e-6, Math.abs(last) * Number.EPSILON) };
}

/**
 * The report of a call that waits for a person, whose progress was `last` so far. Many clients give up a request after a minute without
 * progress, and a person may take longer to answer.
 */
export function stillWaiting(last = 0): Progress {
  return increased({ type: "progress", progress: last, message: "Waiting for an answer." }, last);
}

/**
 * Finds out when a call has to say that it waits for others: once when they begin to be asked, again when its status says something else of it, and once
 * when they are asked no more. A gateway behind which this server is needs to know at once, and not at the next heartbeat.
 *
 * `isBack`: the client has heard that others are asked, and comes back. They may have answered meanwhile.
 */
export function reportsOfOthers({ isBack }: { readonly isBack: boolean }): { isNews(task: Task, areAsked: boolean): boolean } {
  let told = isBack ? 0 : undefined;
  return {
    isNews({ revision }, areAsked) {
      const before = told;
      told = areAsked ? revision : undefined;
      return told !== before;
    },
  };
}
