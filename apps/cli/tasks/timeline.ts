/** The timeline of a task: its journal in the order in which a replay settles it, and what it waits for. docs/playground.md describes the shape. */
import type { TaskTimeline, TimelineAsk, TimelineCall, TimelineLine } from "@parley/core/timeline";
import { credentialsFor } from "../credentials/credentials.ts";
import type { Reached } from "../client/reach.ts";
import { readText } from "../bridge/events.ts";
import { ask as send } from "../bridge/remote.ts";
import { cleanAll, cleanLine } from "../terminal/terminal.ts";
import { moment } from "../terminal/times.ts";
import { counted } from "../terminal/counted.ts";

/** Of a longer journal, only the last lines are shown. */
const LINES_SHOWN = 50;
const TIMEOUT_MS = 10_000;
const KINDS: Readonly<Record<string, string>> = { ask: "question", now: "clock" };

/** Undefined if the server offers no timelines (an older version) or denies this caller's: the task itself is still shown. */
export async function timelineOf({ url }: Pick<Reached, "url">, taskId: string): Promise<TaskTimeline | undefined> {
  const at = new URL(`play/api/tasks/${encodeURIComponent(taskId)}/timeline`, url).href;
  const remote = { url: () => Promise.resolve(at), lost: () => undefined, token: credentialsFor(url) };
  try {
    const response = await send(remote, {
      method: "GET",
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.ok) return JSON.parse(await readText(response)) as TaskTimeline;
    await response.body?.cancel();
    return undefined;
  } catch {
    return undefined;
  }
}

/** The lines that show a timeline. */
export type Shown = Pick<TaskTimeline, "asks" | "calls" | "nowMs"> & {
  readonly task: Pick<TaskTimeline["task"], "run" | "generation" | "parent">;
  readonly journal: TaskTimeline["journal"];
};

export function showTimeline(timeline: Shown): string[] {
  const { task, asks, calls = [], journal, nowMs } = cleanAll(timeline);
  const restarts = task.generation > 0 ? `, restarted ${counted(task.generation, "time")}` : "";
  const shown = journal.lines.slice(-LINES_SHOWN);
  const hidden = journal.entries - shown.length;
  return [
    ...(task.parent === undefined ? [] : [`  called by ${cleanLine(task.parent)}`]),
    `  run      ${task.run === 0 ? "queued: no worker has begun this task" : task.run}${restarts}; ${journal.settled} of ${journal.entries} entries of the journal replay`,
    ...(hidden > 0 ? [`           … ${hidden} earlier`] : []),
    ...shown.map((line) => showLine(line, nowMs)),
    ...calls.map((each) => showCall(each, nowMs)),
    ...asks.map((each) => showOpen(each, nowMs)),
  ];
}

function showLine({ kind, name, place, arrivedAtMs, state, child }: TimelineLine, nowMs: number): string {
  const task = child === undefined ? "" : `  task ${cleanLine(child)}`;
  const arrived = arrivedAtMs === undefined ? "" : `  ${moment(arrivedAtMs, nowMs)}`;
  return `${String(place ?? "·").padStart(9)}  ${cleanLine(KINDS[kind] ?? kind).padEnd(9)} ${cleanLine(name)}  ${state}${arrived}${task}`;
}

function showCall({ key, tool, child, askedAtMs, deadlineMs }: TimelineCall, nowMs: number): string {
  return [
    `${"…".padStart(9)}  call      ${cleanLine(key)}  of ${cleanLine(tool)}, running  task ${cleanLine(child)}`,
    `${" ".repeat(21)}called   ${moment(askedAtMs, nowMs)}`,
    `${" ".repeat(21)}until    ${moment(deadlineMs, nowMs)}, then it is cancelled`,
  ].join("\n");
}

function showOpen(ask: TimelineAsk, nowMs: number): string {
  const { key, askedAtMs, deadlineMs, onTimeout, isPutToOthers, refusals, accepted, quorum, mine } = ask;
  const others = isPutToOthers ? ", asked of others" : "";
  const tally = accepted === undefined ? "" : `, accepted by ${accepted} of ${quorum} people${mine === true ? ", you among them" : ""}`;
  const refused = refusals === undefined ? "" : `, ${counted(refusals, "answer")} refused`;
  return [
    `${"?".padStart(9)}  question  ${cleanLine(key)}  open${others}${tally}${refused}`,
    `${" ".repeat(21)}asked    ${moment(askedAtMs, nowMs)}`,
    `${" ".repeat(21)}until    ${moment(deadlineMs, nowMs)}, then ${cleanLine(onTimeout)}`,
  ].join("\n");
}
