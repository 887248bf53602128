import { answerTask, findTask, ParleyError, readable, type Receipt, type Task } from "@parley/core";
import { invalidState, type RequestState } from "../../../seals/request-state.ts";
import { waitGateFor } from "../../../front-end/gate.ts";
import type { Handled } from "../shared/answer.ts";
import { holdOpen } from "../shared/hold-open.ts";
import { refuse } from "../shared/refusals.ts";
import { askCaller } from "./ask-caller.ts";
import { awaitTask } from "./await-task.ts";
import { bindingOf } from "./binding.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/**
 * The second half of a call that was answered with input_required: delivers its answers and waits on.
 *
 * The same retry sent twice (a network that failed) finds its answers recorded and gets the state of now. Content that does not fit its
 * form gets the question again, with what was wrong in its message: clients that fulfil input_required by themselves hand it to the
 * person, where an error would end their call. Throws REQUEST_STATE_INVALID for a state that does not open or whose questions were
 * answered differently before, INVALID_ANSWER for what is no answer at all.
 */
export async function resumeCall(
  route: StatelessRoute,
  called: Called,
  exchange: StatelessExchange,
  requestState: string,
): Promise<Handled> {
  const { services } = route;
  const { caller, client, encode } = exchange;
  const state = await route.states.open(requestState, bindingOf(services, called, caller), services.clock.now());
  const { taskId, feedCursor } = state;
  return await holdOpen({ services, waits: waitGateFor(route, caller) }, taskId, async (watch) => {
    const task = await deliver(route, called, exchange, state);
    if (task.call.hidden || !client.speaksTasks)
      return await awaitTask(route, called, exchange, { task, watch, feedCursor, canComeBack: true });
    const open = task.asks.some(({ key }) => state.asked.includes(key));
    if (open) return await askCaller(route, called, exchange, { task, feedCursor });
    return encode.createTaskResult(task);
  });
}

/** The task as it is after the answers. */
async function deliver(
  { services }: StatelessRoute,
  called: Called,
  { caller, door }: StatelessExchange,
  { taskId, asked, deadlineMs }: RequestState,
): Promise<Task> {
  const given = called.retry.replies ?? {};
  // Only what went out with this state is answered by it; other keys are ignored, as the specification says.
  const replies = Object.fromEntries(asked.filter((key) => Object.hasOwn(given, key)).map((key) => [key, given[key]]));
  const answered = await answerTask(services, { taskId, caller, door, replies, countRefusals: true }).catch((error: unknown) => {
    throw error instanceof ParleyError && error.code === "TASK_NOT_FOUND"
      ? invalidState("its call has ended and is no longer stored")
      : error;
  });
  const receipts = [...answered.receipts.values()];
  if (receipts.some(isMalformed)) refuse(answered.receipts);
  // If the question has timed out meanwhile, the late answer is nobody's fault: the call continues without it.
  if (receipts.some(({ type }) => type === "late") && services.clock.now() < deadlineMs) {
    throw invalidState("its questions were already answered differently");
  }
  const task = answered.receipts.size === 0 ? answered.task : await findTask(services, { taskId, caller });
  if (!task) throw invalidState("its call has ended and is no longer stored");
  return readable(task);
}

/** What is wrong is not the content of a form but the shape of the answer. */
function isMalformed(receipt: Receipt): boolean {
  return receipt.type === "invalid" && receipt.violations.some(({ path }) => !path.startsWith("/content"));
}
