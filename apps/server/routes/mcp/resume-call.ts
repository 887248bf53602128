import { answerTask, ParleyError, type Receipt, type Task } from "@parley/core";
import { invalidState, type RequestState } from "../../request-state.ts";
import { watchTask } from "../../watch-task.ts";
import { refuseInvalid } from "./refuse-invalid.ts";
import { askCaller } from "./ask-caller.ts";
import { awaitTask } from "./await-task.ts";
import { bindingOf } from "./binding.ts";
import type { Called, Exchange, Handled, Mcp } from "./mcp.ts";

/**
 * The second half of a call that was answered with input_required: delivers its answers and waits on.
 *
 * The same retry sent twice (a network that failed) finds its answers recorded and gets the state of now. Throws REQUEST_STATE_INVALID for
 * a state that does not open or whose questions were answered differently before, INVALID_ANSWER with the violations while they stay open.
 */
export async function resumeCall(mcp: Mcp, called: Called, exchange: Exchange, requestState: string): Promise<Handled> {
  const { services, encode } = mcp;
  const { principal } = exchange;
  const state = await mcp.states.open(requestState, bindingOf(services, called, principal), services.clock.now());
  const { taskId, feedCursor } = state;
  const leave = mcp.waits.enter();
  try {
    const watch = await watchTask(services, taskId);
    try {
      const task = await deliver(mcp, called, principal, state);
      if (task.call.hidden || !called.intent.speaksTasks) return await awaitTask(mcp, called, exchange, { task, watch, feedCursor });
      const open = task.asks.some(({ key }) => state.asked.includes(key));
      if (open) return await askCaller(mcp, called, exchange, { task, feedCursor });
      return encode.createTaskResult(task, services.clock.now());
    } finally {
      watch.close();
    }
  } finally {
    leave();
  }
}

/** The task as it is after the answers. */
async function deliver({ services }: Mcp, called: Called, principal: string, { taskId, asked }: RequestState): Promise<Task> {
  const given = called.intent.replies ?? {};
  // Only what went out with this state is answered by it; other keys are ignored, as the specification says.
  const replies = Object.fromEntries(asked.filter((key) => Object.hasOwn(given, key)).map((key) => [key, given[key]]));
  const answered = await answerTask(services, { taskId, principal, replies }).catch((error: unknown) => {
    throw error instanceof ParleyError && error.code === "TASK_NOT_FOUND" ? invalidState("its call is over and forgotten") : error;
  });
  refuseInvalid(answered.receipts);
  if (someLate(answered.receipts)) throw invalidState("its questions were answered before, differently, or have timed out");
  const task = answered.receipts.size === 0 ? answered.task : await services.store.load(taskId);
  if (!task) throw invalidState("its call is over and forgotten");
  return task;
}

function someLate(receipts: ReadonlyMap<string, Receipt>): boolean {
  return [...receipts.values()].some(({ type }) => type === "late");
}
