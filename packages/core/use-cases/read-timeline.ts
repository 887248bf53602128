import { inOrder, type JournalLine } from "../journal.ts";
import type { FeedItem, Task } from "../task.ts";
import { getOwnTask, type TaskRef } from "./get-task.ts";
import type { Services } from "./services.ts";

/** Journal lines and feed items in one look at a timeline. */
export const TIMELINE_LINES_MAX = 500;
export const TIMELINE_ITEMS_MAX = 200;

export interface ReadTimeline extends TaskRef {
  /** From an earlier look: only feed items behind it are read. */
  readonly after?: string;
}

export interface Timeline {
  readonly task: Task;
  /** In the order in which they settled; the newest, where there are more than a look shows. */
  readonly lines: readonly JournalLine[];
  /** Entries in all, and how many of them a replay settles. */
  readonly entries: number;
  readonly settled: number;
  /** The oldest behind `after`. */
  readonly items: readonly FeedItem[];
  /** Where to continue; undefined while the feed is empty. */
  readonly cursor: string | undefined;
  /** More items wait behind the cursor. */
  readonly more: boolean;
}

/**
 * What a task has done so far: its state, what its journal holds without what was said in it, and what it has reported. For its owner alone, and
 * read as it is: nothing waits, nothing is noted as shown. Throws TASK_NOT_FOUND, NOT_PERMITTED, INVALID_CURSOR.
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
