/** What a run reports, as notifications on the stream of its call. */
import { LOG_LEVELS, type FeedItem } from "@parley/core";
import type { Wants } from "./intents.ts";
import { notificationMessage, type RpcNotification } from "./json-rpc.ts";

/** MUST NOT be sent to a client that gave no progress token, or no log level. `more` joins the params. */
export function feedNotification(item: FeedItem, { progressToken, logLevel }: Wants, more: object = {}): RpcNotification | undefined {
  if (item.type === "progress") {
    const { type: _, ...progress } = item;
    return progressToken === undefined ? undefined : notificationMessage("notifications/progress", { progressToken, ...progress, ...more });
  }
  if (item.type === "log") {
    const { type: _, ...log } = item;
    const wanted = logLevel !== undefined && LOG_LEVELS.indexOf(item.level) >= LOG_LEVELS.indexOf(logLevel);
    return wanted ? notificationMessage("notifications/message", { ...log, ...more }) : undefined;
  }
  // The other items are for front ends, and for pages and terminals that show a feed.
  return undefined;
}
