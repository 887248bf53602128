/** Notifications of a listen stream, which all carry its id (S26 basic/patterns/subscriptions). */
import type { JsonObject } from "@parley/core";
import { notificationMessage, type RequestId, type RpcNotification } from "../../json-rpc.ts";
import type { Listen } from "./intents.ts";
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
