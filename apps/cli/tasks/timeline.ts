/** The timeline of a task: its journal in the order in which a replay settles it, and what it waits for. docs/playground.md describes the shape. */
import type { TaskTimeline, TimelineAsk, TimelineCall, TimelineLine } from "@parley/core/timeline";
import type { SettledAsk } from "../client/api-client.ts";
import type { Reached } from "../client/reach.ts";
import { readAsk } from "../questions/answer-ask.ts";
import { promptTexts } from "../questions/asked.ts";
import { cleanAll, cleanLine } from "../terminal/terminal.ts";
import { moment } from "../terminal/times.ts";
import { counted } from "../terminal/counted.ts";

/** Of a longer journal, only the last lines are shown. */
const LINES_SHOWN = 50;
/** Of more questions, only the ends of the last ones are read. */
const ENDS_READ = 20;
const KINDS: Readonly<Record<string, string>> = { ask: "question", now: "clock" };

/** Undefined if the server offers no timelines (an older version) or denies this caller's: the task itself is still shown. */
export async function timelineOf({ api }: Pick<Reached, "api">, taskId: string): Promise<TaskTimeline | undefined> {
  try {
    return (await api.get("/tasks/{taskId}/timeline", { path: { taskId } })) as unknown as TaskTimeline;
  } catch {
    return undefined;
  }
}

/** How the last questions ended that are no longer open, by their keys. */
export async function endsOf({ api }: Pick<Reached, "api">, { task, asks, journal }: TaskTimeline): Promise<Ends> {
  const isOpen = new Set(asks.map(({ key }) => key));
  const settled = journal.lines.filter(({ kind, name }) => kind === "ask" && !isOpen.has(name)).slice(-ENDS_READ);
  const read = await Promise.all(settled.map(({ name }) => readAsk(api, task.id, name).catch(() => undefined)));
  return new Map(read.flatMap((each) => (each?.state === "settled" ? [[each.key, each] as const] : [])));
}

export type Ends = ReadonlyMap<string, SettledAsk>;

/** The lines that show a timeline. */
export type Shown = Pick<TaskTimeline, "asks" | "calls" | "nowMs"> & {
  readonly task: Pick<TaskTimeline["task"], "run" | "generation" | "parent">;
  readonly journal: TaskTimeline["journal"];
};

export function showTimeline(timeline: Shown, ends: Ends = new Map()): string[] {
  const { task, asks, calls = [], journal, nowMs } = cleanAll(timeline);
  const restarts = task.generation > 0 ? `, restarted ${counted(task.generation, "time")}` : "";
  const shown = journal.lines.slice(-LINES_SHOWN);
  const hidden = journal.entries - shown.length;
  return [
    ...(task.parent === undefined ? [] : [`  called by ${cleanLine(task.parent)}`]),
    `  run      ${task.run === 0 ? "queued: no worker has begun this task" : task.run}${restarts}; ${journal.settled} of ${journal.entries} entries of the journal replay`,
    ...(hidden > 0 ? [`           … ${hidden} earlier`] : []),
    ...shown.map((line) => showLine(line, nowMs, line.kind === "ask" ? ends.get(line.name) : undefined)),
    ...calls.map((each) => showCall(each, nowMs)),
    ...asks.map((each) => showOpen(each, nowMs)),
  ];
}

function showLine({ kind, name, place, arrivedAtMs, state, child }: TimelineLine, nowMs: number, end: SettledAsk | undefined): string {
  const task = child === undefined ? "" : `  task ${cleanLine(child)}`;
  const at = end?.at === undefined ? arrivedAtMs : Date.parse(end.at);
  const arrived = at === undefined || Number.isNaN(at) ? "" : `  ${moment(at, nowMs)}`;
  const became = end === undefined ? state : cleanLine(endText(end));
  return `${String(place ?? "·").padStart(9)}  ${cleanLine(KINDS[kind] ?? kind).padEnd(9)} ${cleanLine(name)}  ${became}${arrived}${task}`;
}

/** Who answered, by the name that they had then. */
function endText({ end, by, acceptedBy, reason }: SettledAsk): string {
  const named = (each: NonNullable<typeof by>) => (each.isCaller ? "you" : (each.name ?? each.principal));
  const who = acceptedBy?.map(named).join(", ") ?? (by && named(by));
  const whom = who === undefined ? "" : ` by ${who}`;
  switch (end) {
    case "answered":
    case "accepted":
      return `answered${whom}`;
    case "declined":
      return `declined${by ? ` by ${named(by)}` : ""}${reason === undefined ? "" : `: ${reason}`}`;
    case "cancelled":
      return `closed without an answer${whom}`;
    case "timed_out":
      return "its deadline passed";
    case "withdrawn":
      return "withdrawn by the tool";
    case "closed":
      return "closed with the call";
  }
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
  const prompts = promptTexts(ask, nowMs);
  const others = isPutToOthers ? ", asked of others" : "";
  const tally = accepted === undefined ? "" : `, accepted by ${accepted} of ${quorum} people${mine === true ? ", you among them" : ""}`;
  const refused = refusals === undefined ? "" : `, ${counted(refusals, "answer")} refused`;
  return [
    `${"?".padStart(9)}  question  ${cleanLine(key)}  open${others}${tally}${refused}`,
    `${" ".repeat(21)}asked    ${moment(askedAtMs, nowMs)}`,
    `${" ".repeat(21)}until    ${moment(deadlineMs, nowMs)}, then ${cleanLine(onTimeout)}`,
    ...(prompts.length > 0 ? [`${" ".repeat(21)}also     ${prompts.join(" · ")}`] : []),
  ].join("\n");
}
