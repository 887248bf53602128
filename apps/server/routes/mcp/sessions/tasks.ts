/** tasks/* of a session, as in 2025-11-25, extended by proposal #1869 and FastMCP's dialect. */
import {
  answerTask,
  cancelTask as cancel,
  findOnlyAsk,
  findTask,
  getOwnTask,
  getSettledTask,
  isSettled,
  knownTask,
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
import { throwIfRefused } from "../shared/refusals.ts";
import { noteSent } from "./asks.ts";
import { followCall } from "./follow-call.ts";
import { progressOf, type SessionRoute, type TaskExchange } from "./session-route.ts";
import { waitsOf } from "./session-waits.ts";

/**
 * tasks/get, with or without answers in its `_meta`. Throws TASK_NOT_FOUND. With answers, throws INVALID_ANSWER for several to one question,
 * and then none counts, and for those that do not fit, and NOT_OPEN for those that come too late or answer nothing that was asked, after the others were accepted.
 */
export async function getTask(route: SessionRoute, intent: GetTask, exchange: TaskExchange): Promise<object> {
  const { services, sessions, limits } = route;
  const { session, caller, door, encode } = exchange;
  const { taskId, answers = [] } = intent;
  const ref = { taskId, caller, door };
  if (answers.length === 0) {
    const task = await getSettledTask(services, ref);
    // A client that comes back in a new session and only polls can be asked on that session's stream alone.
    if (task.status === "input_required" && may(caller, "follow", task)) await sessions.follow(session.id, taskId, limits.sessionTasksMax);
    noteSent(route, exchange, { task });
    return encode.tasks.task(task, session.capabilities);
  }
  const { task } = await deliver(route, ref, answers);
  noteSent(route, exchange, { task });
  return encode.tasks.task(task, session.capabilities);
}

/** tasks/sendInput. Throws the errors of `getTask` with an answer, except that a late answer is reported as `accepted: false`. */
export async function sendInput(
  route: SessionRoute,
  { taskId, elicitationId: given, reply }: SendInput,
  exchange: TaskExchange,
): Promise<object> {
  const { session, caller, door, encode } = exchange;
  const ref = { taskId, caller, door };
  const id = given ?? (await onlyAsk(route, ref));
  const { task, late } = await deliver(route, ref, [{ elicitationId: id, reply }], "report late");
  noteSent(route, exchange, { task });
  return encode.tasks.inputSent(!late, task, session.capabilities);
}

/** tasks/result: a stream until the task ends. Throws TASK_NOT_FOUND, NOT_PERMITTED, TOO_MANY_CALLS, OVERLOADED. */
export async function taskResult(route: SessionRoute, { taskId }: TaskResult, exchange: TaskExchange): Promise<Handled> {
  const { services } = route;
  const { id, caller } = exchange;
  await holdOpen({ services, waits: waitsOf(route, exchange) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller });
    const wants = { ...progressOf(task), ...exchange.wants };
    const { progressToken } = exchange.wants;
    const own = progressToken === undefined ? {} : { progressToken };
    await followCall(route, { ...exchange, wants }, { cursor: { stream: "result", event: 0, taskId, requestId: id, ...own }, task, watch });
  });
  return ANSWERED;
}

/** tasks/list. Throws INVALID_CURSOR. */
export async function listTasks(
  { services, pageSize }: SessionRoute,
  { cursor }: ListTasks,
  { session, caller, encode }: TaskExchange,
): Promise<object> {
  const page = await list(services, { caller, limit: pageSize, ...(cursor !== undefined && { cursor }) });
  return encode.tasks.taskList(page, session.capabilities);
}

/** tasks/cancel. Throws TASK_NOT_FOUND, and TASK_FINISHED if the task has already ended. */
export async function cancelTask(
  { services }: SessionRoute,
  { taskId }: CancelTask,
  { session, caller, door, encode }: TaskExchange,
): Promise<object> {
  const ref = { taskId, caller, door };
  const became = await cancel(services, { ...ref, reason: "The task was cancelled by request." });
  // Like the cancellation, its reply needs no content.
  const task = await knownTask(services, ref);
  if (became === "finished") throw taskFinished(task);
  return encode.tasks.cancelledTask(task, session.capabilities);
}

interface Delivered {
  /** The task after the answers, once it has settled or a moment has passed. */
  readonly task: Task;
  readonly late: boolean;
}

async function deliver(route: SessionRoute, ref: TaskRef, answers: readonly GivenAnswer[], onLate?: "report late"): Promise<Delivered> {
  const { services, times, urlOf } = route;
  const given = answers.map(({ elicitationId: id, reply }) => [keyOf(ref.taskId, id), reply] as const);
  const byKey = Map.groupBy(given, ([key]) => key);
  // The sender of two would not learn which of them counted.
  const violations = [...byKey].flatMap(([key, { length }]) =>
    length > 1 ? [{ path: `/${key}`, message: "must have one answer in a request" }] : [],
  );
  if (violations.length > 0) throw new ParleyError("INVALID_ANSWER", "refused: several answers to one question", { violations });
  const replies = Object.fromEntries(given);
  const { task: before, receipts } = await answerTask(services, { ...ref, replies });
  throwIfRefused(receipts, { taskId: ref.taskId, urlOf });
  const types = new Set([...receipts.values()].map(({ type }) => type));
  if (types.has("unknown")) throw new ParleyError("NOT_OPEN", "the task never asked this question");
  const late = types.has("late");
  if (late && onLate === undefined)
    throw new ParleyError("NOT_OPEN", "the question was already answered differently, or is no longer open");
  // A person who answers another's task may not read it once nothing is asked of them any more.
  const now = (await findTask(services, ref)) ?? { ...before, status: "working", asks: [] };
  const task = await waitForTask(services, { task: now, caller: ref.caller, until: isSettled, timeoutMs: times.taskGraceMs });
  return { task, late };
}

function keyOf(taskId: string, id: string): string {
  const named = parseElicitationId(id);
  if (named?.taskId === taskId) return named.key;
  throw new ParleyError("NOT_OPEN", `elicitationId ${JSON.stringify(id.slice(0, 200))} does not belong to this task`);
}

async function onlyAsk({ services }: SessionRoute, ref: TaskRef): Promise<string> {
  const { only, open } = await findOnlyAsk(services, ref);
  if (only !== undefined) return elicitationId(ref.taskId, only);
  if (open.length === 0) throw new ParleyError("NOT_OPEN", "the task has no open question");
  const ids = open.map((key) => elicitationId(ref.taskId, key));
  throw new ParleyError(
    "NOT_OPEN",
    `elicitationId is required, unless the task has asked only one question so far. Open now: ${ids.join(", ")}`,
    {
      data: { open: ids },
    },
  );
}
