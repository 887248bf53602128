/**
 * Reads the feed of a task one page at a time. A stream holds only the page that its client has not read yet: a feed may have a thousand
 * items of 8 kB, and a front end holds thousands of streams, so whole feeds would fill its memory.
 */
import { FEED_LENGTH_MAX, type TaskStore } from "@parley/core";

/** Items per page. Fewer would cost a busy feed more round trips. */
export const FEED_PAGE = 16;

type FeedStore = Pick<TaskStore, "feed">;
export type FeedPage = Awaited<ReturnType<TaskStore["feed"]>>;

export function readFeedPage(store: FeedStore, taskId: string, cursor: string | undefined): Promise<FeedPage> {
  return store.feed(taskId, cursor, FEED_PAGE);
}

/**
 * `first` and the pages that follow it, up to as many items as a feed keeps: a tool that reports faster than the client reads must not keep
 * the stream from its other work.
 */
export async function* feedPages(store: FeedStore, taskId: string, first: FeedPage): AsyncGenerator<FeedPage, void> {
  let page = first;
  for (let items = page.items.length; ; items += page.items.length) {
    yield page;
    if (page.items.length < FEED_PAGE || items >= FEED_LENGTH_MAX) return;
    page = await readFeedPage(store, taskId, page.cursor);
  }
}
