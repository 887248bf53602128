/** `parley tasks`: the caller's own tasks, newest first. */
import { setTimeout as sleep } from "node:timers/promises";
import { cut } from "@parley/core";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import type { ApiClient, Task } from "../client/api-client.ts";
import type { Reached } from "../client/reach.ts";
import { toolText } from "../questions/asked.ts";
import { counted } from "../terminal/counted.ts";
import { relative } from "../terminal/times.ts";
import { cleanAll, cleanLine, print, printJson, styled } from "../terminal/terminal.ts";

export interface ListCommand {
  readonly status?: readonly string[];
  readonly limit: number;
  readonly watch?: boolean;
  readonly json?: boolean;
}

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"];
const WATCH_EVERY_MS = 1_000;
const PAGE_MAX = 100;
const SAID_CHARS_MAX = 200;
const COLOURS = { working: "cyan", input_required: "yellow", completed: "green", failed: "red", cancelled: "dim" } as const;

async function tasksOf(api: ApiClient, { status = [], limit }: Pick<ListCommand, "status" | "limit">): Promise<readonly Task[]> {
  const wrong = status.find((each) => !STATUSES.includes(each));
  if (wrong !== undefined) throw new Error(`--status ${wrong} is not a status: use ${STATUSES.join(", ")}`);
  const found: Task[] = [];
  for (let cursor: string | undefined; ;) {
    const query = { limit: Math.min(PAGE_MAX, limit - found.length), ...(status.length > 0 && { status: status.join(",") }) };
    const page = await api.get("/tasks", { query: { ...query, ...(cursor !== undefined && { cursor }) } });
    found.push(...page.tasks);
    cursor = page.nextCursor;
    if (cursor === undefined || found.length >= limit) return found;
  }
}

export async function printTasks({ api }: Pick<Reached, "api">, command: ListCommand): Promise<void> {
  const { json, watch } = command;
  const tasks = await tasksOf(api, command);
  if (json && !watch) return printJson({ tasks });
  const seen = new Map<string, string>();
  const printNew = (all: readonly Task[]): void => {
    for (const task of all) {
      const state = `${task.status} ${task.updatedAt}`;
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
    if (!signal.aborted) printNew((await tasksOf(api, command)).toReversed());
  }
  process.exitCode = INTERRUPTED;
}

/** The question that waits longest for the person, or what the tool says that it is doing. */
function line(given: Task): string {
  const task = cleanAll(given);
  const { taskId, status, statusMessage, createdAt, asks, asksOfOthers } = task;
  const colour = COLOURS[status] ?? "dim";
  const [first, ...more] = asks.toSorted((one, other) => one.askedAt.localeCompare(other.askedAt));
  const says = [
    ...(first ? [`asks you: ${shortly(first.message)}${more.length > 0 ? `, and ${counted(more.length, "more question")}` : ""}`] : []),
    ...(asksOfOthers > 0 ? [`asks others ${counted(asksOfOthers, "question")}`] : []),
    ...(!first && statusMessage !== undefined ? [shortly(statusMessage)] : []),
  ];
  const state = styled(colour, status.padEnd("input_required".length), process.stdout);
  return `${taskId}  ${state}  ${toolText(task)}  called ${relative(Date.parse(createdAt), Date.now())}${says.map((each) => `  ${each}`).join("")}`;
}

function shortly(text: string): string {
  return cut(cleanLine(text), SAID_CHARS_MAX);
}
