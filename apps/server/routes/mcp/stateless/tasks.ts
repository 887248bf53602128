import { answerTask, canBeAsked, cancelTask as cancel, getSettledTask, noteShown, type Task } from "@parley/core";
import type { CancelTask, GetTask, UpdateTask } from "@parley/protocol";
import { throwIfRefused } from "../shared/refusals.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** tasks/get. Throws TASK_NOT_FOUND. */
export async function getTask({ services }: StatelessRoute, { taskId }: GetTask, exchange: StatelessExchange): Promise<object> {
  const { caller, client, encode } = exchange;
  const task = await getSettledTask(services, { taskId, caller });
  noteSent(services, exchange, task);
  return encode.detailedTask(task, client);
}

/** A state of the task has the questions that this client declared it can be asked. The others are not shown to it. */
export function noteSent(services: StatelessRoute["services"], exchange: StatelessExchange, task: Task): void {
  const sent = task.asks.filter(({ request }) => canBeAsked(request, exchange.client.capabilities));
  noteShown(services, exchange, task, sent);
}

/**
 * tasks/update: acknowledges late, repeated and unknown answers alike, as the specification requires; the receipts in `_meta` distinguish
 * them. Throws INVALID_ANSWER for answers that do not fit their ask, after the others were accepted; TASK_NOT_FOUND; TOO_MANY_ANSWERS.
 */
export async function updateTask(
  { services, urlOf }: StatelessRoute,
  { taskId, replies }: UpdateTask,
  { caller, door, encode }: StatelessExchange,
): Promise<object> {
  const { receipts } = await answerTask(services, { taskId, caller, door, replies });
  throwIfRefused(receipts, { taskId, urlOf });
  return encode.acknowledgement(receipts);
}

/** tasks/cancel: a task that has already ended gets the same acknowledgement. Throws TASK_NOT_FOUND. */
export async function cancelTask(
  { services }: StatelessRoute,
  { taskId }: CancelTask,
  { caller, door, encode }: StatelessExchange,
): Promise<object> {
  await cancel(services, { taskId, caller, door });
  return encode.acknowledgement();
}
