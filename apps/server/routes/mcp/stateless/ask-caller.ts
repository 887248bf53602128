import { cancelTask, noteShown, type Task } from "@parley/core";
import { capabilityRequired, requiredCapabilities, waitsForOthers } from "@parley/protocol";
import { carriedKey } from "../../../seals/request-state.ts";
import { bindingOf } from "./binding.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** How long a requestState outlives the last deadline, so that an answer that is given in the last second can still arrive. */
const STATE_SLACK_MS = 60_000;
/** How long people at an upstream have is not known here. A gateway in front of this server comes back an hour later at most. */
const BEHIND_MS = 2 * 60 * 60_000;

interface AskCaller {
  readonly task: Task;
  readonly feedCursor: string | undefined;
}

/**
 * Asks the caller the open asks of a task: an InputRequiredResult whose requestState leads the retried call back to the task.
 *
 * Throws CAPABILITY_REQUIRED if the client did not declare the capabilities that the asks need. A hidden task is then cancelled, because
 * only this client could answer it.
 */
export async function askCaller(
  route: StatelessRoute,
  called: Called,
  exchange: StatelessExchange,
  { task, feedCursor }: AskCaller,
): Promise<object> {
  const { services } = route;
  const { caller, door, client, encode } = exchange;
  const required = requiredCapabilities(
    task.asks.map(({ request }) => request),
    client.capabilities,
  );
  if (required) {
    if (task.call.hidden)
      await cancelTask(services, {
        taskId: task.id,
        caller,
        door,
        reason: "The client cannot be asked what the call needs.",
      });
    throw capabilityRequired(`${called.kind} ${called.name}`, required);
  }
  const deadlineMs = Math.max(...task.asks.map((ask) => ask.deadlineMs));
  const sealed = await route.states.seal({
    ...bindingOf(services, called, caller),
    taskId: task.id,
    asked: task.asks.map(({ key }) => carriedKey(key)),
    deadlineMs,
    expiresAtMs: deadlineMs + STATE_SLACK_MS,
    ...(feedCursor === undefined ? {} : { feedCursor }),
  });
  noteShown(services, exchange, task, task.asks);
  return encode.inputRequired(task.asks, sealed);
}

/**
 * Hands a waiting call over to another front end, or to a later time: an InputRequiredResult without questions, whose requestState finds
 * the task again. The specification provides this for a server that sheds load.
 */
export async function handOver(
  route: StatelessRoute,
  called: Called,
  exchange: StatelessExchange,
  { task, feedCursor }: AskCaller,
): Promise<object> {
  const nowMs = route.services.clock.now();
  // Other people may take days to answer.
  const deadlinesMs = (task.asksOfOthers ?? []).map((ask) => ask.deadlineMs);
  const behindMs = waitsForOthers(task, exchange.client) ? BEHIND_MS : 0;
  const deadlineMs = Math.max(nowMs + behindMs, ...deadlinesMs);
  const sealed = await route.states.seal({
    ...bindingOf(route.services, called, exchange.caller),
    taskId: task.id,
    asked: [],
    deadlineMs,
    expiresAtMs: deadlineMs + route.times.callTimeoutMs,
    ...(feedCursor === undefined ? {} : { feedCursor }),
  });
  return exchange.encode.handedOver(task, sealed, exchange.client);
}
