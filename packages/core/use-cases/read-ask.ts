/**
 * A person reads one ask: what is asked, by whom, until when; and after it was settled, how.
 *
 *   open ──the caller accepts, others are missing──▶ accepted
 *    └──────────────────────┴─ answer · deadline · withdrawal · end of the task ──▶ settled
 *
 * Those who were asked may read how an ask ended as long as its task exists, so that a person whose answer counted
 * keeps the record, and one who came second learns who was first.
 */
import { namesOfCaller, type SettledAsk } from "../callers/open-asks.ts";
import { noteShown } from "../callers/audit.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { hasAnswered, may, maySeeEnd, owns } from "../callers/policy.ts";
import { hasAccepted, isBy } from "../callers/quorum.ts";
import { type Answer, type Ask, type AskRequest, isInternalKey, type Task } from "../task.ts";
import { notFound, readable, type TaskRef } from "./get-task.ts";
import { type AskSummary, summaryOfAsk } from "./list-asks.ts";
import type { Services } from "./services.ts";
import { type Asked, isOfChild, whereAsked } from "./where-asked.ts";

export interface ReadAsk extends TaskRef {
  readonly key: string;
}

export type AskRead =
  /**
   * - `open`: the caller may answer.
   * - `accepted`: the caller has accepted; others are missing.
   * - `of-others`: the caller's own task asks others.
   */
  | (AskSummary & {
      readonly state: "open" | "accepted" | "of-others";
      readonly digest: string;
      readonly request: Extract<AskRequest, { type: "form" | "url" }>;
    })
  | SettledRead;

export interface SettledRead {
  readonly state: "settled";
  readonly taskId: string;
  readonly key: string;
  readonly called: AskSummary["called"];
  readonly owner: AskSummary["owner"];
  /**
   * - `closed`: with its task, or because its client could not show it.
   * - `answered`: the task is over, and what was answered is no longer kept.
   */
  readonly end: "answered" | "accepted" | "declined" | "cancelled" | "timed_out" | "withdrawn" | "closed";
  /** Who answered: absent if nobody did. `isCaller`: the caller's own answer counted. */
  readonly by?: Named;
  /** With a quorum: everyone whose acceptance counted. */
  readonly acceptedBy?: readonly (Named & { readonly atMs: number })[];
  /** What the caller themselves answered. */
  readonly answer?: Answer;
  /** Why it was declined, for the owner of the task. */
  readonly reason?: string;
  /** When the answer arrived. Absent if no person gave it and the task has continued. */
  readonly atMs?: number;
}

/** A person, for those who could see the question. */
export interface Named {
  readonly principal: string;
  /** What they were called when they answered (Given.name). */
  readonly name?: string;
  readonly isCaller: boolean;
}

/**
 * Changes nothing; the audit notes that an open ask was shown. Throws TASK_NOT_FOUND alike for asks that never existed and asks that the caller may not read, and as
 * `readable` does.
 */
export async function readAsk(services: Pick<Services, "store" | "audit" | "digest" | "clock">, ref: ReadAsk): Promise<AskRead> {
  const { caller } = ref;
  const shownBy = await services.store.load(ref.taskId);
  // A child's ask is read at the task that shows it by the owner only; others know it by the child.
  const isVia = isOfChild(ref.key);
  if (isInternalKey(ref.key) || (isVia && (!shownBy || !may(caller, "follow", shownBy)))) throw notFound(ref);
  const at = isVia ? await whereAsked(services, ref, shownBy) : ref;
  const task = at && isVia ? await services.store.load(at.taskId) : shownBy;
  if (task?.unreadable && may(caller, "follow", task)) readable(task);
  const ask = task?.asks.find((open) => open.key === at?.key);
  if (task && ask && mayRead(caller, task, ask)) {
    const read = readOpen(caller, task, ask, ref);
    if (read.state === "open") noteShown(services, ref, task, [ask]);
    return read;
  }
  // Read also if there is no task, so that another person's takes the same steps (docs/adr/0014).
  const settled = task?.unreadable ? undefined : await settledFor(services, at ?? ref, caller);
  if (!task || !settled || !maySeeEnd(caller, task, settled)) throw notFound(ref);
  return readSettled(caller, { task, key: at?.key ?? ref.key, settled });
}

function settledFor({ store }: Pick<Services, "store">, { taskId, key }: Asked, caller: Caller): Promise<SettledAsk | undefined> {
  const tenant = caller.tenant === DEFAULT_TENANT ? {} : { tenant: caller.tenant };
  return store.settledAsk({ taskId, key, ...tenant, names: namesOfCaller(caller) });
}

function mayRead(caller: Caller, task: Task, ask: Ask): boolean {
  return may(caller, "answer", task, ask) || may(caller, "follow", task);
}

function readOpen(caller: Caller, task: Task, ask: Ask, ref: ReadAsk): AskRead {
  const { request } = ask;
  if (request.type !== "form" && request.type !== "url") throw notFound(ref);
  const state = !may(caller, "answer", task, ask) ? "of-others" : hasAccepted(caller, task.call, ask) ? "accepted" : "open";
  return { ...summaryOfAsk(caller, task, ask), state, digest: ask.digest, request };
}

function readSettled(
  caller: Caller,
  { task, key, settled }: { readonly task: Task; readonly key: string; readonly settled: SettledAsk },
): SettledRead {
  const { outcome, arrivedAtMs } = settled;
  const { kind, name, principal } = task.call;
  const isOwner = owns(caller, task.call);
  const common = {
    state: "settled" as const,
    taskId: task.id,
    key,
    called: { kind, name },
    owner: { principal, isCaller: isOwner },
    ...(arrivedAtMs !== undefined && { atMs: arrivedAtMs }),
  };
  if (!outcome) return { ...common, end: "answered" };
  if (outcome.type !== "answer") return { ...common, end: outcome.type === "withdrawn" ? "withdrawn" : "closed" };
  const { answer, accepted, given } = outcome;
  const person = (by: string | undefined, called: string | undefined): Named => ({
    principal: by ?? principal,
    ...(called !== undefined && { name: called }),
    isCaller: by === undefined ? isOwner : by === caller.principal,
  });
  const isByPerson = answer.action === "accept" || answer.action === "decline" || answer.action === "cancel";
  const mine = accepted?.find((each) => isBy(each, caller, task.call));
  const isMine = hasAnswered(caller, outcome) || (isOwner && outcome.by === undefined && isByPerson);
  return {
    ...common,
    end: ENDS[answer.action],
    ...(isByPerson && { by: person(outcome.by, given?.name) }),
    ...(given && { atMs: given.atMs }),
    ...(accepted && { acceptedBy: accepted.map(({ by, name: called, atMs }) => ({ ...person(by, called), atMs })) }),
    ...(isOwner && answer.action === "decline" && answer.reason !== undefined && { reason: answer.reason }),
    ...(isMine && isByPerson && { answer: mine ? { action: "accept", content: mine.content } : answer }),
  };
}

const ENDS: Readonly<Record<Answer["action"], SettledRead["end"]>> = {
  accept: "accepted",
  decline: "declined",
  cancel: "cancelled",
  reply: "accepted",
  timeout: "timed_out",
  unavailable: "closed",
  withdrawn: "withdrawn",
};
