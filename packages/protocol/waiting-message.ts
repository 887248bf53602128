/**
 * The status message of a task that waits for an answer its own client cannot give. Such a client shows its user only the status; without the
 * message, the task would wait for days without a visible reason.
 */
import {
  type Ask,
  type AskRequest,
  assuranceRefusal,
  canBeAsked,
  type ClientCapabilities,
  cut,
  isForClientOnly,
  isWaitingBehind,
  requiredOf,
  type Task,
  type TaskStatus,
  shownName,
} from "@parley/core";
import { tallyText } from "./ask-message.ts";
import type { ServerFacts } from "./server-facts.ts";

const QUESTIONS_MAX = 3;
const QUESTION_CHARS_MAX = 200;
const NAME_CHARS_MAX = 60;

export interface Reader {
  /** What the client can be asked that reads the task. */
  readonly capabilities: ClientCapabilities;
  readonly facts: Pick<ServerFacts, "pageOf">;
}

/**
 * The status that this client is shown. `input_required` says that the server needs input from this client, and has the requests for it (EXT "Task
 * Status", S25 "Task Status"). A client that finds none waits for requests that never come. So a task that waits for other people, for a page, or for a
 * client that can ask more is `working` to it, and the message says who or what it waits for.
 */
export function statusShown({ status, asks }: Task, { capabilities }: Pick<Reader, "capabilities">): TaskStatus {
  if (status !== "input_required") return status;
  return asks.some(({ request }) => canBeAsked(request, capabilities)) ? status : "working";
}

/**
 * Parley's own key in `_meta` of a task, of the progress of a call that is held open, and of an answer that hands such a call over: it waits for people
 * whom this client cannot ask, here or at a server behind this one. A gateway does not count that as time that the tool works.
 */
const WAITS = "parley/waits";

/** Whether the task waits for people whom this client cannot ask. */
export function waitsForOthers(task: Task, reader: Pick<Reader, "capabilities">): boolean {
  const isBehind = task.status === "working" && isWaitingBehind(task.message);
  return isBehind || (task.status === "input_required" && statusShown(task, reader) === "working");
}

export function waitsMeta(task: Task, reader: Pick<Reader, "capabilities">): object {
  return waitsForOthers(task, reader) ? { [WAITS]: true } : {};
}

/** What the progress of a call that is held open says beyond its number: while others are asked whom the call waits for, and once they are not that it goes on. */
export function waitingReport(task: Task, reader: Reader): { readonly message?: string; readonly _meta?: object } {
  if (!waitsForOthers(task, reader)) return task.status === "working" ? { message: "The call continues.", _meta: { [WAITS]: false } } : {};
  const message = statusOf(task, reader);
  return { ...(message !== undefined && { message }), _meta: { [WAITS]: true } };
}

/** Undefined unless the task waits for other people, for a page, or for an ask that needs more than these capabilities. */
export function waitingMessage(task: Task, reader: Reader): string | undefined {
  if (task.status !== "input_required") return undefined;
  const apart = Object.groupBy(task.asksOfOthers ?? [], (ask) =>
    ask.agreed ? "onPages" : ask.elsewhere ? "elsewhere" : ask.tally?.mine ? "accepted" : "ofOthers",
  );
  const texts = [
    ...(apart.accepted ?? []).map((ask) => `You have accepted ${questionOf(ask.request)}, and it waits for others: ${tallyOf(ask)}.`),
    forOthers(apart.ofOthers ?? []),
    ...(apart.ofOthers ?? []).map((ask) => askedBack(task.id, ask, reader)),
    onPages(apart.onPages ?? []),
    ...(apart.elsewhere ?? []).map((ask) => forAnotherDoor(task.id, ask, reader)),
    forAnotherClient(task, reader),
  ].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join("\n");
}

function tallyOf({ audience, tally }: Ask): string {
  return tallyText(tally?.accepted ?? 0, audience?.quorum);
}

function forOthers(asks: readonly Ask[]): string | undefined {
  const parts = asks.map((ask) => `${questionOf(ask.request)} from ${namesOf(ask)}${ask.tally ? ` (${tallyOf(ask)})` : ""}`);
  return parts.length === 0 ? undefined : `Waiting for an answer to ${shortList(parts)}.`;
}

/** What somebody wants to know from the person who made the call before they answer. Whoever reads this is that person, or acts for them. */
function askedBack(
  id: string,
  { key, request, thread, route = { taskId: id, key } }: Ask,
  { facts: { pageOf } }: Reader,
): string | undefined {
  const { askedBack: wanted } = thread ?? {};
  if (!wanted) return undefined;
  const page = pageOf?.(route.taskId, route.key);
  const who = cut(wanted.name ?? "Somebody", NAME_CHARS_MAX);
  const text = cut(wanted.text.replaceAll(/\s+/g, " ").trim(), QUESTION_CHARS_MAX);
  const how = `${page === undefined ? "" : `at ${page}, or `}with: parley reply ${route.taskId} ${route.key} -m <text>`;
  return `${who} asks back before answering ${questionOf(request)}: "${text}". Reply ${how}`;
}

/** What the person answers themselves, but not through this client (callers/assurance.ts in core). */
function forAnotherDoor(id: string, ask: Ask, { facts: { pageOf } }: Reader): string {
  const { key, route = { taskId: id, key } } = ask;
  const required = requiredOf(ask) ?? { by: "login" };
  return `Waiting for your answer to ${questionOf(ask.request)}: ${assuranceRefusal(required, pageOf?.(route.taskId, route.key))}.`;
}

/** Pages that the person agreed to visit: they may have closed the window since. A url that is a credential is left out, since models read this. */
function onPages(asks: readonly Ask[]): string | undefined {
  const parts = asks.map(({ request }) => {
    const isPlain = request.type === "url" && !request.url.includes("?");
    return `${questionOf(request)}${isPlain ? ` at ${request.url}` : ""}`;
  });
  return parts.length === 0 ? undefined : `Waiting for a page to be completed: ${shortList(parts)}.`;
}

/** The people who are asked, short enough for a status. */
export function namesOf({ audience, thread }: Ask): string {
  const asked = [...(audience ? [audience.to] : []), ...(thread?.escalatedTo ?? [])];
  const isAnyone = asked.includes("tenant");
  if (isAnyone || asked.length === 0)
    return audience?.not ? "someone other than the caller" : isAnyone ? "anyone in the organisation" : "another person";
  const names = asked.flatMap((to) => {
    const { people = [], groups = [], roles = [] } = to === "tenant" ? {} : to;
    return [...people.map(shownName), ...groups.map((group) => `group ${group}`), ...roles.map((role) => `role ${role}`)];
  });
  return `${shortList([...new Set(names)].map((name) => cut(name, NAME_CHARS_MAX)))}${audience?.not ? ", but not from the caller" : ""}`;
}

function shortList(parts: readonly string[]): string {
  const shown = parts.slice(0, QUESTIONS_MAX);
  return [...shown, ...(parts.length > shown.length ? [`${parts.length - shown.length} more`] : [])].join(", ");
}

function forAnotherClient({ id, asks }: Task, { capabilities, facts: { pageOf } }: Reader): string | undefined {
  const lost = asks.filter(({ request }) => !canBeAsked(request, capabilities));
  if (lost.length === 0) return undefined;
  const requests = lost.map(({ request }) => request);
  const declares = [...new Set(requests.map(({ type }) => CAPABILITIES[type]))].join(" and ");
  const ofPeople = lost.filter(({ request }) => !isForClientOnly(request));
  // A question of a called tool has its page at the task of that tool.
  const pages = ofPeople.flatMap(({ key, route = { taskId: id, key } }) => pageOf?.(route.taskId, route.key) ?? []);
  const atPages = pages.length === 0 ? "" : `at ${shortList(pages)}, or `;
  // Pages and the command line can answer what a person is asked, but have no model and no folders.
  const orCli = ofPeople.length === lost.length ? `, or with: parley answer ${id}` : "";
  return `Waiting for an answer to ${shortList(requests.map(questionOf))}. This client cannot ask it: answer ${atPages}from one that declares ${declares}${orCli}`;
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

/** The waiting message, and the tool's own status. */
export function statusOf(task: Task, reader: Reader): string | undefined {
  const waiting = waitingMessage(task, reader);
  return waiting === undefined || task.message === undefined ? (waiting ?? task.message) : `${waiting}\n${task.message}`;
}
