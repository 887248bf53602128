/** tasks/* of a session: 2025-11-25, with proposal #1869 and FastMCP's dialect on top. */
import {
  answerTask,
  cancelTask as cancel,
  findTask,
  getOwnTask,
  getSettledTask,
  getTask as readTask,
  isSettled,
  listTasks as list,
  may,
  ParleyError,
  type Task,
  type TaskRef,
  waitForTask,
} from "@parley/core";
import type { CancelTask, GetTask, GivenAnswer, ListTasks, SendInput, TaskResult } from "@parley/protocol";
import { elicitationId, parseElicitationId, taskFinished } from "@parley/protocol/sessions";
import { ANSWERED, type Handled } from "../shared/answer.ts";
import { holdOpen } from "../shared/hold-open.ts";
import { refuse } from "../shared/refusals.ts";
import { followCall } from "./follow-call.ts";
import type { SessionRoute, TaskExchange } from "./session-route.ts";
import { waitsOf } from "./session-waits.ts";

/**
 * tasks/get, with answers in its `_meta` or without. Throws TASK_NOT_FOUND; with answers INVALID_ANSWER for those that do not fit, NOT_OPEN for
 * those that come too late or answer nothing that was asked, after the others were taken.
 */
export async function getTask(route: SessionRoute, intent: GetTask, exchange: TaskExchange): Promise<object> {
  const { services, sessions, limits } = route;
  const { session, caller, door, encode } = exchange;
  const { taskId, answers = [] } = intent;
  const ref = { taskId, caller, door };
  if (answers.length === 0) {
    const task = await getSettledTask(services, ref);
    // A client that comes back in another session only polls, and learns of the question on that session's stream or never.
    if (task.status === "input_required" && may(caller, "follow", task)) await sessions.follow(session.id, taskId, limits.sessionTasksMax);
    return encode.tasks.task(task);
  }
  const { task } = await deliver(route, ref, answers);
  return encode.tasks.task(task);
}

/** tasks/sendInput. Throws as getTask with an answer; a late answer is reported by `accepted: false`. */
export async function sendInput(
  route: SessionRoute,
  { taskId, elicitationId: given, reply }: SendInput,
  { caller, door, encode }: TaskExchange,
): Promise<object> {
  const ref = { taskId, caller, door };
  const id = given ?? (await theOpenAsk(route, ref));
  const { task, late } = await deliver(route, ref, [{ elicitationId: id, reply }], "tell late");
  return encode.tasks.inputSent(!late, task);
}

/** tasks/result: its stream until the task has ended. Throws TASK_NOT_FOUND, NOT_PERMITTED, TOO_MANY_CALLS, OVERLOADED. */
export async function taskResult(route: SessionRoute, { taskId }: TaskResult, exchange: TaskExchange): Promise<Handled> {
  const { services } = route;
  const { id, caller } = exchange;
  await holdOpen({ services, waits: waitsOf(route, exchange) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller });
    await followCall(route, exchange, { cursor: { stream: "result", event: 0, taskId, requestId: id }, task, watch });
  });
  return ANSWERED;
}

/** tasks/list. Throws INVALID_CURSOR. */
export async function listTasks(
  { services, pageSize }: SessionRoute,
  { cursor }: ListTasks,
  { caller, encode }: TaskExchange,
): Promise<object> {
  const page = await list(services, { caller, limit: pageSize, ...(cursor !== undefined && { cursor }) });
  return encode.tasks.taskList(page);
}

/** tasks/cancel. Throws TASK_NOT_FOUND, and TASK_FINISHED for a task that had ended. */
export async function cancelTask(
  { services }: SessionRoute,
  { taskId }: CancelTask,
  { caller, door, encode }: TaskExchange,
): Promise<object> {
  const ref = { taskId, caller, door };
  const became = await cancel(services, { ...ref, reason: "The task was cancelled by request." });
  const task = await readTask(services, ref);
  if (became === "finished") throw taskFinished(task);
  return encode.tasks.cancelledTask(task);
}

interface Delivered {
  /** As it is after the answers, or a moment later. */
  readonly task: Task;
  readonly late: boolean;
}

async function deliver(route: SessionRoute, ref: TaskRef, answers: readonly GivenAnswer[], onLate?: "tell late"): Promise<Delivered> {
  const { services, times } = route;
  const replies = Object.fromEntries(answers.map(({ elicitationId: id, reply }) => [keyOf(ref.taskId, id), reply]));
  const { task: before, receipts } = await answerTask(services, { ...ref, replies });
  refuse(receipts);
  const types = new Set([...receipts.values()].map(({ type }) => type));
  if (types.has("unknown")) throw new ParleyError("NOT_OPEN", "the task never asked this question");
  const late = types.has("late");
  if (late && onLate === undefined)
    throw new ParleyError("NOT_OPEN", "the question was already answered differently, or is no longer open");
  // What others were asked is closed to them once they have answered.
  const now = (await findTask(services, ref)) ?? { ...before, status: "working", asks: [] };
  const task = await waitForTask(services, { task: now, caller: ref.caller, until: isSettled, timeoutMs: times.taskGraceMs });
  return { task, late };
}

function keyOf(taskId: string, id: string): string {
  const named = parseElicitationId(id);
  if (named?.taskId === taskId) return named.key;
  throw new ParleyError("NOT_OPEN", `elicitationId ${JSON.stringify(id.slice(0, 200))} does not belong to this task`);
}

async function theOpenAsk({ services }: SessionRoute, ref: TaskRef): Promise<string> {
  const { asks } = await readTask(services, ref);
  const [only, ...more] = asks.map(({ key }) => elicitationId(ref.taskId, key));
  if (only === undefined) throw new ParleyError("NOT_OPEN", "the task asks nothing");
  if (more.length === 0) return only;
  throw new ParleyError("NOT_OPEN", `elicitationId is needed: the task asks ${[only, ...more].join(", ")}`, {
    data: { open: [only, ...more] },
  });
}
