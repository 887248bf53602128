/** `parley task` and `parley cancel`, and their earlier names `tasks get` and `tasks cancel`. */
import { asksOf } from "../questions/answering.ts";
import type { McpClient } from "../client/mcp-client.ts";
import type { Reached } from "../client/reach.ts";
import { toolText } from "../questions/asked.ts";
import { showAsk, showError, showResult, showTask, type TaskState } from "../questions/show.ts";
import { cleanAll, cleanLine, jsonText, print, printJson } from "../terminal/terminal.ts";
import { duration, moment } from "../terminal/times.ts";
import { endsOf, showTimeline, timelineOf } from "./timeline.ts";

export async function getTask(client: McpClient, taskId: string): Promise<TaskState> {
  return await client.request<TaskState>("tasks/get", { taskId });
}

export async function printTask(server: Reached, taskId: string, { json }: { readonly json?: boolean }): Promise<void> {
  const task = await getTask(server, taskId);
  const timeline = await timelineOf(server, taskId);
  if (json) return printJson({ ...task, timeline: timeline ?? null });
  const nowMs = timeline?.nowMs ?? Date.now();
  const { result, error } = task;
  const { status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = cleanAll(task);
  print(`${taskId}  ${status}${statusMessage === undefined ? "" : `  ${cleanLine(statusMessage)}`}`);
  const version = task._meta?.["parley/toolVersion"];
  if (typeof version === "string") print(`  version  ${cleanLine(version)}`);
  if (timeline) print(`  tool     ${toolText({ ...timeline.task, tool: timeline.task.name })}`);
  print(`  called   ${moment(Date.parse(createdAt), nowMs)}`);
  print(`  changed  ${moment(Date.parse(lastUpdatedAt), nowMs)}`);
  if (result || error || status === "cancelled") print(`  took     ${duration(Date.parse(lastUpdatedAt) - Date.parse(createdAt))}`);
  if (ttlMs !== null && ttlMs !== undefined && (result || error)) print(`  kept     until ${moment(Date.parse(createdAt) + ttlMs, nowMs)}`);
  if (timeline) for (const line of showTimeline(timeline, await endsOf(server, timeline))) print(line);
  for (const [key, request] of Object.entries(asksOf(task))) print(showAsk(taskId, key, request));
  if (result) print(showResult(result));
  if (error) print(showError(error));
}

/** Prints the format that `tasks get` has always had. */
export async function printTaskShort(client: McpClient, taskId: string, { json }: { readonly json?: boolean }): Promise<void> {
  const task = await getTask(client, taskId);
  print(json ? jsonText(task, 2) : showTask(task));
}

export async function cancelTask(client: McpClient, taskId: string, { json }: { readonly json?: boolean }): Promise<void> {
  await client.request("tasks/cancel", { taskId });
  const task = await getTask(client, taskId);
  if (json) printJson({ taskId, status: task.status });
  else print(showTask(task));
}
