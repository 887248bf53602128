/**
 * The result of a call on the lowest rung: words that the model of a client can act on, because its client can show its user nothing else.
 *
 * The sentences are short and say what to do, in order: small models follow that, and invent an answer where a text leaves room for one.
 */
import { type Ask, cut, isForClientOnly, isFinished, type JsonObject, noteShown, type Services, type Task, type Tool } from "@parley/core";
import { isInWords, messageOf, namesOf, type Rung, type Step } from "@parley/protocol";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Ladder } from "../../../front-end/ladder.ts";
import { viewedAsk } from "./ask-view.ts";
import { isForModel } from "./asks-for-models.ts";
import { unlessAway } from "./unless-redis-away.ts";
import { viewTools } from "./view-tools.ts";

const QUESTIONS_MAX = 3;
const QUESTION_CHARS_MAX = 2_000;
const STATUS_CHARS_MAX = 1_000;
/** Of a question to other people, whose context the owner of the task does not see. */
const QUESTION_OF_OTHERS_CHARS_MAX = 500;

export interface Waiting {
  readonly task: Task;
  /** What was called; undefined if it is not offered any more. */
  readonly tool: Pick<Tool, "outputSchema" | "annotations"> | undefined;
  /** On `apps`, the host shows the questions in the view of this server. Of a client that fell to text it is the one before. */
  readonly rung: Rung | undefined;
}

type Route = Pick<FrontEnd, "services" | "ladder">;

/**
 * When a call that has said its status and goes on is told in words: for example, it waits for people whom an upstream asks. Many clients give up a request
 * after a minute, and without the name of its task such a client could not find it again.
 */
export const TOLD_AFTER_MS = 50_000;

/** What the client shows its model while the task is not finished. */
export function waitingResult(
  { services, ladder }: Route,
  exchange: Pick<Exchange, "caller" | "door" | "catalogue">,
  { task, tool, rung }: Waiting,
): JsonObject {
  noteShown(services, exchange, task, forPeople(task.asks));
  const text = { content: [{ type: "text", text: waitingText({ task, tool, rung }, ladder) }] };
  const state = { taskId: task.id, state: task.status, ...(rung === "apps" && inView({ task, tool }, exchange, ladder)) };
  if (tool?.outputSchema === undefined || services.validate(tool.outputSchema, state).length === 0)
    return { ...text, structuredContent: state };
  // Clients refuse a result without the structure that its tool promises, unless it is an error.
  return { ...text, isError: true, ...(rung === "apps" && { _meta: { "parley/waiting": state } }) };
}

/** What the view shows, beside the task and its state. */
function inView({ task, tool }: Omit<Waiting, "rung">, { catalogue }: Pick<Exchange, "catalogue">, ladder: Ladder): JsonObject {
  const own = ownOf(task);
  const asks = [...own, ...(task.asksOfOthers ?? []).filter((ask) => !own.includes(ask))];
  const tools = viewTools(catalogue, ladder);
  return {
    called: catalogue.tools.get(task.call.name)?.title ?? task.call.name,
    seen: seenIn(task),
    asks: asks.slice(0, QUESTIONS_MAX).map((ask) => {
      const page = addressOf(task, ask, ladder);
      return viewedAsk(task, { ask, isOwn: own.includes(ask), page }, { tool, takesAnswers: tools.answer !== undefined });
    }),
    more: Math.max(0, asks.length - QUESTIONS_MAX),
    tools: { ...tools },
  };
}

/**
 * Whether the call goes on in words if its client can be asked nothing of what is open now. On a rung of words it does, no matter who is asked. A client
 * that falls to text is told only of what its user has to answer elsewhere; while others are asked, its call waits.
 */
export function mustBeTold(task: Task, { rung, fallsToText }: Step): boolean {
  if (isInWords(rung)) return waitsForPeople(task);
  return (
    fallsToText && task.status === "input_required" && ownOf(task).length > 0 && !task.asks.some(({ request }) => isForClientOnly(request))
  );
}

/**
 * Lets the call end in words. Without a handle, its client could not find the task again; and it can be asked nothing any more, so what a run asks its
 * model or its folders from now on ends at once. Returns false while Redis is away.
 */
export async function revealed({ store, clock }: Pick<Services, "store" | "clock">, { id, call }: Task): Promise<boolean> {
  if (!call.hidden && Object.keys(call.capabilities).length === 0) return true;
  return (await unlessAway(() => store.reveal(id, clock.now()).then(() => true))) === true;
}

/** Put to the user, who is told of it in words: the client cannot be asked it. */
export function hasToTell(task: Task, canAsk: (ask: Ask) => boolean): boolean {
  return ownOf(task).some((ask) => ask.elsewhere === true || !canAsk(ask));
}

/** Whether people are asked. */
export function waitsForPeople({ status, asks, asksOfOthers = [] }: Task): boolean {
  return status === "input_required" && (forPeople(asks).length > 0 || asksOfOthers.length > 0);
}

/** Says which questions were told: later ones have a higher number. 0: none. */
export function seenIn({ asks, asksOfOthers = [] }: Task): number {
  return Math.max(0, ...[...asks, ...asksOfOthers].map(({ since }) => since?.revision ?? 0));
}

/** Put to the owner of the task, also where another door takes the answer. */
function ownOf({ asks, asksOfOthers = [] }: Task): readonly Ask[] {
  return forPeople([...asks, ...asksOfOthers.filter(({ elsewhere }) => elsewhere)]);
}

function forPeople(asks: readonly Ask[]): readonly Ask[] {
  return asks.filter(({ request }) => !isForClientOnly(request));
}

export function waitingText({ task, tool, rung }: Waiting, ladder: Ladder): string {
  const { taskTool, asksTool } = ladder;
  const { name } = task.call;
  if (isFinished(task.status)) return `${name} has ended: ${task.status}.`;
  const own = ownOf(task);
  const asks = [...own, ...(task.asksOfOthers ?? []).filter((ask) => !own.includes(ask))];
  const wait =
    taskTool === undefined
      ? `Tell the user that ${name} continues by itself after the answer.`
      : `Call ${taskTool} with taskId ${JSON.stringify(task.id)} and seen ${seenIn(task)}. It waits for the result.`;
  // In one line: that of an upstream must not read as what is to be done now.
  const status = task.message === undefined ? [] : [`Status: ${cut(task.message.trim().replaceAll(/\s+/g, " "), STATUS_CHARS_MAX)}`];
  if (asks.length === 0) {
    return [`NOT FINISHED: ${name} is still working.`, ...status, "Do this now:", `1. ${wait}`, again(name)].join("\n");
  }
  const shown = asks.slice(0, QUESTIONS_MAX);
  const more = asks.length - shown.length;
  const inApp = rung === "apps" ? " The user also sees it in the view of this call." : "";
  // A client that is asked some questions itself is not offered the tool.
  const passedOn = asksTool !== undefined && isInWords(rung) && own.some((ask) => isForModel(ask, tool));
  const steps = [
    own.length > 0
      ? `Show the user the question and the page.${inApp} Only a person can answer. Do not answer yourself. Do not guess.`
      : "Tell the user whose answer is missing. Do not answer yourself. Do not guess.",
    ...(passedOn
      ? [`If the user answers here in the chat, pass on exactly what they said with ${asksTool}. Otherwise they use the page.`]
      : []),
    wait,
  ];
  return [
    `NOT FINISHED: ${name} waits for ${asks.length === 1 ? "an answer" : `${asks.length} answers`}.`,
    ...shown.flatMap((ask) => ["", ...(own.includes(ask) ? askLines(task, ask, ladder) : linesOfOthers(task, ask, ladder))]),
    ...(more > 0 ? ["", `${more} more questions are open.`] : []),
    "",
    "Do this now:",
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    again(name),
  ].join("\n");
}

const again = (name: string) => `Do not call ${name} again: it would start a second time.`;

/** What is asked of the user, until when, and where. */
export function askLines(task: Pick<Task, "id">, ask: Ask, ladder: Ladder): string[] {
  const { request } = ask;
  const question = "message" in request ? messageOf({ ...ask, request }) : "";
  return [`Question: ${cut(question.trim(), QUESTION_CHARS_MAX)}`, ...whereAndWhen(task, ask, ladder)];
}

function linesOfOthers(task: Pick<Task, "id">, ask: Ask, ladder: Ladder): string[] {
  const question = "message" in ask.request ? ask.request.message : "";
  return [`Question: ${cut(question.trim(), QUESTION_OF_OTHERS_CHARS_MAX)}`, ...whereAndWhen(task, ask, ladder)];
}

function whereAndWhen(task: Pick<Task, "id">, ask: Ask, ladder: Ladder): string[] {
  return [
    `Who answers: ${ask.audience ? namesOf(ask) : "the user"}`,
    `Open until: ${new Date(ask.deadlineMs).toISOString().slice(0, 16).replace("T", " ")} UTC`,
    `Page: ${pageOf(task, ask, ladder)}`,
  ];
}

/**
 * Where the ask is answered. Without a login the address alone opens the page, and what a second person has to agree to must not be opened by the
 * model that reads this: the server has printed the address of its inbox for its user.
 */
function pageOf(task: Pick<Task, "id">, ask: Ask, ladder: Ladder): string {
  const address = addressOf(task, ask, ladder) ?? "the inbox, at the address that the server printed when it started";
  return ladder.hasLogin ? `${address} (a person logs in there)` : address;
}

function addressOf({ id }: Pick<Task, "id">, { key, route = { taskId: id, key }, audience }: Ask, ladder: Ladder): string | undefined {
  return audience && !ladder.hasLogin ? undefined : ladder.pageOf(route.taskId, route.key);
}
