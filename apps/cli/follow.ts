/** Watches a task until it ends and tells what happens. */
import { taskId as toTaskId } from "@modelcontextprotocol/ext-tasks/core";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskEnabledSession, TaskView } from "@modelcontextprotocol/ext-tasks/client";
import { asksOf, type InputRequest, showAsk, showTask } from "./show.ts";

/** Waits longer than this between two looks never pay: a person is at the other end. */
const POLL_MS_MAX = 1_000;

export interface Follow {
  readonly taskId: string;
  /** Called once for each question. */
  readonly onAsk: (key: string, request: InputRequest) => Promise<void> | void;
}

export async function follow(session: TaskEnabledSession, { taskId, onAsk }: Follow): Promise<TaskView> {
  const controller = session.task(toTaskId(taskId));
  const seen = new Set<string>();
  for (let message: string | undefined; ;) {
    const task = await controller.snapshot();
    if (task.status === "completed" || task.status === "failed" || task.status === "cancelled") return task;
    if (task.statusMessage !== undefined && task.statusMessage !== message) process.stderr.write(`… ${task.statusMessage}\n`);
    message = task.statusMessage;
    for (const [key, request] of Object.entries(asksOf(task))) {
      if (seen.has(key)) continue;
      seen.add(key);
      await onAsk(key, request);
    }
    await sleep(Math.min(task.suggestedPollIntervalMs ?? POLL_MS_MAX, POLL_MS_MAX));
  }
}

export function printAsk(taskId: string): Follow["onAsk"] {
  return (key, request) => void process.stderr.write(`${showAsk(taskId, key, request)}\n`);
}

/** Prints how a task ended. A failure, a cancellation and a result with isError end the process with 1. */
export function printEnd(task: TaskView): void {
  const result = task.raw["result"] as { isError?: boolean } | undefined;
  process.stdout.write(`${showTask(task).split("\n").slice(1).join("\n") || `the task is ${task.status}`}\n`);
  if (task.status !== "completed" || result?.isError) process.exitCode = 1;
}
