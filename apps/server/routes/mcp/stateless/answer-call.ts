/**
 * The three ways in which a call is answered:
 *
 *   with requestState ───────────────▶ resume     the client retries after an InputRequiredResult
 *   client and tool speak tasks ─────▶ hand out   a CreateTaskResult, at once or after the tool's first question
 *   all others ──────────────────────▶ carry      a hidden task, for which the open call waits; on the rung of text one that its caller can find
 */
import {
  cancelTask,
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
import { isInWords, requiredCapabilities } from "@parley/protocol";
import { waitGateFor } from "../../../front-end/gate.ts";
import type { Handled } from "../shared/answer.ts";
import { resultWithoutTask } from "../shared/call-taskless.ts";
import { holdNew, holdOpen } from "../shared/hold-open.ts";
import { abandon, CLIENT_CLOSED } from "./abandon.ts";
import { askCaller } from "./ask-caller.ts";
import { awaitTask } from "./await-task.ts";
import type { Called, StatelessExchange, StatelessRoute } from "./stateless-route.ts";
import { resumeCall } from "./resume-call.ts";

export interface Chosen {
  readonly runnable: Runnable;
  /** When the client receives a task handle. */
  readonly asTask: "never" | "at once" | "after first question";
}

/** Calls `choose` only for a new call: a retried call belongs to its task, even if its tool is no longer offered. */
export async function answerCall(
  route: StatelessRoute,
  called: Called,
  exchange: StatelessExchange,
  choose: () => Chosen,
): Promise<Handled> {
  const { replies, requestState } = called.retry;
  limitReplies(route, replies);
  if (requestState !== undefined) return await resumeCall(route, called, exchange, requestState);
  const { runnable, asTask } = choose();
  const result = await withoutTask(route, called, exchange, { runnable, asTask });
  if (result) return called.encodeResult(result);
  if (asTask === "never") return await carry(route, called, exchange, runnable);
  const task = await createTask(route.services, runnable, { ...createOptions(called, exchange), hidden: false });
  return asTask === "at once" ? exchange.encode.createTaskResult(task) : await handOutAsked(route, called, exchange, task);
}

/** Replies that came with the call are for a task. */
async function withoutTask(route: StatelessRoute, called: Called, exchange: StatelessExchange, { runnable, asTask }: Chosen) {
  const { arguments: args, idempotencyKey, retry } = called;
  if (retry.replies) return undefined;
  return await resultWithoutTask(route, exchange, {
    runnable,
    arguments: args,
    capabilities: exchange.client.capabilities,
    hidden: asTask === "never" && !isInWords(called.rung),
    idempotencyKey,
    waits: waitGateFor(route, exchange.caller),
  });
}

/**
 * Hands out the task, with its first question if the tool asks one soon. If the client closes the call before, the task is cancelled: no client
 * has its id.
 */
async function handOutAsked(route: StatelessRoute, called: Called, exchange: StatelessExchange, task: Task): Promise<Handled> {
  const { services, times } = route;
  const { encode, caller, door, client, channel } = exchange;
  const settled = await waitForTask(services, {
    task,
    caller,
    until: isSettled,
    timeoutMs: times.askFirstTimeoutMs,
    signal: channel.closed,
  });
  if (channel.closed.aborted) {
    // A client that calls with an idempotency key can repeat the call and gets the id.
    if (called.idempotencyKey === undefined) await cancelTask(services, { taskId: task.id, caller, door, reason: CLIENT_CLOSED });
    return abandon(exchange);
  }
  const requests = settled.asks.map(({ request }) => request);
  // A client that cannot be asked gets the task. Its question may be answered elsewhere.
  const asks = settled.asks.length > 0 && !requiredCapabilities(requests, client.capabilities);
  if (asks) return await askCaller(route, called, exchange, { task: settled, feedCursor: undefined });
  return encode.createTaskResult(settled);
}

async function carry(route: StatelessRoute, called: Called, exchange: StatelessExchange, runnable: Runnable): Promise<Handled> {
  const { services } = route;
  const create = createOptions(called, exchange);
  const taskId = await newTaskId(services, create);
  // A client that calls with an idempotency key can repeat the call and finds the task again.
  const canComeBack = called.idempotencyKey !== undefined;
  let existing: Task | undefined;
  // The watch sees the creation of the task, so a task that ends at once is not missed, and no extra read is needed.
  const answered = await holdNew({ services, waits: waitGateFor(route, exchange.caller) }, taskId, async (watch) => {
    // The client may have disconnected while this waited for Redis, and may have called again.
    if (exchange.channel.closed.aborted) return abandon(exchange);
    const task = await createTask(services, runnable, { ...create, hidden: !isInWords(called.rung), taskId });
    if (task.id === taskId) return await awaitTask(route, called, exchange, { task, watch, feedCursor: undefined, canComeBack });
    existing = task;
    return undefined;
  });
  return answered ?? (await join(route, called, exchange, existing));
}

/** Answers a repeated call with the task that the first call with the same idempotency key created. */
async function join(route: StatelessRoute, called: Called, exchange: StatelessExchange, existing: Task | undefined): Promise<Handled> {
  const { services } = route;
  const { caller, door } = exchange;
  if (!existing) throw new Error("the call has no task");
  const { id: taskId } = existing;
  return await holdOpen({ services, waits: waitGateFor(route, exchange.caller) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller, door });
    return await awaitTask(route, called, exchange, { task, watch, feedCursor: undefined, canComeBack: true });
  });
}

function createOptions(called: Called, { caller, door, client }: StatelessExchange) {
  const { replies } = called.retry;
  // Replies without a requestState are early replies. They were parsed from JSON; each is validated when its ask is asked.
  return {
    caller,
    door,
    arguments: called.arguments,
    reason: called.reason,
    capabilities: client.capabilities,
    ...(called.idempotencyKey !== undefined && { idempotencyKey: called.idempotencyKey }),
    ...(replies && { replies: replies as JsonObject }),
  };
}

function limitReplies({ services }: StatelessRoute, replies: Called["retry"]["replies"]): void {
  const count = Object.keys(replies ?? {}).length;
  const most = services.settings.repliesMax;
  if (count > most) throw new ParleyError("TOO_MANY_ANSWERS", `${count} answers in one request; the limit is ${most} (PARLEY_REPLIES_MAX)`);
}
