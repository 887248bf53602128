import { answerTask, cancelTask as cancel, getSettledTask, noteShown } from "@parley/core";
import type { CancelTask, GetTask, UpdateTask } from "@parley/protocol";
import { refuse } from "../shared/refusals.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/** tasks/get. Throws TASK_NOT_FOUND. */
export async function getTask({ services }: StatelessRoute, { taskId }: GetTask, exchange: StatelessExchange): Promise<object> {
  const { caller, client, encode } = exchange;
  const task = await getSettledTask(services, { taskId, caller });
  noteShown(services, exchange, task, task.asks);
  return encode.detailedTask(task, client);
}

/**
 * tasks/update: acknowledges late, repeated and unknown answers alike, as the specification says; `_meta` tells which is which. Throws INVALID_ANSWER for those that do
 * not fit their ask, after the others were taken; TASK_NOT_FOUND; TOO_MANY_ANSWERS.
 */
export async function updateTask(
  { services }: StatelessRoute,
  { taskId, replies }: UpdateTask,
  { caller, door, encode }: StatelessExchange,
): Promise<object> {
  const { receipts } = await answerTask(services, { taskId, caller, door, replies });
  refuse(receipts);
  return encode.acknowledgement(receipts);
}

/** tasks/cancel: the same acknowledgement for a task that had ended. Throws TASK_NOT_FOUND. */
export async function cancelTask(
  { services }: StatelessRoute,
  { taskId }: CancelTask,
  { caller, door, encode }: StatelessExchange,
): Promise<object> {
  await cancel(services, { taskId, caller, door });
  return encode.acknowledgement();
}
