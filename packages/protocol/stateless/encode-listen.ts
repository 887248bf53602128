/** Messages of a listen stream. All of them carry its id (S26 basic/patterns/subscriptions). */
import { notificationMessage, type RequestId, type RpcNotification } from "../json-rpc.ts";
import type { Filter } from "./intents.ts";
import { SUBSCRIPTION_ID } from "./names.ts";

/** Contains only what was accepted: flags that are off and empty lists are left out. */
export function acknowledged(subscriptionId: RequestId, agreed: Filter): RpcNotification {
  const { taskIds, toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = agreed;
  return notificationMessage("notifications/subscriptions/acknowledged", {
    ...subscribed(subscriptionId),
    notifications: {
      ...(taskIds.length === 0 ? {} : { taskIds }),
      ...(toolsListChanged ? { toolsListChanged } : {}),
      ...(promptsListChanged ? { promptsListChanged } : {}),
      ...(resourcesListChanged ? { resourcesListChanged } : {}),
      ...(resourceSubscriptions.length === 0 ? {} : { resourceSubscriptions }),
    },
  });
}

/** Additional params of every notification in a listen stream. */
export function subscribed(subscriptionId: RequestId): object {
  return { _meta: { [SUBSCRIPTION_ID]: subscriptionId } };
}
