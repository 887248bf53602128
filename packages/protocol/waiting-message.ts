/**
 * What a task's status says that waits for an answer which its own client cannot give. Such a client shows its user the status and nothing
 * else, and the task would wait for days without anybody knowing why.
 */
import { type AskRequest, cut, type Task } from "@parley/core";
import { canBeAsked } from "./capabilities.ts";

const QUESTIONS_MAX = 3;
const QUESTION_CHARS_MAX = 200;

/** Undefined unless the task waits for what a client with these capabilities cannot be asked; without them, the client that called. */
export function waitingMessage({ id, status, asks, call }: Task, capabilities = call.capabilities): string | undefined {
  if (status !== "input_required") return undefined;
  const lost = asks.filter(({ request }) => !canBeAsked(request, capabilities)).map(({ request }) => request);
  if (lost.length === 0) return undefined;
  const shown = lost.slice(0, QUESTIONS_MAX).map(questionOf);
  const more = lost.length > shown.length ? [`${lost.length - shown.length} more`] : [];
  const declares = [...new Set(lost.map(({ type }) => CAPABILITIES[type]))].join(" and ");
  // The command line shows forms and pages, and has no model and no folders.
  const orCli = lost.every(({ type }) => type === "form" || type === "url") ? `, or with: parley answer ${id}` : "";
  return `Waiting for an answer to ${[...shown, ...more].join(", ")}. This client cannot ask it: answer from one that declares ${declares}${orCli}`;
}

const CAPABILITIES: { readonly [type in AskRequest["type"]]: string } = {
  form: "elicitation",
  url: "elicitation.url",
  sampling: "sampling",
  roots: "roots",
};

function questionOf(request: AskRequest): string {
  switch (request.type) {
    case "form":
    case "url":
      return `"${cut(request.message.replaceAll(/\s+/g, " ").trim(), QUESTION_CHARS_MAX)}"`;
    case "sampling":
      return "a request for the client's model";
    case "roots":
      return "a request for the client's folders";
  }
}

/** That, and what the tool says that it is doing. */
export function statusOf(task: Task, capabilities = task.call.capabilities): string | undefined {
  const waiting = waitingMessage(task, capabilities);
  return waiting === undefined || task.message === undefined ? (waiting ?? task.message) : `${waiting}\n${task.message}`;
}
