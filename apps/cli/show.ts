/** How tasks and results look on a terminal. */
import type { TaskView } from "@modelcontextprotocol/ext-tasks/client";
import { type Field, fieldsOf } from "@parley/core";
import type { Elicitation } from "./form.ts";

/** A choice among more is named by its kind alone. */
const CHOICES_SHOWN = 8;

/** An entry of `inputRequests`. */
export interface InputRequest {
  readonly method: string;
  readonly params?: object;
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

export function asksOf({ raw }: TaskView): Readonly<Record<string, InputRequest>> {
  return (raw["inputRequests"] ?? {}) as unknown as Record<string, InputRequest>;
}

/** The question, and how to answer it from another terminal. */
export function showAsk(taskId: string, key: string, request: InputRequest): string {
  const how = `parley answer ${taskId} ${key}`;
  if (request.method !== "elicitation/create") return `? ${key}: asks the client for ${request.method}\n    ${how} --json '…'`;
  const asked = request.params as Elicitation;
  if (asked.mode === "url") return `? ${key}: ${asked.message}\n    ${asked.url}\n    ${how} --accept`;
  const fields = fieldsOf(asked.requestedSchema).map((field) => `--set ${field.name}=<${wanted(field)}>`);
  return `? ${key}: ${asked.message}\n    ${how} ${fields.join(" ")}`;
}

function wanted({ kind, choices }: Field): string {
  if (choices.length === 0) return kind;
  return choices.length > CHOICES_SHOWN ? kind : choices.map(({ value }) => value).join("|");
}

export function showTask(task: TaskView): string {
  const { taskId, status, statusMessage, raw } = task;
  const lines = [`${taskId}  ${status}${statusMessage === undefined ? "" : `  ${statusMessage}`}`];
  for (const [key, request] of Object.entries(asksOf(task))) lines.push(showAsk(taskId, key, request));
  if (raw["result"]) lines.push(showResult(raw["result"] as ToolResult));
  if (raw["error"]) lines.push(`error ${JSON.stringify(raw["error"])}`);
  return lines.join("\n");
}

export function showResult({ content = [], structuredContent }: ToolResult): string {
  const texts = content.map((block) => block.text ?? (block.uri === undefined ? `[${block.type}]` : `[${block.type} ${block.uri}]`));
  if (texts.length > 0) return texts.join("\n");
  return structuredContent === undefined ? "(no content)" : JSON.stringify(structuredContent, null, 2);
}
