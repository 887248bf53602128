/** Formats tasks, questions and results for a terminal. */
import { type Field, fieldsOf } from "@parley/core";
import type { Elicitation } from "./form.ts";
import { clean, cleanAll, cleanLine, jsonText, shellWord } from "../terminal/terminal.ts";

/** Longer lists of choices are not shown. */
const CHOICES_SHOWN = 8;

/** An entry of `inputRequests`. */
export interface InputRequest {
  readonly method: string;
  readonly params?: object;
}

/** The result of tasks/get. */
export interface TaskState {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs?: number | null;
  /** How long the server asks its clients to wait before they read the task again. */
  readonly pollIntervalMs?: number;
  /** `parley/toolVersion`: the version of the task's tool. */
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  readonly result?: ToolResult;
  readonly error?: TaskError;
}

/** A JSON-RPC error. Those of Parley have a hint in their data. */
export interface TaskError {
  readonly code?: number;
  readonly message?: string;
  readonly data?: unknown;
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
}

export interface ToolResult {
  readonly content?: readonly Block[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

export function isOver({ status }: TaskState): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Formats a question, with the command that answers it from another terminal. */
export function showAsk(taskId: string, key: string, request: InputRequest): string {
  const how = `parley answer ${shellWord(taskId)} ${shellWord(key)}`;
  const name = cleanLine(key);
  if (request.method !== "elicitation/create")
    return `? ${name}: asks the client for ${cleanLine(request.method)}\n    ${how} --content '…'`;
  const asked = request.params as Elicitation;
  if (asked.mode === "url") return `? ${name}: ${clean(asked.message)}\n    ${showUrl(asked.url)}\n    ${how} --accept`;
  const fields = fieldsOf(asked.requestedSchema);
  const options = fields.map((field) => {
    const option = `--set ${shellWord(field.name)}=<${wanted(field)}>`;
    return field.isRequired ? option : `[${option}]`;
  });
  // A form may be accepted as it is if it requires nothing.
  if (!fields.some(({ isRequired }) => isRequired)) options.unshift("--accept");
  return `? ${name}: ${clean(asked.message)}\n    ${how} ${options.join(" ")}`;
}

/** The whole URL, with the host as browsers resolve it, so that look-alike letters are visible. */
export function showUrl(text: string): string {
  return URL.parse(text)?.href ?? cleanLine(text);
}

function wanted({ kind, choices, schema }: Field): string {
  if (choices.length === 0) return schema["format"] === "date" ? "YYYY-MM-DD" : kind;
  return choices.length > CHOICES_SHOWN ? kind : choices.map(({ value }) => cleanLine(value)).join("|");
}

export function showTask(task: TaskState): string {
  const { taskId, inputRequests = {}, result } = task;
  const { status, statusMessage } = cleanAll(task);
  const lines = [`${cleanLine(taskId)}  ${cleanLine(status)}${statusMessage === undefined ? "" : `  ${cleanLine(statusMessage)}`}`];
  for (const [key, request] of Object.entries(inputRequests)) lines.push(showAsk(taskId, key, request));
  if (result) lines.push(showResult(result));
  if (task.error) lines.push(showError(task.error));
  return lines.join("\n");
}

export function showError(error: TaskError): string {
  const { code, message, data } = cleanAll(error);
  const { hint, code: name } = (data ?? {}) as { readonly hint?: unknown; readonly code?: unknown };
  const isOurs = typeof hint === "string" && typeof name === "string";
  const what = `error ${isOurs ? name : (code ?? "")}: ${message ?? "without a message"}`;
  if (isOurs) return `${what}\n    ${hint}`;
  return data === undefined ? what : `${what}\n    ${jsonText(data)}`;
}

export function showResult({ content = [], structuredContent }: ToolResult): string {
  const texts = content.map((block) => block.text ?? (block.uri === undefined ? `[${block.type}]` : `[${block.type} ${block.uri}]`));
  if (texts.length > 0) return clean(texts.join("\n"));
  return structuredContent === undefined ? "(no content)" : jsonText(structuredContent, 2);
}
