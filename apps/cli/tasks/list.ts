/** `parley tasks`: the caller's own tasks, newest first. */
import { setTimeout as sleep } from "node:timers/promises";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import type { McpClient } from "../client/mcp-client.ts";
import { cleanAll, cleanLine, print, printJson, styled } from "../terminal/terminal.ts";
import { pagesOf } from "../tools/run.ts";

/** An entry of tasks/list (2025-11-25). */
export interface ListedTask {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

export interface ListCommand {
  readonly status?: readonly string[];
  readonly limit: number;
  readonly watch?: boolean;
  readonly json?: boolean;
}

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"];
const WATCH_EVERY_MS = 1_000;
const COLOURS = { working: "cyan", input_required: "yellow", completed: "green", failed: "red", cancelled: "dim" } as const;

export async function tasksOf(client: McpClient, { status, limit }: Pick<ListCommand, "status" | "limit">): Promise<readonly ListedTask[]> {
  const wrong = status?.find((each) => !STATUSES.includes(each));
  if (wrong !== undefined) throw new Error(`--status ${wrong} is not a status: use ${STATUSES.join(", ")}`);
  const found: ListedTask[] = [];
  const all = pagesOf<ListedTask>(async (cursor) => {
    const page = await client.sessionRequest<{ tasks: ListedTask[]; nextCursor?: string }>(
      "tasks/list",
      cursor === undefined ? {} : { cursor },
    );
    return { ...page, entries: page.tasks };
  });
  for await (const task of all) {
    if (status === undefined || status.includes(task.status)) found.push(task);
    if (found.length >= limit) break;
  }
  return found;
}

export async function printTasks(client: McpClient, command: ListCommand): Promise<void> {
  const { json, watch } = command;
  const tasks = await tasksOf(client, command);
  if (json && !watch) return printJson({ tasks });
  const seen = new Map<string, string>();
  const printNew = (all: readonly ListedTask[]): void => {
    for (const task of all) {
      const state = `${task.status} ${task.lastUpdatedAt}`;
      if (seen.get(task.taskId) !== state) {
        if (json) printJson(task);
        else print(line(task));
      }
      seen.set(task.taskId, state);
    }
  };
  if (tasks.length === 0 && !json) print("no tasks");
  printNew(tasks);
  if (!watch) return;
  const signal = onInterrupt();
  while (!signal.aborted) {
    await sleep(WATCH_EVERY_MS, undefined, { signal }).catch(() => undefined);
    // Oldest first, so that new tasks appear below the earlier ones.
    if (!signal.aborted) printNew((await tasksOf(client, command)).toReversed());
  }
  process.exitCode = INTERRUPTED;
}

function line(task: ListedTask): string {
  const { taskId, status, statusMessage, createdAt } = cleanAll(task);
  const colour = COLOURS[status as keyof typeof COLOURS] ?? "dim";
  const says = statusMessage === undefined ? "" : `  ${cleanLine(statusMessage).slice(0, 200)}`;
  return `${taskId}  ${styled(colour, status.padEnd("input_required".length), process.stdout)}  ${createdAt}${says}`;
}
