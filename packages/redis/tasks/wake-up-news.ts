/**
 * The news in a wake-up: what a change has left in the task's hash, so that a listener that knows the task before the change need not read it.
 * `in_full` in scripts/task/tell.lua writes it.
 *
 *   4 answered:size completed ␊ 2 1795647948128 1795734348128 0 ␊ ["outcome","{…}"]
 *   revision, what happened     run updated_at_ms expires_at_ms takeovers   fields
 */
import { isQuestion, type Outcome, type Owed, type StreamNews, type Task, type TaskChange } from "@parley/core";
import { plainContent } from "../content/codec.ts";
import { unpackOpen } from "./task-hash.ts";

/** Maximum size of the fields in a wake-up, in bytes. Larger ones are read, which then costs little by comparison. */
export const NEWS_MAX = 4_096;

const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** What streams tell each other is not a change. Processes of older versions read it as one that came before all others. */
const REPLIED = "0 replied\n";
const RESUMED = "0 resumed\n";
const CANCELLED = "0 cancelled\n";

export function newsMessage(news: StreamNews): string {
  switch (news.type) {
    case "replied":
      return REPLIED + news.requestId;
    case "resumed":
      return RESUMED + news.connection;
    case "cancelled":
      return CANCELLED;
  }
}

function newsOf(message: string): StreamNews | undefined {
  if (message.startsWith(REPLIED)) return { type: "replied", requestId: message.slice(REPLIED.length) };
  if (message.startsWith(RESUMED)) return { type: "resumed", connection: message.slice(RESUMED.length) };
  return message === CANCELLED ? { type: "cancelled" } : undefined;
}

/** Parses a wake-up. */
export function changeOf(message: string): TaskChange {
  const news = newsOf(message);
  if (news) return { revision: 0, isEnd: false, news };
  const [words = "", seen, fields] = message.split("\n");
  const [revision, ...happened] = words.trimEnd().split(" ");
  const change = { revision: Number(revision), isEnd: happened.some((each) => ENDS.has(each)) };
  if (seen === undefined || fields === undefined) return change;
  return { ...change, apply: (task) => afterChange(task, { ...change, happened, seen, fields }) };
}

interface News {
  readonly revision: number;
  readonly happened: readonly string[];
  readonly seen: string;
  /** JSON. */
  readonly fields: string;
}

/** Undefined if the task is not the one before the change, or if its hash alone does not say what it shows: asks of children are stored with them. */
function afterChange(task: Task, { revision, happened, seen, fields }: News): Task | undefined {
  if (task.revision + 1 !== revision || task.unreadable || task.asks.some(({ route }) => route)) return undefined;
  const content = plainContent.of(task.id);
  const left = new Map(task.asks.map((ask) => [ask.key, ask]));
  let end: "completed" | "failed" | undefined;
  for (const each of happened) {
    const [what, key = "", ...more] = each.split(":");
    // Of an event, of a call to a tool, or of a child.
    if (more.length > 0) return undefined;
    if (what === "completed" || what === "failed") end = what;
    else if (what !== "asked") left.delete(key);
  }
  const written = fieldsOf(fields);
  const { message, outcome, owed, problem: _problem, ...asked } = written;
  if (!Object.keys(asked).every((field) => field.startsWith("ask:"))) return undefined;
  const asks = [...left.values(), ...unpackOpen(content, asked).filter(isQuestion)];
  const [run, updatedAtMs, expiresAtMs, takeovers] = seen.split(" ").map(Number);
  const { takeovers: _takeovers, expiresAtMs: _expiresAtMs, message: before, ...kept } = task;
  // What a task said while it worked or waited ends with it (finish.lua).
  const says = message ?? (end ? undefined : before);
  return {
    ...kept,
    status: end ?? (asks.length > 0 ? "input_required" : "working"),
    revision,
    run: run ?? task.run,
    updatedAtMs: updatedAtMs ?? task.updatedAtMs,
    asks,
    ...(takeovers !== undefined && takeovers > 0 && { takeovers }),
    ...(expiresAtMs !== undefined && expiresAtMs > 0 && { expiresAtMs }),
    ...(says !== undefined && { message: says }),
    ...(outcome !== undefined && { outcome: JSON.parse(outcome) as Outcome }),
    ...(owed !== undefined && { owed: owed.split(" ")[0] as Owed }),
  };
}

function fieldsOf(text: string): Readonly<Record<string, string>> {
  const words = JSON.parse(text) as string[];
  return Object.fromEntries(words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1] ?? ""]] : [])));
}
