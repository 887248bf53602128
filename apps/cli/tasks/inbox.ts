/** `parley inbox`: asks the open questions of the caller's tasks one after another, the longest waiting first. */
import { asksOf } from "../questions/answering.ts";
import { askUntilOver, Left, watchTask } from "../questions/follow.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import { type McpClient, RpcError } from "../client/mcp-client.ts";
import { type InputRequest, showAsk, type TaskState } from "../questions/show.ts";
import { cleanLine, isInteractive, print, printJson, printToStderr } from "../terminal/terminal.ts";
import { moment } from "../terminal/times.ts";
import { tasksOf } from "./list.ts";
import { getTask } from "./one.ts";

/** Maximum number of tasks to read. */
const TASKS_MAX = 1_000;

interface Open {
  readonly taskId: string;
  readonly key: string;
  readonly since: string;
  readonly request: InputRequest;
}

export async function inbox(
  client: McpClient,
  { json = false, list = false }: { readonly json?: boolean; readonly list?: boolean },
): Promise<void> {
  const open = await openQuestions(client);
  if (json) {
    return printJson({
      questions: open.map(({ taskId, key, since, request }) => ({ taskId, key, since, method: request.method, params: request.params })),
    });
  }
  if (open.length === 0) return print("no open questions");
  if (list || !isInteractive()) {
    for (const [index, { taskId, key, since, request }] of open.entries()) {
      print(`${index + 1} of ${open.length}  waiting since ${moment(Date.parse(since), Date.now())}`);
      print(showAsk(taskId, key, request));
    }
    return;
  }
  const signal = onInterrupt();
  let answered = 0;
  try {
    for (const [index, { taskId, key, request }] of open.entries()) {
      printToStderr(`\n${index + 1} of ${open.length}  task ${cleanLine(taskId)}`);
      const now = await stillOpen(client, taskId, key);
      if (!now) {
        printToStderr(`${cleanLine(key)} was answered elsewhere, or is no longer open.`);
        continue;
      }
      if (request.method !== "elicitation/create") {
        printToStderr(showAsk(taskId, key, request));
        continue;
      }
      const outcome = await askUntilOver(client, { taskId, key, request: now, watching: watchTask(client, taskId, signal), signal });
      if (outcome === "accepted") answered += 1;
    }
  } catch (error) {
    if (!(error instanceof Left)) throw error;
    printToStderr("The other questions stay open.");
    process.exitCode = INTERRUPTED;
  }
  printToStderr(`${answered} of ${open.length} answered`);
}

async function openQuestions(client: McpClient): Promise<readonly Open[]> {
  const waiting = await tasksOf(client, { status: ["input_required"], limit: TASKS_MAX });
  const oldestFirst = waiting.toSorted((one, other) => one.lastUpdatedAt.localeCompare(other.lastUpdatedAt));
  const open: Open[] = [];
  for (const { taskId, lastUpdatedAt } of oldestFirst) {
    const task = await found(client, taskId);
    if (!task) continue;
    for (const [key, request] of Object.entries(asksOf(task))) open.push({ taskId, key, since: lastUpdatedAt, request });
  }
  return open;
}

async function stillOpen(client: McpClient, taskId: string, key: string): Promise<InputRequest | undefined> {
  const task = await found(client, taskId);
  return task && asksOf(task)[key];
}

/** A task may end and be deleted between two reads. Content that cannot be read hides no other task's questions. */
async function found(client: McpClient, taskId: string): Promise<TaskState | undefined> {
  try {
    return await getTask(client, taskId);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (error.reason === "TASK_NOT_FOUND") return undefined;
    if (!error.reason?.startsWith("CONTENT_")) throw error;
    printToStderr(`task ${cleanLine(taskId)} cannot be read: ${cleanLine(error.message)}`);
    return undefined;
  }
}
