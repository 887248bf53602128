/**
 * A call and its three ways to an answer.
 *
 *   with requestState ───────────────▶ resume      the retried call of an InputRequiredResult
 *   client and tool speak tasks ─────▶ hand out    a CreateTaskResult, at once or behind the tool's first question
 *   all others ──────────────────────▶ carry       a hidden task, waited for while the call is open
 */
import {
  createTask,
  getOwnTask,
  isSettled,
  type JsonObject,
  newTaskId,
  ParleyError,
  type Runnable,
  type Task,
  waitForTask,
} from "@parley/core";
import { requiredCapabilities } from "@parley/protocol";
import { waitGateFor } from "../../../front-end/gate.ts";
import type { Handled } from "../shared/answer.ts";
import { holdOpen } from "../shared/hold-open.ts";
import { abandon } from "./abandon.ts";
import { askCaller } from "./ask-caller.ts";
import { awaitTask } from "./await-task.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";
import { resumeCall } from "./resume-call.ts";

export interface Chosen {
  readonly runnable: Runnable;
  /** When the client gets a handle. */
  readonly asTask: "never" | "at once" | "after first question";
}

/** `choose` is called for new calls only: a retried call belongs to its task, even if its tool is no longer offered. */
export async function answerCall(
  route: StatelessRoute,
  called: Called,
  exchange: StatelessExchange,
  choose: () => Chosen,
): Promise<Handled> {
  const { replies, requestState } = called.retry;
  boundReplies(route, replies);
  if (requestState !== undefined) return await resumeCall(route, called, exchange, requestState);
  const { runnable, asTask } = choose();
  if (asTask === "never") return await carry(route, called, exchange, runnable);
  const task = await createTask(route.services, runnable, { ...creation(called, exchange), hidden: false });
  return asTask === "at once" ? exchange.encode.createTaskResult(task) : await handOutAsked(route, called, exchange, task);
}

/** Hands out the task with its first question, if one comes soon. */
async function handOutAsked(route: StatelessRoute, called: Called, exchange: StatelessExchange, task: Task): Promise<object> {
  const { services, times } = route;
  const { encode, caller, client, channel } = exchange;
  const settled = await waitForTask(services, {
    task,
    caller,
    until: isSettled,
    timeoutMs: times.askFirstTimeoutMs,
    signal: channel.closed,
  });
  const requests = settled.asks.map(({ request }) => request);
  // A client that cannot be asked gets the task: its question may be answered elsewhere.
  const asks = settled.asks.length > 0 && !requiredCapabilities(requests, client.capabilities);
  if (asks) return await askCaller(route, called, exchange, { task: settled, feedCursor: undefined });
  return encode.createTaskResult(settled);
}

async function carry(route: StatelessRoute, called: Called, exchange: StatelessExchange, runnable: Runnable): Promise<Handled> {
  const { services } = route;
  const create = creation(called, exchange);
  const taskId = await newTaskId(services, create);
  // Who calls with a key can call again with it, and finds the task.
  const canComeBack = called.idempotencyKey !== undefined;
  let before: Task | undefined;
  // Watched before it is there: a task that ends before the first look is not missed, and needs no extra look.
  const answered = await holdOpen({ services, waits: waitGateFor(route, exchange.caller) }, taskId, async (watch) => {
    // The client may have left while this waited for Redis, and may have called again.
    if (exchange.channel.closed.aborted) return abandon(exchange);
    const task = await createTask(services, runnable, { ...create, hidden: true, taskId });
    if (task.id === taskId) return await awaitTask(route, called, exchange, { task, watch, feedCursor: undefined, canComeBack });
    before = task;
    return undefined;
  });
  return answered ?? (await join(route, called, exchange, before));
}

/** Answers a call that was made before, with the same key, by the task that it made then. */
async function join(route: StatelessRoute, called: Called, exchange: StatelessExchange, before: Task | undefined): Promise<Handled> {
  const { services } = route;
  const { caller, door } = exchange;
  if (!before) throw new Error("a call was answered by no task");
  const { id: taskId } = before;
  return await holdOpen({ services, waits: waitGateFor(route, exchange.caller) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller, door });
    return await awaitTask(route, called, exchange, { task, watch, feedCursor: undefined, canComeBack: true });
  });
}

function creation(called: Called, { caller, door, client }: StatelessExchange) {
  const { replies } = called.retry;
  // Replies without a requestState came with the call itself. They were parsed from JSON; each is judged when its ask is put.
  return {
    caller,
    door,
    arguments: called.arguments,
    capabilities: client.capabilities,
    ...(called.idempotencyKey !== undefined && { idempotencyKey: called.idempotencyKey }),
    ...(replies && { replies: replies as JsonObject }),
  };
}

function boundReplies({ services }: StatelessRoute, replies: Called["retry"]["replies"]): void {
  const count = Object.keys(replies ?? {}).length;
  const most = services.settings.repliesMax;
  if (count > most) throw new ParleyError("TOO_MANY_ANSWERS", `${count} answers in one request; the limit is ${most} (PARLEY_REPLIES_MAX)`);
}
