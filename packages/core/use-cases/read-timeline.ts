/** What a task has done so far, for the timeline of the playground: lines of its journal and items of its feed. */
import { inOrder, type JournalLine } from "../journal.ts";
import type { FeedItem, Task } from "../task.ts";
import { getOwnTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

/** Maximum number of journal lines and of feed items per read. */
export const TIMELINE_LINES_MAX = 500;
export const TIMELINE_ITEMS_MAX = 200;

export interface ReadTimeline extends TaskRef {
  /** Cursor of an earlier read: only later feed items are read. */
  readonly after?: string;
}

export interface Timeline {
  readonly task: Task;
  /** In the order in which they settled. If there are too many for one read, the newest. */
  readonly lines: readonly JournalLine[];
  /** Total number of entries, and how many of them a replay settles. */
  readonly entries: number;
  readonly settled: number;
  /** The oldest ones after `after`. */
  readonly items: readonly FeedItem[];
  /** Where to continue; undefined while the feed is empty. */
  readonly cursor: string | undefined;
  /** There are more items after the cursor. */
  readonly more: boolean;
}

/**
 * What a task has done so far: its state, its journal without content, and its feed. For its owner only. A pure read:
 * it does not wait, and notes nothing as shown. Throws TASK_NOT_FOUND, NOT_PERMITTED, INVALID_CURSOR.
 */
export async function readTimeline(services: Services, { after, ...ref }: ReadTimeline): Promise<Timeline> {
  const { store } = services;
  const task = await getOwnTask(services, ref);
  const [journal, { items, cursor }] = await Promise.all([store.journal(task.id), store.feed(task.id, after, TIMELINE_ITEMS_MAX)]);
  return {
    task,
    lines: inOrder(journal).slice(-TIMELINE_LINES_MAX),
    entries: journal.length,
    settled: journal.filter(({ place }) => place !== undefined).length,
    items,
    cursor,
    more: items.length === TIMELINE_ITEMS_MAX,
  };
}
