import { answerTask, findTask, ParleyError, readable, type Receipt, type Task } from "@parley/core";
import { invalidState, type RequestState, wasAsked } from "../../../seals/request-state.ts";
import { waitGateFor } from "../../../front-end/gate.ts";
import { ANSWERED, type Handled } from "../shared/answer.ts";
import { holdOpen } from "../shared/hold-open.ts";
import { throwIfRefused } from "../shared/refusals.ts";
import { askCaller } from "./ask-caller.ts";
import { awaitTask } from "./await-task.ts";
import { bindingOf } from "./binding.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";

/**
 * Continues a call that was answered with input_required: delivers the answers and waits again.
 *
 * If the same retry arrives twice, as after a network failure, its answers are already recorded and it gets the current state. Content that
 * does not fit the form gets the question again, with the violations in its message: clients that handle input_required show it to the
 * person, whereas an error would end their call. Throws REQUEST_STATE_INVALID for a state that cannot be opened or whose questions were
 * answered differently before, and INVALID_ANSWER for a reply that is not an answer at all.
 */
export async function resumeCall(
  route: StatelessRoute,
  called: Called,
  exchange: StatelessExchange,
  requestState: string,
): Promise<Handled> {
  const { services } = route;
  const { caller, encode } = exchange;
  const state = await route.states.open(requestState, bindingOf(services, called, caller), services.clock.now());
  const { taskId, feedCursor } = state;
  let receipts: ReadonlyMap<string, Receipt> = new Map();
  const answered = await holdOpen({ services, waits: waitGateFor(route, caller) }, taskId, async (watch) => {
    const { task, ...delivered } = await deliver(route, called, exchange, state);
    ({ receipts } = delivered);
    if (task.call.hidden || called.rung !== "task")
      return await awaitTask(route, called, exchange, { task, watch, feedCursor, canComeBack: true, isBack: state.asked.length === 0 });
    const open = task.asks.some(({ key }) => wasAsked(state, key));
    if (open) return await askCaller(route, called, exchange, { task, feedCursor });
    return encode.createTaskResult(task);
  });
  const isLate = [...receipts.values()].some(({ type }) => type === "late");
  return answered === ANSWERED || !isLate ? answered : encode.withReceipts(answered, receipts);
}

interface Delivered {
  /** As it is afterwards. */
  readonly task: Task;
  readonly receipts: ReadonlyMap<string, Receipt>;
}

/** Delivers the answers. */
async function deliver(
  { services }: StatelessRoute,
  called: Called,
  { caller, door }: StatelessExchange,
  state: RequestState,
): Promise<Delivered> {
  const { taskId, deadlineMs } = state;
  // A state answers only the asks that it was sent with. The specification requires other keys to be ignored.
  const replies = Object.fromEntries(Object.entries(called.retry.replies ?? {}).filter(([key]) => wasAsked(state, key)));
  const answered = await answerTask(services, { taskId, caller, door, replies, countRefusals: true }).catch((error: unknown) => {
    throw error instanceof ParleyError && error.code === "TASK_NOT_FOUND"
      ? invalidState("its call has ended and is no longer stored")
      : error;
  });
  const receipts = [...answered.receipts.values()];
  if (receipts.some(isMalformed)) throwIfRefused(answered.receipts, { taskId });
  // If the question has timed out, a late answer is not an error: the call continues without it, and its answer says so.
  if (receipts.some(({ type }) => type === "late") && services.clock.now() < deadlineMs) {
    throw invalidState("its questions were already answered differently");
  }
  const task = answered.receipts.size === 0 ? answered.task : await findTask(services, { taskId, caller });
  if (!task) throw invalidState("its call has ended and is no longer stored");
  return { task: readable(task), receipts: answered.receipts };
}

/** Whether the answer itself is malformed, not just the content of its form. */
function isMalformed(receipt: Receipt): boolean {
  return receipt.type === "invalid" && receipt.violations.some(({ path }) => !path.startsWith("/content"));
}
