/** Notifications: those of a listen stream, which all carry its id, and those on the stream of a call (S26 basic/patterns/subscriptions). */
import { LOG_LEVELS, type FeedItem, type JsonObject } from "@parley/core";
import { notificationMessage, type RequestId, type RpcNotification } from "../json-rpc.ts";
import type { ClientFacts, Listen } from "./intents.ts";
import { SUBSCRIPTION_ID } from "./names.ts";

export type ListKind = "tools" | "prompts" | "resources";

/** What a listen stream tells of. */
export type Filter = Pick<Listen, "taskIds" | "toolsListChanged" | "promptsListChanged" | "resourcesListChanged" | "resourceSubscriptions">;

/** Names only what was agreed to: kinds that are off and lists that are empty are left out. */
export function acknowledged(subscriptionId: RequestId, agreed: Filter): RpcNotification {
  const { taskIds, toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = agreed;
  return notificationMessage("notifications/subscriptions/acknowledged", {
    _meta: { [SUBSCRIPTION_ID]: subscriptionId },
    notifications: {
      ...(taskIds.length === 0 ? {} : { taskIds }),
      ...(toolsListChanged ? { toolsListChanged } : {}),
      ...(promptsListChanged ? { promptsListChanged } : {}),
      ...(resourcesListChanged ? { resourcesListChanged } : {}),
      ...(resourceSubscriptions.length === 0 ? {} : { resourceSubscriptions }),
    },
  });
}

export function listChanged(kind: ListKind, subscriptionId: RequestId): RpcNotification {
  return notificationMessage(`notifications/${kind}/list_changed`, { _meta: { [SUBSCRIPTION_ID]: subscriptionId } });
}

export function resourceUpdated(uri: string, subscriptionId: RequestId): RpcNotification {
  return notificationMessage("notifications/resources/updated", { _meta: { [SUBSCRIPTION_ID]: subscriptionId }, uri });
}

export function listenEnd(subscriptionId: RequestId, meta: JsonObject): object {
  return { resultType: "complete", _meta: { ...meta, [SUBSCRIPTION_ID]: subscriptionId } };
}

/** MUST NOT be sent to a client that gave no progress token, or no log level, with the very request. */
export function feedNotification(
  item: FeedItem,
  { progressToken, logLevel }: Pick<ClientFacts, "progressToken" | "logLevel">,
): RpcNotification | undefined {
  switch (item.type) {
    case "progress": {
      const { type: _, ...progress } = item;
      return progressToken === undefined ? undefined : notificationMessage("notifications/progress", { progressToken, ...progress });
    }
    case "log": {
      const { type: _, ...log } = item;
      const wanted = logLevel !== undefined && LOG_LEVELS.indexOf(item.level) >= LOG_LEVELS.indexOf(logLevel);
      return wanted ? notificationMessage("notifications/message", log) : undefined;
    }
  }
}
