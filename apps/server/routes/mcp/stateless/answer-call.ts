/**
 * A call and its three ways to an answer.
 *
 *   with requestState ───────────────▶ resume      the retried call of an InputRequiredResult
 *   client and tool speak tasks ─────▶ hand out    a CreateTaskResult, at once or behind the tool's first question
 *   all others ──────────────────────▶ carry       a hidden task, waited for while the call is open
 */
import { createTask, isSettled, type JsonObject, ParleyError, waitForTask } from "@parley/core";
import { requiredCapabilities } from "@parley/protocol";
import { holdOpen } from "../shared/hold-open.ts";
import { askCaller } from "./ask-caller.ts";
import { awaitTask } from "./await-task.ts";
import type { Called, Exchange, Handled, Mcp } from "./mcp.ts";
import { resumeCall } from "./resume-call.ts";

export type TaskChoice = "never" | "at once" | "after first question";

export async function answerCall(mcp: Mcp, called: Called, exchange: Exchange, asTask: TaskChoice): Promise<Handled> {
  const { replies, requestState } = called.intent;
  boundReplies(mcp, replies);
  if (requestState !== undefined) return await resumeCall(mcp, called, exchange, requestState);
  return asTask === "never" ? await carry(mcp, called, exchange) : await handOut(mcp, called, exchange, asTask);
}

async function handOut(mcp: Mcp, called: Called, exchange: Exchange, asTask: Exclude<TaskChoice, "never">): Promise<object> {
  const { services, encode, times } = mcp;
  const task = await createTask(services, called.runnable, { ...creation(called, exchange), hidden: false });
  if (asTask === "at once") return encode.createTaskResult(task);
  const settled = await waitForTask(services, {
    task,
    until: isSettled,
    timeoutMs: times.askFirstTimeoutMs,
    signal: exchange.outlet.closed,
  });
  const requests = settled.asks.map(({ request }) => request);
  // A client that cannot be asked gets the task: its question may be answered elsewhere.
  const asks = settled.status === "input_required" && !requiredCapabilities(requests, called.intent.capabilities);
  if (asks) return await askCaller(mcp, called, exchange, { task: settled, feedCursor: undefined });
  return encode.createTaskResult(settled);
}

async function carry(mcp: Mcp, called: Called, exchange: Exchange): Promise<Handled> {
  const { services } = mcp;
  const taskId = services.ids.taskId();
  // Watched before it is there: a task that ends before anybody looks is not missed, and needs no look of its own.
  return await holdOpen(mcp, taskId, async (watch) => {
    // The client may have left while this waited for Redis, and may have called again.
    if (exchange.outlet.closed.aborted) return undefined;
    const task = await createTask(services, called.runnable, { ...creation(called, exchange), hidden: true, taskId });
    return await awaitTask(mcp, called, exchange, { task, watch, feedCursor: undefined, canComeBack: false });
  });
}

function creation(called: Called, { principal }: Exchange) {
  const { replies, capabilities } = called.intent;
  // Replies without a requestState came with the call itself. They were parsed from JSON; each is judged when its ask is put.
  return { principal, arguments: called.arguments, capabilities, ...(replies && { replies: replies as JsonObject }) };
}

function boundReplies({ services }: Mcp, replies: Called["intent"]["replies"]): void {
  const count = Object.keys(replies ?? {}).length;
  const most = services.settings.repliesMax;
  if (count > most) throw new ParleyError("TOO_MANY_ANSWERS", `${count} answers in one request; the limit is ${most} (PARLEY_REPLIES_MAX)`);
}
