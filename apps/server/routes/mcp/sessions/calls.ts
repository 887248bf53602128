/**
 * tools/call and prompts/get of a session.
 *
 *   params.task ─────▶ hand out   answered with the task, after a moment in which the tool may already ask
 *   otherwise ───────▶ carry      a hidden task, followed on the stream of the request until it ends
 */
import { createTask, getOwnTask, isFinished, isSettled, newTaskId, ParleyError, waitForTask, type Runnable, type Tool } from "@parley/core";
import { askableOn, type CallTool, capabilityRequired, type GetPrompt, isInWords, missingCapabilities, type Rung } from "@parley/protocol";
import { ANSWERED, type Handled } from "../shared/answer.ts";
import { resultWithoutTask } from "../shared/call-taskless.ts";
import { holdNew, holdOpen } from "../shared/hold-open.ts";
import { promptOf, toolOf } from "../shared/offer-requests.ts";
import { pollAnswer } from "../shared/poll-tools.ts";
import { reachedOn } from "../shared/step.ts";
import { noteSent } from "./asks.ts";
import { followCall } from "./follow-call.ts";
import { checkStillWanted, forgetCall, noteCall } from "./note-call.ts";
import { stepInSession } from "./rung.ts";
import { hasTasks, type SessionExchange, type SessionRoute, type TaskExchange } from "./session-route.ts";
import { waitsOf } from "./session-waits.ts";

/** Throws TOOL_NOT_FOUND, CAPABILITY_REQUIRED, TASK_REQUIRED, TASK_UNSUPPORTED, INVALID_ARGUMENTS, TOO_MANY_CALLS, OVERLOADED. */
export async function callTool(route: SessionRoute, intent: CallTool, exchange: SessionExchange): Promise<Handled> {
  const inCall = stepInSession(route, exchange, { takesTask: false, calls: "tool" });
  const poll = pollAnswer(route, { name: intent.name, exchange, rung: inCall.rung });
  if (poll) return exchange.encode.callResult(await poll(intent.arguments, waitsOf(route, exchange)));
  const tool = toolOf(exchange.catalogue, intent.name);
  const takesTask = intent.task !== undefined && hasTasks(exchange);
  const step = stepInSession(route, exchange, { takesTask, calls: "tool" });
  const { rung } = step;
  const missing = missingCapabilities(tool.needs, reachedOn(route, step, exchange.session.capabilities));
  if (missing) throw capabilityRequired(`tool ${tool.name}`, missing);
  if (rung === "task" && hasTasks(exchange)) return await handOut(route, intent, exchange, tool);
  if (tool.task === "required") {
    throw new ParleyError("TASK_REQUIRED", `tool ${tool.name} runs only as a task: send params.task`);
  }
  return await carry(route, on(rung, exchange), { runnable: tool, intent, isText: isInWords(rung) });
}

/** Throws PROMPT_NOT_FOUND, INVALID_ARGUMENTS, TOO_MANY_CALLS, OVERLOADED. */
export async function getPrompt(route: SessionRoute, intent: GetPrompt, exchange: SessionExchange): Promise<Handled> {
  const { rung } = stepInSession(route, exchange, { takesTask: false, calls: "prompt" });
  return await carry(route, on(rung, exchange), { runnable: promptOf(exchange.catalogue, intent.name), intent, isText: false });
}

function on(rung: Rung | undefined, { session, ...rest }: SessionExchange): SessionExchange {
  return { ...rest, session: { ...session, capabilities: askableOn(rung, session.capabilities) } };
}

async function handOut(
  route: SessionRoute,
  { task: wish, arguments: args, idempotencyKey, reason }: CallTool,
  exchange: TaskExchange,
  tool: Tool,
): Promise<Handled> {
  const { services, sessions, times, limits, log } = route;
  const { session, caller, door, id: requestId, wants, encode, channel } = exchange;
  const { progressToken } = wants;
  if (tool.task === "never") throw new ParleyError("TASK_UNSUPPORTED", `tool ${tool.name} does not run as a task: leave params.task out`);
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  const taskId = await newTaskId(services, { caller, ...key });
  // If the client has disconnected by now, it would never learn of the task.
  if (channel.closed.aborted) return ANSWERED;
  let following: "following" | "full" | undefined;
  const created = await createTask(services, tool, {
    caller,
    door,
    arguments: args,
    capabilities: session.capabilities,
    hidden: false,
    session: services.digest(session.id),
    ...(progressToken !== undefined && { request: { id: requestId, progressToken } }),
    taskId,
    reason,
    ...key,
    ...(typeof wish?.ttlMs === "number" && { retentionMs: wish.ttlMs }),
    beside: async () => (following = await sessions.follow(session.id, taskId, limits.sessionTasksMax)),
  });
  if (created.id !== taskId) {
    await sessions.unfollow(session.id, [taskId]);
    following = isFinished(created.status) ? undefined : await sessions.follow(session.id, created.id, limits.sessionTasksMax);
  }
  if (following === "full") log.warn({ taskId: created.id, most: limits.sessionTasksMax }, "session follows too many tasks");
  const task = await waitForTask(services, {
    task: created,
    caller,
    until: isSettled,
    timeoutMs: times.taskGraceMs,
    signal: channel.closed,
  });
  noteSent(route, exchange, { task });
  return encode.tasks.createTaskResult(task, session.capabilities);
}

interface Carry {
  readonly runnable: Runnable;
  readonly intent: CallTool | GetPrompt;
  /** On a rung of words: its questions are told in words. */
  readonly isText: boolean;
}

async function carry(route: SessionRoute, exchange: SessionExchange, { runnable, intent, isText }: Carry): Promise<Handled> {
  const { services } = route;
  const { session, caller, door, id: requestId, wants, channel } = exchange;
  const answer = runnable.callTaskless && (await withoutTask(route, exchange, { runnable, intent, isText }));
  if (answer) return answer;
  const { progressToken } = wants;
  const idempotencyKey = intent.type === "callTool" ? intent.idempotencyKey : undefined;
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  const taskId = await newTaskId(services, { caller, ...key });
  let existingId: string | undefined;
  let isNoted = false;
  try {
    await holdNew({ services, waits: waitsOf(route, exchange) }, taskId, async (watch) => {
      // If the client has disconnected by now, it has no event id to come back with, and may have called again.
      if (channel.closed.aborted) return;
      const task = await createTask(services, runnable, {
        caller,
        door,
        arguments: { ...intent.arguments },
        capabilities: session.capabilities,
        // In words, the call gets a handle.
        hidden: !isText,
        session: services.digest(session.id),
        request: { id: requestId, ...(progressToken !== undefined && { progressToken }) },
        taskId,
        reason: intent.reason,
        ...key,
        async beside() {
          isNoted = true;
          await noteCall(route, exchange, { taskId, requestId });
        },
      });
      if (task.id !== taskId) {
        existingId = task.id;
        return;
      }
      // If the stream ended without an answer, the note stays: any front end may resume or cancel the call.
      if ((await followCall(route, exchange, { cursor: { stream: "call", event: 0, taskId }, task, watch })) === "left") isNoted = false;
    });
    if (existingId !== undefined) await join(route, exchange, existingId);
  } finally {
    if (isNoted) forgetCall(route, exchange, { taskId, requestId });
  }
  return ANSWERED;
}

/** Makes the call without a task. Undefined if it needs one. It gets none if its client has cancelled it by then, or ended the session. */
async function withoutTask(
  route: SessionRoute,
  exchange: SessionExchange,
  { runnable, intent, isText }: Carry,
): Promise<object | undefined> {
  const { session, id: requestId, encode } = exchange;
  const result = await resultWithoutTask(route, exchange, {
    runnable,
    arguments: { ...intent.arguments },
    capabilities: session.capabilities,
    hidden: !isText,
    session: route.services.digest(session.id),
    idempotencyKey: intent.type === "callTool" ? intent.idempotencyKey : undefined,
    waits: waitsOf(route, exchange),
  });
  if (result) return runnable.kind === "tool" ? encode.callResult(result) : encode.promptResult(result);
  await checkStillWanted(route, exchange, requestId);
  return undefined;
}

/**
 * Answers a repeated call with the task that the first call with the same idempotency key created. The task carries the request of the
 * first call, so the stream of the repeated call cannot be resumed; a client that loses it calls again. Cancelling the repeated call ends
 * its stream, and not the task.
 */
async function join(route: SessionRoute, exchange: SessionExchange, taskId: string): Promise<void> {
  const { services } = route;
  const { caller, door } = exchange;
  await holdOpen({ services, waits: waitsOf(route, exchange) }, taskId, async (watch) => {
    const task = await getOwnTask(services, { taskId, caller, door });
    await followCall(route, exchange, { cursor: { stream: "call", event: 0, taskId }, task, watch, isJoined: true });
  });
}
