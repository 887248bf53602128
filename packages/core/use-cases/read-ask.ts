/**
 * A person reads one ask: what is asked, by whom, until when; and after it was settled, how.
 *
 *   open ──the caller accepts, others are missing──▶ accepted
 *    └──────────────────────┴─ answer · deadline · withdrawal · end of the task ──▶ settled
 *
 * Those who were asked may read how an ask ended as long as its task exists, so that a person whose answer counted
 * keeps the record, and one who came second learns who was first.
 */
import { aboutOf } from "../asks/about.ts";
import { type Upcoming, upcomingPrompts } from "../asks/prompts.ts";
import { namesOfCaller, type SettledAsk } from "../callers/open-asks.ts";
import { noteShown } from "../callers/audit.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { hasAnswered, isPutTo, may, mayReadAsk, maySeeEnd, owns } from "../callers/policy.ts";
import { hasAccepted, isBy } from "../callers/quorum.ts";
import { handedAway } from "../callers/seats.ts";
import { type Answer, type Ask, type AskRequest, type Audience, isInternalKey, type Task, type ThreadEntry } from "../task.ts";
import { notFound, readable, type TaskRef } from "./get-task.ts";
import { type AskSummary, isForPerson, type Named, namedOf, ownerOf, summaryOfAsk } from "./list-asks.ts";
import type { Services } from "./services.ts";
import { isTestCall, toolNameOf } from "../task/test-call.ts";
import { type SnoozeOf, snoozesOf } from "./snoozes-of.ts";
import { type Asked, isOfChild, whereAsked } from "./where-asked.ts";

export interface ReadAsk extends TaskRef {
  readonly key: string;
}

export type AskRead =
  /**
   * - `open`: the caller may answer.
   * - `accepted`: the caller has accepted; others are missing.
   * - `of-others`: the caller's own task asks others, or the ask was handed on from the caller.
   */
  | (AskSummary & {
      readonly state: "open" | "accepted" | "of-others";
      readonly digest: string;
      readonly request: Extract<AskRequest, { type: "form" | "url" }>;
      /** What happens while nobody answers, besides the deadline; absent for nothing. */
      readonly upcoming?: readonly Upcoming[];
      /** Of `of-others`: how the caller's part went to others; absent if the caller never had one. */
      readonly handedOn?: Happened;
    } & Around)
  | SettledRead;

export interface SettledRead extends Around {
  readonly state: "settled";
  readonly taskId: string;
  readonly key: string;
  readonly called: AskSummary["called"];
  readonly owner: AskSummary["owner"];
  /** Nobody made the call: it was to show whether people look, and the right answer was no. */
  readonly isTest?: true;
  /**
   * - `closed`: with its task, or because its client could not show it.
   * - `answered`: the task is over, and what was answered is no longer kept.
   */
  readonly end: "answered" | "accepted" | "declined" | "cancelled" | "timed_out" | "withdrawn" | "closed";
  /** Who answered: absent if nobody did. `isCaller`: the caller's own answer counted. */
  readonly by?: Named;
  /** In whose place; absent if in their own. */
  readonly delegatedBy?: Named;
  /** With a quorum: everyone whose acceptance counted. */
  readonly acceptedBy?: readonly (Named & { readonly atMs: number })[];
  /** What the caller themselves answered. */
  readonly answer?: Answer;
  /** Why it was declined, for the owner of the task. */
  readonly reason?: string;
  /** When the answer arrived. Absent if no person gave it and the task has continued. */
  readonly atMs?: number;
}

/** One thing that happened with an ask. */
export interface Happened {
  /** `snoozed`: the caller has put it aside, which nobody else reads. `answered`, as an end: the task is over, and what was answered is no longer kept. */
  readonly what: ThreadEntry["what"] | "askedBack" | "replied" | "snoozed" | SettledRead["end"];
  /** Absent if nobody did it, or if it is no longer known who. */
  readonly by?: Named;
  /** Absent if it is no longer known. */
  readonly atMs?: number;
  /** Of a claim and of a snooze: until when, unless it ended before. */
  readonly untilMs?: number;
  /** To whom it was handed on or escalated; of the first also why, and whose part it is, if not that of `by`. */
  readonly to?: Audience["to"];
  readonly reason?: string;
  readonly from?: Named;
}

export interface Comment {
  readonly by: Named;
  readonly atMs: number;
  readonly text: string;
  /** A question to the person who made the call, or their reply; absent for a mere comment. */
  readonly as?: "askedBack" | "replied";
}

/** What happened with an ask, the oldest first. */
export interface Around {
  readonly history: readonly Happened[];
  readonly comments: readonly Comment[];
}

/**
 * Changes nothing; the audit notes that an open ask was shown. Throws TASK_NOT_FOUND alike for asks that never existed and asks that the caller may not read, and as
 * `readable` does.
 */
export async function readAsk(
  services: Pick<Services, "store" | "audit" | "digest" | "clock" | "snoozes">,
  ref: ReadAsk,
): Promise<AskRead> {
  const { caller } = ref;
  const { at, task, ask } = await find(services, ref);
  if (task && ask) {
    const [history, snoozes] = await Promise.all([ask.thread ? services.store.thread(task.id, ask.key) : [], snoozesOf(services, caller)]);
    const read = readOpen(ref, { task, ask, history, snooze: snoozes.of(task.id, ask), nowMs: services.clock.now() });
    if (read.state === "open") noteShown(services, ref, task, [ask]);
    return read;
  }
  // Read also if there is no task, so that another person's takes the same steps (docs/adr/0014).
  const settled = task?.unreadable ? undefined : await settledFor(services, at ?? ref, caller);
  if (!task || !settled || !maySeeEnd(caller, task, settled)) throw notFound(ref);
  return readSettled(caller, { task, key: at?.key ?? ref.key, settled });
}

/** The ask, if it is open and the caller may read it. Throws TASK_NOT_FOUND and as `readable` does. */
export async function openAsk(
  services: Pick<Services, "store">,
  ref: ReadAsk,
): Promise<{ readonly task: Task; readonly ask: Ask } | undefined> {
  const { task, ask } = await find(services, ref);
  return task && ask && isForPerson(ask) ? { task, ask } : undefined;
}

interface Found {
  /** Where the ask is; undefined if there is and was none. */
  readonly at: Asked | undefined;
  readonly task: Task | undefined;
  /** Absent if it is not open, or not for the caller to read. */
  readonly ask?: Ask;
}

async function find(services: Pick<Services, "store">, ref: ReadAsk): Promise<Found> {
  const { caller } = ref;
  const shownBy = await services.store.load(ref.taskId);
  // A child's ask is read at the task that shows it by the owner only; others know it by the child.
  const isVia = isOfChild(ref.key);
  if (isInternalKey(ref.key) || (isVia && (!shownBy || !may(caller, "follow", shownBy)))) throw notFound(ref);
  const at = isVia ? await whereAsked(services, ref, shownBy) : ref;
  const task = at && isVia ? await services.store.load(at.taskId) : shownBy;
  if (task?.unreadable && may(caller, "follow", task)) readable(task);
  const ask = task?.asks.find((open) => open.key === at?.key);
  return { at, task, ...(task && ask && mayReadAsk(caller, task, ask) && { ask }) };
}

function settledFor({ store }: Pick<Services, "store">, { taskId, key }: Asked, caller: Caller): Promise<SettledAsk | undefined> {
  const tenant = caller.tenant === DEFAULT_TENANT ? {} : { tenant: caller.tenant };
  return store.settledAsk({ taskId, key, ...tenant, names: namesOfCaller(caller) });
}

/** What the caller may read of the request. The owner of a task that asks others reads nothing that is for those others alone. */
export function requestFor<R extends AskRequest>(caller: Caller, task: Pick<Task, "call" | "asks">, ask: Ask, request: R): R {
  const { context, notForOwner, ...about } = aboutOf(request) ?? {};
  if (!context || notForOwner === undefined || !owns(caller, task.call)) return request;
  if (may(caller, "answer", task, ask) || isPutTo(caller, task, ask)) return request;
  return { ...request, about: { ...about, context: context.filter((_, at) => at !== notForOwner) } };
}

function readOpen(ref: ReadAsk, { task, ask, history, snooze, nowMs }: Reading): AskRead {
  const { caller } = ref;
  const { request } = ask;
  if (request.type !== "form" && request.type !== "url") throw notFound(ref);
  const state = !may(caller, "answer", task, ask) ? "of-others" : hasAccepted(caller, task.call, ask) ? "accepted" : "open";
  const entries: readonly ThreadEntry[] = history.length === 0 ? [{ what: "asked", atMs: ask.askedAtMs }] : history;
  const upcoming = upcomingPrompts(ask);
  const away = state === "of-others" ? handedAway(caller, history) : undefined;
  return {
    ...summaryOfAsk(caller, task, ask, nowMs),
    state,
    digest: ask.digest,
    request: requestFor(caller, task, ask, request),
    ...(upcoming.length > 0 && { upcoming }),
    ...(away && { handedOn: happened(caller, away) }),
    ...(snooze && { snoozedUntilMs: snooze.untilMs }),
    ...withSnooze(around(caller, entries), caller, snooze),
  };
}

/** As the last thing that happened, which it is: what happens later ends it. */
function withSnooze(before: Around, caller: Caller, snooze: Reading["snooze"]): Around {
  if (!snooze) return before;
  const { sinceMs, untilMs } = snooze;
  const by = { principal: caller.principal, isCaller: true };
  const history = [...before.history, { what: "snoozed", by, atMs: sinceMs, untilMs } as const];
  return { ...before, history: history.toSorted((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0)) };
}

interface Reading {
  readonly task: Task;
  readonly ask: Ask;
  readonly history: readonly ThreadEntry[];
  readonly snooze: ReturnType<SnoozeOf>;
  readonly nowMs: number;
}

function around(caller: Caller, entries: readonly ThreadEntry[]): Around {
  const history = entries.map((entry) => happened(caller, entry));
  const comments = entries.flatMap((entry): Comment[] =>
    entry.what === "commented"
      ? [{ by: namedOf(caller, entry), atMs: entry.atMs, text: entry.text, ...(entry.as && { as: entry.as }) }]
      : [],
  );
  return { history, comments };
}

function happened(caller: Caller, entry: ThreadEntry): Happened {
  const { what, atMs } = entry;
  if (entry.what === "asked" || entry.what === "reminded") return { what, atMs };
  if (entry.what === "escalated") return { what, atMs, to: entry.to };
  const by = namedOf(caller, entry);
  if (entry.what === "claimed") return { what, atMs, by, untilMs: entry.untilMs };
  if (entry.what === "commented") return { what: entry.as ?? what, atMs, by };
  if (entry.what !== "delegated") return { what, atMs, by };
  const { to, reason, from } = entry;
  return { what, atMs, by, to, reason, ...(from && { from: namedOf(caller, from) }) };
}

/** With how it ended. */
function ended(before: Around, { end, by, atMs, acceptedBy = [] }: Omit<SettledRead, keyof Around>): Around {
  const accepted = acceptedBy.map(({ atMs: at, ...person }): Happened => ({ what: "accepted", by: person, atMs: at }));
  const last: Happened = { what: end, ...(by && { by }), ...(atMs !== undefined && { atMs }) };
  // The last acceptance is the end.
  const all = [...before.history, ...accepted, ...(end === "accepted" && accepted.length > 0 ? [] : [last])];
  return { ...before, history: all.toSorted((a, b) => (a.atMs ?? Infinity) - (b.atMs ?? Infinity) || 0) };
}

function readSettled(
  caller: Caller,
  { task, key, settled }: { readonly task: Task; readonly key: string; readonly settled: SettledAsk },
): SettledRead {
  const { outcome, arrivedAtMs } = settled;
  const { kind, principal } = task.call;
  const isOwner = owns(caller, task.call);
  const before = around(caller, settled.history ?? []);
  const withEnd = (read: Omit<SettledRead, keyof Around>): SettledRead => ({ ...read, ...ended(before, read) });
  const common = {
    state: "settled" as const,
    taskId: task.id,
    key,
    called: { kind, name: toolNameOf(task.call) },
    ...(isTestCall(task.call) && { isTest: true as const }),
    owner: ownerOf(caller, task.call),
    ...(arrivedAtMs !== undefined && { atMs: arrivedAtMs }),
  };
  if (!outcome) return withEnd({ ...common, end: "answered" });
  if (outcome.type !== "answer") return withEnd({ ...common, end: outcome.type === "withdrawn" ? "withdrawn" : "closed" });
  const { answer, accepted, given } = outcome;
  const person = (by: string | undefined, called: string | undefined): Named => ({
    principal: by ?? principal,
    ...(called !== undefined && { name: called }),
    isCaller: by === undefined ? isOwner : by === caller.principal,
  });
  const isByPerson = answer.action === "accept" || answer.action === "decline" || answer.action === "cancel";
  const mine = accepted?.find((each) => isBy(each, caller, task.call));
  const isMine = hasAnswered(caller, outcome) || (isOwner && outcome.by === undefined && isByPerson);
  return withEnd({
    ...common,
    end: ENDS[answer.action],
    ...(isByPerson && { by: person(outcome.by, given?.name) }),
    ...(given && { atMs: given.atMs }),
    ...(given?.delegatedBy && { delegatedBy: namedOf(caller, given.delegatedBy) }),
    ...(accepted && { acceptedBy: accepted.map(({ by, name: called, atMs }) => ({ ...person(by, called), atMs })) }),
    ...(isOwner && answer.action === "decline" && answer.reason !== undefined && { reason: answer.reason }),
    ...(isMine && isByPerson && { answer: mine ? { action: "accept", content: mine.content } : answer }),
  });
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
