/**
 * subscriptions/listen: a stream that reports changes of the caller's tasks, of lists and of resources until either side ends it.
 *
 * Source: specification 2026-07-28, basic/patterns/subscriptions, and the Tasks extension, "Notifications".
 */
import { owns, ParleyError } from "@parley/core";
import { invalidRequest, type Listen } from "@parley/protocol";
import type { Filter } from "@parley/protocol/stateless";
import { enterStream } from "../../../front-end/gate.ts";
import { ANSWERED, type Handled } from "../shared/answer.ts";
import { openListenStream } from "./listen-stream.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** Throws TOO_MANY_SUBSCRIPTIONS, OVERLOADED. */
export async function listen(route: StatelessRoute, intent: Listen, exchange: StatelessExchange): Promise<Handled> {
  // A client that reads only JSON would wait for the end of a stream that has none.
  if (!exchange.channel.acceptsStream) {
    const { message } = invalidRequest("subscriptions/listen opens a stream: accept text/event-stream", exchange.id);
    exchange.channel.answer({ httpStatus: 406, message });
    return ANSWERED;
  }
  const { listenTasksMax, listenResourcesMax } = route.limits;
  atMost(listenTasksMax, intent.taskIds, "tasks", "PARLEY_LISTEN_TASKS_MAX");
  atMost(listenResourcesMax, intent.resourceSubscriptions, "resources", "PARLEY_LISTEN_RESOURCES_MAX");
  const leave = enterStream(route, exchange.caller);
  exchange.channel.onClose(leave);
  const agreed = await agree(route, intent, exchange);
  exchange.channel.send(exchange.encode.acknowledged(exchange.id, agreed));
  await openListenStream(route, exchange, agreed);
  return ANSWERED;
}

function atMost(limit: number, followed: readonly string[], what: string, setting: string): void {
  if (followed.length > limit)
    throw new ParleyError("TOO_MANY_SUBSCRIPTIONS", `${followed.length} ${what}; the limit is ${limit} (${setting})`);
}

/** Leaves out tasks that do not belong to the caller, so that the response does not reveal whether they exist. */
async function agree({ services }: StatelessRoute, intent: Listen, { caller }: StatelessExchange): Promise<Filter> {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = intent;
  const tasks = await services.store.summaries(intent.taskIds);
  const taskIds = tasks.flatMap((task) => (task && owns(caller, task) && !task.hidden ? [task.id] : []));
  return { taskIds, toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions };
}
