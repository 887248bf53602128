/** `parley replay`: replays exported tasks with changed tools, offline and without running steps. */
import { parseDuration } from "@parley/core";
import { readRecordedTask, type RecordedTask, type UnreadableTask, type Verdict } from "@parley/sdk/replay";
import type { ReplayTasks } from "./command.ts";
import { linesOf } from "../terminal/lines.ts";
import { print, printJson } from "../terminal/terminal.ts";
import { type ReplayThread, startReplayThread, type ReplayReport } from "./replay-thread.ts";
import { showReplayed } from "./show.ts";
import { counted } from "../terminal/counted.ts";

/** Much more than the largest journal that a deployment allows by default. */
export const LINE_MAX = 64 * 1_024 * 1_024;

export async function replayTasks(
  file: string,
  { tools, baseline, timeout, json }: ReplayTasks & { readonly tools: readonly string[] },
): Promise<void> {
  const counts = noCounts();
  const thread = await startReplayThread({ tools, baseline, patienceMs: parseDuration(timeout) });
  try {
    for await (const task of tasksOf(file)) {
      const report = await replayed(thread, task);
      counts[report.verdict] += 1;
      const about = { taskId: task.taskId, ...("call" in task && { [task.call.kind]: task.call.name }) };
      if (json) printJson({ ...about, ...report });
      else print(showReplayed(about, report));
    }
  } finally {
    await thread.close();
  }
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) throw new Error(`${file} contains no task`);
  if (json) printJson({ tasks: all, ...counts });
  else print(showCounts(counts));
  if (counts.continues < all) process.exitCode = 1;
}

export const noCounts = (): Record<Verdict, number> => ({ continues: 0, diverges: 0, fails: 0, unknown: 0 });

export function showCounts({ continues, diverges, fails, unknown }: Record<Verdict, number>): string {
  return `${counted(continues + diverges + fails + unknown, "task")}: ${counted(continues, "continues", "continue")}, ${counted(diverges, "diverges", "diverge")}, ${counted(fails, "fails", "fail")}, ${unknown} unknown`;
}

async function replayed(thread: ReplayThread, task: RecordedTask | UnreadableTask): Promise<ReplayReport> {
  if (!("unreadable" in task)) return await thread.replay(task);
  return { verdict: "unknown", reason: `the task could not be read when it was exported: ${task.unreadable}`, recorded: [], found: [] };
}

/** Throws an Error that names the first line that is not a task. */
export async function* tasksOf(file: string): AsyncGenerator<RecordedTask | UnreadableTask> {
  let number = 0;
  for await (const line of linesOf(file)) {
    number += 1;
    if (line.trim() === "") continue;
    if (line.length > LINE_MAX) throw new Error(`${file}:${number}: has ${line.length} characters, and no task has more than ${LINE_MAX}`);
    yield parsed(file, number, line);
  }
}

function parsed(file: string, number: number, line: string): RecordedTask | UnreadableTask {
  try {
    return readRecordedTask(line);
  } catch (error) {
    throw new Error(`${file}:${number}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
