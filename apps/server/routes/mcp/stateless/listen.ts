/**
 * subscriptions/listen: a stream that says which of the caller's tasks, lists and resources have changed, until either side ends it.
 *
 * Source: specification 2026-07-28, basic/patterns/subscriptions, and the Tasks extension, "Notifications".
 */
import { ParleyError } from "@parley/core";
import type { ClientFacts, Filter, Listen } from "@parley/protocol/stateless";
import { openListenStream } from "./listen-stream.ts";
import { type Exchange, type Handled, type Mcp, STREAMING } from "./mcp.ts";

/** Throws TOO_MANY_SUBSCRIPTIONS, OVERLOADED. */
export async function listen(mcp: Mcp, intent: Listen & ClientFacts, exchange: Exchange): Promise<Handled> {
  const { listenTasksMax, listenResourcesMax } = mcp.limits;
  atMost(listenTasksMax, intent.taskIds, "tasks", "PARLEY_LISTEN_TASKS_MAX");
  atMost(listenResourcesMax, intent.resourceSubscriptions, "resources", "PARLEY_LISTEN_RESOURCES_MAX");
  const leave = mcp.listens.enter();
  exchange.outlet.onClose(leave);
  const agreed = await agree(mcp, intent, exchange);
  exchange.outlet.send(mcp.encode.acknowledged(exchange.id, agreed));
  await openListenStream(mcp, exchange, agreed);
  return STREAMING;
}

function atMost(limit: number, followed: readonly string[], what: string, setting: string): void {
  if (followed.length > limit)
    throw new ParleyError("TOO_MANY_SUBSCRIPTIONS", `${followed.length} ${what}; the limit is ${limit} (${setting})`);
}

/** Leaves out the tasks that are not the caller's: nobody learns whether they exist. */
async function agree({ services }: Mcp, intent: Listen, { principal }: Exchange): Promise<Filter> {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = intent;
  const tasks = await services.store.summaries(intent.taskIds);
  const taskIds = tasks.flatMap((task) => (task?.principal === principal && !task.hidden ? [task.id] : []));
  return { taskIds, toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions };
}
