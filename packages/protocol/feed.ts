/** A run's reports as notifications on the stream of its call. */
import { LOG_LEVELS, type FeedItem } from "@parley/core";
import type { Wants } from "./intents.ts";
import { notificationMessage, type RpcNotification } from "./json-rpc.ts";

/** Undefined if the client gave no progress token or no log level: it MUST NOT get such notifications. `more` is added to the params. */
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
  // The other kinds of items are for front ends, pages and terminals.
  return undefined;
}
