/**
 * tools/call and prompts/get of a session.
 *
 *   params.task ─────▶ a task that the client has a handle on: answered with it, after a moment for a tool that asks at once
 *   otherwise ───────▶ a hidden task, followed on the request's own stream until it ends
 */
import { createTask, isSettled, ParleyError, waitForTask, type Runnable, type Tool } from "@parley/core";
import { capabilityRequired, missingCapabilities, resultMessage } from "@parley/protocol";
import type { CallToolInSession, GetPromptInSession } from "@parley/protocol/sessions";
import { holdOpen } from "../shared/hold-open.ts";
import type { Asked, Door, Talk } from "./door.ts";
import type { CallCursor } from "./event-ids.ts";
import { followCall } from "./follow-call.ts";

/** Throws TOOL_NOT_FOUND, CAPABILITY_REQUIRED, TASK_REQUIRED, TASK_UNSUPPORTED, INVALID_ARGUMENTS, OVERLOADED. */
export async function callTool(door: Door, talk: Talk, intent: CallToolInSession, asked: Asked): Promise<void> {
  const tool = door.catalogue.tools.get(intent.name);
  if (!tool) throw new ParleyError("TOOL_NOT_FOUND", `no tool ${JSON.stringify(intent.name.slice(0, 100))}`);
  const missing = missingCapabilities(tool.needs, talk.session.capabilities);
  if (missing) throw capabilityRequired(`tool ${tool.name}`, missing);
  if (intent.task) return await handOut(door, talk, { ...intent, task: intent.task }, { ...asked, tool });
  if (tool.task === "required") {
    throw new ParleyError("TASK_REQUIRED", `tool ${tool.name} runs only as a task: send params.task`);
  }
  await carry(door, talk, asked, { runnable: tool, intent, answers: "tool" });
}

/** Throws PROMPT_NOT_FOUND, INVALID_ARGUMENTS, OVERLOADED. */
export async function getPrompt(door: Door, talk: Talk, intent: GetPromptInSession, asked: Asked): Promise<void> {
  const prompt = door.catalogue.prompts.get(intent.name);
  if (!prompt) throw new ParleyError("PROMPT_NOT_FOUND", `no prompt ${JSON.stringify(intent.name.slice(0, 100))}`);
  await carry(door, talk, asked, { runnable: prompt, intent, answers: "prompt" });
}

async function handOut(
  { services, sessions, times, limits, log }: Door,
  { session, encode }: Talk,
  { task: wish, arguments: args }: CallToolInSession & Required<Pick<CallToolInSession, "task">>,
  { id, voice, tool }: Asked & { readonly tool: Tool },
): Promise<void> {
  if (tool.task === "never") throw new ParleyError("TASK_UNSUPPORTED", `tool ${tool.name} does not run as a task: leave params.task out`);
  const taskId = services.ids.taskId();
  const { principal, capabilities } = session;
  // The client may have left while its session was looked up: it would never learn of the task.
  if (voice.closed.aborted) return;
  const [created, following] = await Promise.all([
    createTask(services, tool, {
      principal,
      arguments: args,
      capabilities,
      hidden: false,
      taskId,
      ...(typeof wish.ttlMs === "number" && { retentionMs: wish.ttlMs }),
    }),
    sessions.follow(session.id, taskId, limits.sessionTasksMax),
  ]);
  if (following === "full") log.warn({ taskId, most: limits.sessionTasksMax }, "session follows too many tasks to be told of one more");
  const task = await waitForTask(services, { task: created, until: isSettled, timeoutMs: times.taskGraceMs, signal: voice.closed });
  voice.answer({ httpStatus: 200, message: resultMessage(id, encode.createTaskResult(task)) });
}

interface Carry {
  readonly runnable: Runnable;
  readonly intent: CallToolInSession | GetPromptInSession;
  readonly answers: CallCursor["answers"];
}

async function carry(door: Door, talk: Talk, asked: Asked, { runnable, intent, answers }: Carry): Promise<void> {
  const { services, sessions, log } = door;
  const { session } = talk;
  const { id } = asked;
  const taskId = services.ids.taskId();
  const requestId = JSON.stringify(id);
  await holdOpen(door, taskId, async (watch) => {
    // The client may have left while this waited for Redis: it has no event id to come back with, and may have called again.
    if (asked.voice.closed.aborted) return;
    const [task] = await Promise.all([
      createTask(services, runnable, {
        principal: session.principal,
        arguments: { ...intent.arguments },
        capabilities: session.capabilities,
        hidden: true,
        taskId,
      }),
      sessions.noteCall(session.id, requestId, taskId),
    ]);
    const cursor: CallCursor = {
      stream: "call",
      sequence: 0,
      taskId,
      requestId: id,
      answers,
      put: [],
      ...(intent.progressToken !== undefined && { progressToken: intent.progressToken }),
    };
    if ((await followCall(door, talk, asked, { cursor, task, watch })) === "answered") {
      // Nobody waits for this: at worst the note stays until the session ends.
      sessions.forgetCall(session.id, requestId).catch((error: unknown) => log.warn({ taskId, err: error }, "call not forgotten"));
    }
  });
}
