/**
 * Asks, seen from their pages. Every question that a person can answer has one: forms and links are answered there as
 * through a client, and some are answered on a page of Parley's own alone:
 *
 *   asked ──client: accept──▶ agreed ──┬─▶ completed on the page ──▶ the tool continues
 *     └────────────────────────────────┴─▶ declined or cancelled, by client or page
 *
 * A client's `accept` only says that the person agreed to go to the page. The tool continues when the page is
 * completed, whether the client accepted before, afterwards or never. Those who may answer the ask may open its page
 * (policy.ts), and the store decides which answer counts.
 */
import { unmet } from "../callers/assurance.ts";
import { may, mayReadAsk } from "../callers/policy.ts";
import { tallied } from "../callers/quorum.ts";
import type { Answer, Ask, JsonObject, Page, Receipt, RequiredAssurance, Task, Violation } from "../task.ts";
import { answerTask, judgeReply } from "./answer-task.ts";
import { comparedWith, forbid, recordAnswer, requireLogin } from "./record-answer.ts";
import { notFound, readable, type TaskRef } from "./get-task.ts";
import { requestFor } from "./read-ask.ts";
import type { Services } from "./services.ts";

export interface PageRef extends TaskRef {
  readonly key: string;
}

export interface OpenPage {
  readonly ask: Ask;
  readonly message: string;
  readonly page: ShownPage;
  readonly call: Task["call"];
  /** The person must log in, or do so again, before they can answer. Absent if they need not. */
  readonly required?: RequiredAssurance;
}

/**
 * What the page of an ask shows. Answers to a `form` or a `link` are given with answerOnPage, the others with
 * leavePage.
 */
export type ShownPage =
  | Page
  | { readonly kind: "form"; readonly schema: JsonObject; readonly hints?: JsonObject }
  /** A page elsewhere. `isReported`: an event reports that the person is done there. */
  | { readonly kind: "link"; readonly url: string; readonly isReported: boolean };

/**
 * - `completed`: on this page, earlier.
 * - `closed`: declined, cancelled, withdrawn or timed out, or the task has ended.
 * - `of-others`: the caller may read and not answer: their own task asks others, or the ask was handed on from them.
 */
export type Visit = { readonly type: "open" | "of-others"; readonly page: OpenPage } | { readonly type: "completed" | "closed" };

/**
 * A pure read. Throws TASK_NOT_FOUND alike for tasks that never existed and tasks of other callers, and as `readable`
 * does.
 */
export async function visitPage(services: Services, ref: PageRef): Promise<Visit> {
  const { caller, taskId, key } = ref;
  const task = await services.store.load(taskId);
  const isOwner = task !== undefined && may(caller, "follow", task);
  const ask = task?.asks.find((open) => open.key === key);
  if (task && ask) {
    const found = openPage(ask, readable(task));
    const mayAnswer = may(caller, "answer", task, ask);
    if (found && mayReadAsk(caller, task, ask)) {
      const shown = { ...tallied(caller, task, ask), request: requestFor(caller, task, ask, ask.request) };
      const required = mayAnswer ? unmet(caller, ask, services.clock.now()) : undefined;
      return { type: mayAnswer ? "open" : "of-others", page: { ...found, ask: shown, ...(required && { required }) } };
    }
  }
  const by = isOwner ? undefined : caller.principal;
  const { receipt } = await services.store.answer(comparedWith(services, { taskId, key, by }));
  if (receipt === "duplicate") return { type: "completed" };
  if (receipt === "late" && isOwner) return { type: "closed" };
  throw notFound(ref);
}

/** Undefined for what a client's model or folders answer, and for a child's ask: its page belongs to the child. */
function openPage(ask: Ask, { call }: Task): OpenPage | undefined {
  const { request, route } = ask;
  if (route) return undefined;
  switch (request.type) {
    case "form": {
      const { message, schema, hints } = request;
      return { ask, call, message, page: { kind: "form", schema, ...(hints && { hints }) } };
    }
    case "url": {
      const { message, url, page, completedBy } = request;
      return { ask, call, message, page: page ?? { kind: "link", url, isReported: completedBy !== undefined } };
    }
    case "sampling":
    case "roots":
      return undefined;
  }
}

/** Whether a client's `accept` settles the ask. */
function isAnsweredOnPage({ page: { kind } }: OpenPage): boolean {
  return kind === "form" || kind === "link";
}

export interface AnswerOnPage extends PageRef {
  /** Of the ask that the person was shown (I4). */
  readonly digest: string;
  readonly reply:
    | { readonly action: "accept"; readonly content?: JsonObject }
    | { readonly action: "decline"; readonly reason?: string }
    | { readonly action: "cancel" };
}

/** Answers a form or a link, as answerTask does. Late if the ask has changed since it was shown. */
export async function answerOnPage(services: Services, { digest, reply, ...ref }: AnswerOnPage): Promise<Receipt> {
  const { key, taskId } = ref;
  const task = await services.store.load(taskId);
  const ask = task?.asks.find((open) => open.key === key);
  if (task && ask && may(ref.caller, "answer", task, ask) && ask.digest !== digest) return { type: "late" };
  // Answers the ask of this reading: the store compares its digest with that of the ask which is open then.
  const { receipts } = await answerTask(services, { ...ref, replies: { [key]: reply }, reading: Promise.resolve(task) });
  return receipts.get(key) ?? { type: "unknown" };
}

/** Why answerOnPage would refuse this. Answers nothing. */
export async function checkOnPage(
  services: Pick<Services, "settings" | "validate" | "foresee">,
  { taskId, page: { ask, call } }: { readonly taskId: string; readonly page: OpenPage },
  reply: AnswerOnPage["reply"],
): Promise<readonly Violation[]> {
  const read = judgeReply(services, ask.request, reply);
  if (!read.ok) return read.violations;
  const { answer } = read;
  return answer.action === "accept" && services.foresee ? await services.foresee({ id: taskId, call }, ask, answer.content ?? {}) : [];
}

export interface LeavePage extends PageRef {
  /** Of the ask that the person was shown (I4). */
  readonly digest: string;
  /** `content` is the answer that the tool receives. `deposit` is stored apart from it; the caller has sealed it. */
  readonly answer:
    | { readonly action: "accept"; readonly content: JsonObject; readonly deposit?: string }
    | { readonly action: "decline"; readonly reason?: string };
}

/** Settles the ask by what the person did on its page. Throws as visitPage does, also if the ask is not open. */
export async function leavePage(services: Services, { digest, answer, ...ref }: LeavePage): Promise<Receipt> {
  const { caller, taskId, key } = ref;
  const task = await services.store.load(taskId);
  const ask = task?.asks.find((open) => open.key === key);
  const open = task && ask && openPage(ask, readable(task));
  if (!open || isAnsweredOnPage(open) || !may(caller, "answer", task, ask)) {
    const visit = await visitPage(services, ref);
    return task && ask && visit.type === "of-others" ? forbid(services, { actor: ref, task }, ask) : { type: "late" };
  }
  if (ask.digest !== digest) return { type: "late" };
  const required = unmet(caller, ask, services.clock.now());
  if (required) return requireLogin(services, { actor: ref, task }, ask, required);
  const by = may(caller, "follow", task) ? undefined : caller.principal;
  const settle = () => recordAnswer(services, { actor: ref, task, ask, by, ...recorded(answer) });
  return await (services.observer?.answering({ task, key, ask }, settle) ?? settle());
}

function recorded(answer: LeavePage["answer"]): { readonly answer: Answer; readonly page?: { readonly deposit?: string } } {
  if (answer.action === "decline") return { answer: { action: "decline" } };
  const { content, deposit } = answer;
  return { answer: { action: "accept", content }, page: deposit === undefined ? {} : { deposit } };
}
