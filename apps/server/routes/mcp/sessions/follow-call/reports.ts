/** What the task of a call reports: progress, logs, pages that have closed. */
import { type FeedItem, isOnPage, type Task } from "@parley/core";
import { waitsForOthers } from "@parley/protocol";
import { elicitationId } from "@parley/protocol/sessions";
import { type FeedPage, feedPages } from "../../shared/feed-pages.ts";
import { increased, reportsOfOthers, stillWaiting } from "../../shared/still-waiting.ts";
import type { SessionExchange, SessionRoute } from "../session-route.ts";
import type { Seen, StreamEvents } from "./stream-events.ts";

export interface Reports {
  /** Sends the feed from `first` on. Returns whether the tool has released its callers. */
  feed(task: Task, first: FeedPage): Promise<boolean>;
  /** Reports Parley's own pages that have closed since the last report, so that the client can remove their links. */
  closedPages(task: Task): void;
  /** Progress for a client that waits for a person, so that its time limit starts again. */
  waiting(task: Task): void;
  /** The same at once when others begin to be asked, when the client has to be told something else of it, and when they are asked no more. */
  others(task: Task): void;
}

export function createReports(route: SessionRoute, exchange: SessionExchange, events: StreamEvents): Reports {
  const { encode, wants, channel, session } = exchange;
  const isCall = events.cursor.stream === "call";
  /** The last progress that the client was told. */
  const from = events.cursor.stream === "call" ? events.cursor : undefined;
  let told = from?.progress;
  /** Keys of the asks whose pages were open at the last report. */
  let openPages: ReadonlySet<string> = new Set();
  const ofOthers = reportsOfOthers({ isBack: from?.waits === true });

  function tell(task: Task): void {
    if (!isCall || !channel.acceptsStream) return;
    const item = stillWaiting(told);
    const notification = encode.waitingNotification(task, item, { capabilities: session.capabilities, wants });
    if (notification) events.send(notification, { ...progressed(item.progress), waits: waitsForOthers(task, session) });
  }

  function progressed(progress: number): Seen {
    told = progress;
    return isCall ? { progress } : {};
  }

  async function report(task: Task, reported: FeedItem): Promise<void> {
    const item = reported.type === "progress" ? increased(reported, told) : reported;
    const visited = item.type === "visited" ? encode.pageDone?.(elicitationId(task.id, item.key)) : undefined;
    const notification = channel.acceptsStream ? (visited ?? encode.feedNotification(item, wants, knownTask(events, task))) : undefined;
    if (!notification) return;
    events.send(notification, item.type === "progress" ? progressed(item.progress) : {});
    await channel.drained();
  }

  return {
    async feed(task, first) {
      let released = false;
      for await (const { items, cursors } of feedPages(route.services.store, task.id, first)) {
        for (const [index, item] of items.entries()) {
          const feed = cursors[index];
          if (feed !== undefined) events.reported(feed);
          await report(task, item);
          released ||= item.type === "release";
        }
        if (channel.closed.aborted) break;
      }
      return released;
    },
    closedPages(task) {
      if (!encode.pageDone || !channel.acceptsStream) return;
      const open = [...task.asks, ...(task.asksOfOthers ?? [])].filter((ask) => isOnPage(ask) && !ask.audience).map(({ key }) => key);
      for (const key of openPages) if (!open.includes(key)) events.send(encode.pageDone(elicitationId(task.id, key)));
      openPages = new Set(open);
    },
    waiting(task) {
      if (task.status === "input_required" || waitsForOthers(task, session)) tell(task);
    },
    others(task) {
      if (ofOthers.isNews(task, waitsForOthers(task, session))) tell(task);
    },
  };
}

/** The task's id, if the client knows the task. */
export function knownTask({ cursor }: Pick<StreamEvents, "cursor">, task: Task): string | undefined {
  return cursor.stream === "result" ? task.id : undefined;
}
