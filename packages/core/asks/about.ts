/**
 * What a tool says about a question besides asking it: how urgent it is, when an answer is wanted, and what the person
 * should see to decide.
 *
 *   B1  The context and the required assurance are part of what was asked: an answer counts for the context that the person was shown, and as
 *       surely as it was asked for (I4).
 *   B2  Priority, due, what is allowed, reminders and escalations (prompts.ts) are not: they do not change what is answered, so changed code may
 *       change them. An ask that is open keeps those it was asked with.
 */
import {
  type Allowance,
  ALLOWANCES,
  type AskAbout,
  type AskRequest,
  type ContextPart,
  type EventRequest,
  type Json,
  PRIORITIES,
  type Priority,
  type RequiredAssurance,
  type Violation,
} from "../task.ts";
import { assuranceProblems } from "./required-assurance.ts";

/** Maximum number of parts of a context, and maximum characters of it as JSON. */
export const CONTEXT_PARTS_MAX = 20;
export const CONTEXT_CHARS_MAX = 20_000;
/** Maximum characters of a title. */
export const CONTEXT_TITLE_CHARS_MAX = 200;

export function aboutOf(request: AskRequest | EventRequest): AskAbout | undefined {
  return "about" in request ? request.about : undefined;
}

export function priorityOf(request: AskRequest | EventRequest): Priority {
  return aboutOf(request)?.priority ?? "normal";
}

/** The request without what its digest leaves out (B2). */
export function identityOf<R extends AskRequest | EventRequest>(request: R): R {
  const { about, ...rest } = request as R & { readonly about?: AskAbout };
  if (!about) return request;
  const { context, assurance } = about;
  const kept = { ...(context && { context }), ...(assurance && { assurance }) };
  return { ...rest, ...((context || assurance) && { about: kept }) } as R;
}

/** Tools may be written without types. `urlProblem` says what is wrong with an address. */
export function aboutProblems(about: AskAbout, urlProblem: (url: string) => string | undefined): Violation[] {
  const { priority, dueMs, context, allow, assurance } = about as { readonly [name in keyof AskAbout]: unknown };
  const problems: Violation[] = [];
  if (priority !== undefined && !PRIORITIES.includes(priority as Priority))
    problems.push({ path: "/priority", message: `must be one of ${PRIORITIES.join(", ")}` });
  if (dueMs !== undefined && !(Number.isSafeInteger(dueMs) && (dueMs as number) > 0))
    problems.push({ path: "/due", message: "must be a time from now, such as 4 hours" });
  if (allow !== undefined && !(Array.isArray(allow) && allow.every((each) => ALLOWANCES.includes(each as Allowance))))
    problems.push({ path: "/allow", message: `must be a list of ${ALLOWANCES.join(", ")}` });
  else if (allow?.includes("pause") === true && !allow.includes("askBack"))
    problems.push({ path: "/allow", message: "must have askBack if it has pause: the deadline stands still until somebody replies" });
  if (assurance !== undefined) problems.push(...assuranceProblems(assurance as RequiredAssurance));
  if (context === undefined) return problems;
  if (!Array.isArray(context) || context.length > CONTEXT_PARTS_MAX)
    return [...problems, { path: "/context", message: `must be a list of at most ${CONTEXT_PARTS_MAX} parts` }];
  if (JSON.stringify(context).length > CONTEXT_CHARS_MAX)
    return [...problems, { path: "/context", message: `must be at most ${CONTEXT_CHARS_MAX} characters, written as JSON` }];
  return [
    ...problems,
    ...(context as readonly Json[]).flatMap((part, index) => {
      const message = partProblem(part, urlProblem);
      return message === undefined ? [] : [{ path: `/context/${index}`, message }];
    }),
  ];
}

function partProblem(part: Json, urlProblem: (url: string) => string | undefined): string | undefined {
  if (typeof part !== "object" || part === null || Array.isArray(part)) return "must be an object with a type";
  const { type, title } = part;
  if (title !== undefined && (!isText(title) || title === "" || title.length > CONTEXT_TITLE_CHARS_MAX))
    return `has a title that is no text of 1 to ${CONTEXT_TITLE_CHARS_MAX} characters`;
  switch (type) {
    case "text":
      return isText(part["text"]) ? undefined : "is a text and needs text";
    case "table": {
      const { columns, rows } = part;
      if (!Array.isArray(columns) || columns.length === 0 || !columns.every(isText)) return "is a table and needs columns, a list of texts";
      const isRow = (row: Json) =>
        Array.isArray(row) && row.length === columns.length && row.every((cell) => isText(cell) || isNumber(cell));
      return Array.isArray(rows) && rows.every(isRow) ? undefined : "is a table and needs rows, each with a text or number for each column";
    }
    case "link":
    case "picture": {
      if (title === undefined) return `is a ${type} and needs a title`;
      const problem = isText(part["url"]) ? urlProblem(part["url"]) : "is missing";
      return problem === undefined ? undefined : `has a url that ${problem}`;
    }
    case "diff":
      return isText(part["before"]) && isText(part["after"]) ? undefined : "is a diff and needs before and after, two texts";
    default:
      return "must have the type text, table, link, picture or diff";
  }
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string";
}

function isNumber(value: Json): boolean {
  return typeof value === "number";
}

export interface DiffLine {
  readonly change: "same" | "removed" | "added";
  readonly text: string;
}

/** Maximum number of cells of the table that compares two texts. Longer texts are shown whole, the old one and then the new one. */
const COMPARED_MAX = 1_000_000;

/** The lines of both texts, so that as few as possible are removed and added. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const same = (text: string): DiffLine => ({ change: "same", text });
  return [
    ...old.slice(0, start).map(same),
    ...changedLines(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replaceAll("\r\n", "\n").split("\n");
}

/** By the longest common subsequence. */
function changedLines(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > COMPARED_MAX) return [...old.map(removed), ...now.map(added)];
  const width = now.length + 1;
  // In each cell: how many lines the rests of both texts from there have in common.
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const [below, right] = [common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0];
      common[i * width + j] = old[i] === now[j] ? (common[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(below, right);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [line, next] = [old[i], now[j]];
    if (line !== undefined && line === next) {
      lines.push({ change: "same", text: line });
      i += 1;
      j += 1;
    } else if (line !== undefined && (next === undefined || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))) {
      lines.push(removed(line));
      i += 1;
    } else {
      lines.push(added(next ?? ""));
      j += 1;
    }
  }
  return lines;
}

function removed(text: string): DiffLine {
  return { change: "removed", text };
}

function added(text: string): DiffLine {
  return { change: "added", text };
}

const MARKS: { readonly [change in DiffLine["change"]]: string } = { same: "  ", removed: "- ", added: "+ " };

/** The context as plain text, for clients that show a message and a form only. */
export function contextText(context: readonly ContextPart[]): string {
  return context.map(partText).join("\n\n");
}

function partText(part: ContextPart): string {
  if (part.type === "link" || part.type === "picture") return `${part.title}: ${part.url}`;
  const lines = part.title === undefined ? [] : [`${part.title}:`];
  switch (part.type) {
    case "text":
      return [...lines, part.text].join("\n");
    case "table":
      return [...lines, ...[part.columns, ...part.rows].map((row) => row.join(" | "))].join("\n");
    case "diff":
      return [...lines, ...diffLines(part.before, part.after).map(({ change, text }) => `${MARKS[change]}${text}`)].join("\n");
  }
}
