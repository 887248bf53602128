/**
 * A person finds what is asked of them, regardless of whose task asks.
 *
 *   others' tasks: the index of open asks, by the caller's names ─┐
 *   own tasks: the owner's list, the newest OWN_TASKS_MAX ────────┴─▶ merged by place ─▶ policy.ts ─▶ filter ─▶ a page
 *
 * The policy decides about each ask as it is read. A page looks at a bounded number of asks: if a filter leaves out
 * most of them, the page is short and has a cursor.
 */
import { toolNameOf } from "../task/test-call.ts";
import { type AskOrder, type AskPlace, inAskOrder, namesOfCaller, placeMs } from "../callers/open-asks.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { cut } from "../values/cut.ts";
import { delegatedByOf, may, owns } from "../callers/policy.ts";
import { hasAccepted, tallied } from "../callers/quorum.ts";
import { aboutOf, priorityOf } from "../asks/about.ts";
import { isRisky } from "../asks/form.ts";
import { isParticipant } from "../callers/seats.ts";
import { claimOf } from "../callers/threads.ts";
import type {
  Ask,
  AskedBack,
  CallerNames,
  CallFacts,
  ThreadClaim,
  Audience,
  Participant,
  Priority,
  RequiredAssurance,
  Task,
  TimeoutPolicy,
} from "../task.ts";
import { invalidCursor } from "../task/invalid-cursor.ts";
import type { Snooze } from "../ports/snoozes.ts";
import type { AskingCall, OpenAsk } from "../ports/store.ts";
import type { Services } from "./services.ts";
import { type SnoozeOf, snoozesOf } from "./snoozes-of.ts";

/** A person, for those who could see the question. */
export interface Named {
  readonly principal: string;
  /** What they were called then (Given.name). */
  readonly name?: string;
  readonly isCaller: boolean;
}

/** Who made a call, for those whom it asks. The other members are absent for callers of earlier versions. */
export interface Owner extends Named, CallerNames {}

export function ownerOf(caller: Caller, call: Pick<CallFacts, "principal" | "tenant" | "caller">): Owner {
  return { principal: call.principal, ...call.caller, isCaller: owns(caller, call) };
}

/** Somebody who is on it. */
export interface ClaimRead extends Named {
  readonly untilMs: number;
}

/** What somebody asks back. */
export interface AskedBackRead {
  readonly by: Named;
  readonly atMs: number;
  readonly text: string;
  /** The deadline stands still until the reply, at the longest until then: `deadlineMs`. */
  readonly isPaused?: true;
}

/** What a list shows of an ask. */
export interface AskSummary {
  /** The task to answer, with the ask's key there. */
  readonly taskId: string;
  readonly key: string;
  readonly kind: "form" | "url";
  /** The question, at most ASK_SUMMARY_CHARS. */
  readonly message: string;
  /** What asks. */
  readonly called: { readonly kind: "tool" | "prompt"; readonly name: string };
  /** Whose task asks. `isCaller`: the caller's own. */
  readonly owner: Owner;
  readonly askedAtMs: number;
  readonly deadlineMs: number;
  /** When an answer is wanted; absent if the tool does not say. */
  readonly dueAtMs?: number;
  /** What happens at the deadline. */
  readonly onTimeout: TimeoutPolicy;
  readonly priority: Priority;
  /** What follows a yes cannot be undone. */
  readonly isRisky?: true;
  /** How somebody must be identified for their answer to count; absent if in any way. */
  readonly assurance?: RequiredAssurance;
  /** Who else is asked; absent if only the owner is. */
  readonly audience?: Audience;
  /** With a quorum: how many have accepted. */
  readonly accepted?: number;
  /** Who is on it. Whoever may answer still may. */
  readonly claimedBy?: ClaimRead;
  /** Absent for none. */
  readonly commentCount?: number;
  /** In whose place the caller is asked; absent if in their own. */
  readonly delegatedBy?: Named;
  /** What somebody wants to know before they answer; absent for nothing, and once the owner of the task has replied. */
  readonly askedBack?: AskedBackRead;
  /** The caller may not answer it: the owner of its task is wanted, to reply to `askedBack`. */
  readonly isToReply?: true;
  /** Until when the caller has put it aside; absent if they have not. */
  readonly snoozedUntilMs?: number;
  /** When those who have not answered were last reminded; absent for never. */
  readonly remindedAtMs?: number;
  /** Who was asked as well because nobody had answered, a step each; absent for nobody. */
  readonly escalatedTo?: readonly Audience["to"][];
}

export const ASK_SUMMARY_CHARS = 500;

export interface AskFilter {
  /** Name of the tool or prompt. */
  readonly called?: string;
  /** Asks of the caller's own tasks, or of others'. */
  readonly owner?: "caller" | "others";
  readonly askedBeforeMs?: number;
  readonly askedAfterMs?: number;
  readonly deadlineBeforeMs?: number;
  readonly priority?: Priority;
  /** Asks of the caller's own tasks that they may not answer, and whose `askedBack` waits for their reply: only these, or these as well. */
  readonly toReply?: "only" | "any";
  /** What the caller has put aside: only that, or that as well. Absent: not that. */
  readonly snoozed?: "only" | "any";
}

export interface ListAsks {
  readonly caller: Caller;
  readonly filter?: AskFilter;
  /** Default: `oldest`. */
  readonly order?: AskOrder;
  /** Asks per page. */
  readonly limit: number;
  /** From the page before, in the same order. */
  readonly cursor?: string;
}

export interface AskedPage {
  readonly asks: readonly AskSummary[];
  readonly nextCursor?: string;
}

/** Asks that a page examines. */
const LOOKED_MAX = 500;
/** Entries of the index that are read at once. */
const PORTION_MIN = 16;
const PORTION_MAX = 128;
/** For a person of many names: the index merges an entry for each of them at worst. */
const PORTION_OF_MANY_MAX = 64;
const MANY_NAMES = 64;
/** How many of the caller's own tasks are examined, the newest. */
export const OWN_TASKS_MAX = 1_000;

/** How many asks are counted at most. */
export const ASKS_COUNTED_MAX = 100;

/** Open asks that the caller may answer and has not accepted. Throws INVALID_CURSOR. */
export async function listAsks(
  services: Pick<Services, "store" | "clock" | "snoozes">,
  { caller, filter = {}, order = "oldest", limit, cursor }: ListAsks,
): Promise<AskedPage> {
  const { store, clock } = services;
  const names = namesOfCaller(caller);
  const tenant = caller.tenant === DEFAULT_TENANT ? {} : { tenant: caller.tenant };
  let after = cursor === undefined ? undefined : parseCursor(order, cursor);
  const isSnoozed = filter.snoozed === "only";
  const [snoozed, owned] = await Promise.all([
    snoozesOf(services, caller),
    filter.owner === "others" || isSnoozed ? [] : store.ownAsked({ principal: caller.principal, order, tasksMax: OWN_TASKS_MAX }),
  ]);
  const read = readerOf(store, caller, { nowMs: clock.now(), snoozeOf: snoozed.of });
  const own = isSnoozed ? await placesOf(snoozed.all, read, order) : owned;
  const asks: AskSummary[] = [];
  const portionMax = names.length > MANY_NAMES ? PORTION_OF_MANY_MAX : PORTION_MAX;
  // A list passes over it once, and then over no more.
  const aside = filter.snoozed === undefined ? snoozed.all.length : 0;
  let isRead = names.length === 0 || isSnoozed;
  for (let looked = 0; looked < LOOKED_MAX;) {
    const from = after;
    const portion = Math.min(portionMax, portionFor(limit + 1 - asks.length, { looked, shown: asks.length, aside }));
    const found = isRead ? [] : await store.asked({ ...tenant, names, order, limit: portion, ...(from && { after: from }) });
    const last = found.at(-1);
    const isCut = last?.isElsewhere === true;
    isRead ||= found.length < portion && !isCut;
    const isNext = (place: AskPlace) =>
      (!from || inAskOrder(order, place, from) > 0) && (isRead || !last || inAskOrder(order, place, last) <= 0);
    const next = distinct(order, [...own.filter(isNext), ...found]);
    const places = next.slice(0, Math.min(portion, LOOKED_MAX - looked));
    const shown = await read(places);
    for (const [index, place] of places.entries()) {
      const ask = shown[index]?.summary;
      if (ask && matches(ask, filter)) {
        if (asks.length === limit && after) return { asks, nextCursor: formatCursor(order, after) };
        asks.push(ask);
      }
      after = place;
    }
    const isAll = places.length === next.length;
    if (isRead && isAll) return { asks };
    // What the index has behind these places is read again.
    if (last && after && inAskOrder(order, after, last) < 0) isRead = false;
    looked += places.length + (isCut && isAll ? portion : 0);
  }
  return after ? { asks, nextCursor: formatCursor(order, after) } : { asks };
}

interface SoFar {
  readonly looked: number;
  readonly shown: number;
  readonly aside: number;
}

/** As many as the rest of the page is likely to need, by how many of those before were shown. */
function portionFor(missing: number, { looked, shown, aside }: SoFar): number {
  if (looked === 0) return Math.max(PORTION_MIN, missing);
  const passed = Math.min(aside, looked - shown);
  return Math.max(PORTION_MIN, Math.ceil((missing * Math.max(looked - passed, 1)) / Math.max(shown, 1)));
}

/** How many asks a list would show. `isMore`: at least so many; the rest is not counted. */
export async function countAsks(
  services: Pick<Services, "store" | "clock" | "snoozes">,
  { caller, filter }: Pick<ListAsks, "caller" | "filter">,
): Promise<{ readonly count: number; readonly isMore: boolean }> {
  const { asks, nextCursor } = await listAsks(services, { caller, ...(filter && { filter }), limit: ASKS_COUNTED_MAX });
  return { count: asks.length, isMore: nextCursor !== undefined };
}

interface Listed {
  readonly taskId: string;
  readonly key: string;
  readonly ask: Ask;
  readonly summary: AskSummary;
}

type Place = Pick<AskPlace, "taskId" | "key" | "isElsewhere">;
type Read = (places: readonly Place[]) => Promise<readonly (Listed | undefined)[]>;

/** Reads each ask once; undefined for those that the caller may not answer. */
function readerOf(
  store: Pick<Services["store"], "openAsks">,
  caller: Caller,
  { nowMs, snoozeOf }: { readonly nowMs: number; readonly snoozeOf: SnoozeOf },
): Read {
  const known = new Map<string, Listed | undefined>();
  const nameOf = ({ taskId, key }: Place) => `${taskId} ${key}`;
  const listed = ({ taskId, key }: Place, open: OpenAsk | undefined): Listed | undefined => {
    if (!open || !isForPerson(open.ask)) return undefined;
    const { call, ask } = open;
    const mayAnswer = may(caller, "answer", { call, asks: [ask] }, ask);
    const isToReply = !mayAnswer && ask.thread?.askedBack !== undefined && may(caller, "follow", { call, asks: [ask] });
    if (!isToReply && (!mayAnswer || hasAccepted(caller, call, ask))) return undefined;
    const snooze = snoozeOf(taskId, ask);
    const summary = {
      ...summaryOfAsk(caller, { id: taskId, call }, ask, nowMs),
      ...(isToReply && { isToReply }),
      ...(snooze && { snoozedUntilMs: snooze.untilMs }),
    };
    return { taskId, key, ask, summary };
  };
  return async (places) => {
    const unknown = places.filter((place) => place.isElsewhere !== true && !known.has(nameOf(place)));
    const open = unknown.length > 0 ? await store.openAsks(unknown) : [];
    for (const [index, place] of unknown.entries()) known.set(nameOf(place), listed(place, open[index]));
    return places.map((place) => (place.isElsewhere ? undefined : known.get(nameOf(place))));
  };
}

/** The places of what the caller has put aside and may still answer. */
async function placesOf(snoozes: readonly Snooze[], read: Read, order: AskOrder): Promise<readonly AskPlace[]> {
  return (await read(snoozes)).flatMap((each) => (each ? [{ taskId: each.taskId, key: each.key, atMs: placeMs(order, each.ask) }] : []));
}

/** Whether a person answers it. Sampling and roots are requests to a client. */
export function isForPerson({ request }: Ask): boolean {
  return request.type === "form" || request.type === "url";
}

/** In order, each once: the caller's own ask is found in the index as well if it is put to others. */
function distinct(order: AskOrder, places: readonly AskPlace[]): AskPlace[] {
  const sorted = places.toSorted((a, b) => inAskOrder(order, a, b));
  return sorted.filter((place, index) => {
    const before = sorted[index - 1];
    return before?.taskId !== place.taskId || before.key !== place.key || before.atMs !== place.atMs;
  });
}

function matches({ called, owner, askedAtMs, deadlineMs, priority, snoozedUntilMs, isToReply }: AskSummary, filter: AskFilter): boolean {
  if (filter.toReply !== "any" && (filter.toReply === "only") !== (isToReply === true)) return false;
  if (filter.snoozed !== "any" && (filter.snoozed === "only") !== (snoozedUntilMs !== undefined)) return false;
  if (filter.called !== undefined && filter.called !== called.name) return false;
  if (filter.priority !== undefined && filter.priority !== priority) return false;
  if (filter.owner !== undefined && (filter.owner === "caller") !== owner.isCaller) return false;
  if (filter.askedBeforeMs !== undefined && askedAtMs >= filter.askedBeforeMs) return false;
  if (filter.askedAfterMs !== undefined && askedAtMs <= filter.askedAfterMs) return false;
  return filter.deadlineBeforeMs === undefined || deadlineMs < filter.deadlineBeforeMs;
}

export function summaryOfAsk(caller: Caller, task: Pick<Task, "id"> & { readonly call: AskingCall }, ask: Ask, nowMs: number): AskSummary {
  const { key, request, askedAtMs, deadlineMs, onTimeout, audience } = ask;
  const { kind } = task.call;
  const { tally } = tallied(caller, task, ask);
  const { dueMs, assurance } = aboutOf(request) ?? {};
  const claim = claimOf(ask, task.call, nowMs);
  const comments = ask.thread?.comments ?? 0;
  const delegatedBy = delegatedByOf(caller, task, ask);
  const { reminded, escalatedTo, askedBack } = ask.thread ?? {};
  return {
    taskId: task.id,
    key,
    kind: request.type === "url" ? "url" : "form",
    message: "message" in request ? cut(request.message, ASK_SUMMARY_CHARS) : "",
    called: { kind, name: toolNameOf(task.call) },
    owner: ownerOf(caller, task.call),
    askedAtMs,
    deadlineMs,
    ...(dueMs !== undefined && { dueAtMs: askedAtMs + dueMs }),
    onTimeout,
    priority: priorityOf(request),
    ...(request.type === "form" && isRisky(request) && { isRisky: true }),
    ...(assurance && { assurance }),
    ...(audience && { audience }),
    ...(tally && { accepted: tally.accepted }),
    ...(claim && { claimedBy: claimRead(caller, claim) }),
    ...(comments > 0 && { commentCount: comments }),
    ...(delegatedBy && { delegatedBy: namedOf(caller, delegatedBy) }),
    ...(askedBack && { askedBack: askedBackRead(caller, askedBack) }),
    ...(reminded && { remindedAtMs: reminded.atMs }),
    ...(escalatedTo && { escalatedTo }),
  };
}

function askedBackRead(caller: Caller, { atMs, text, pauseMs, ...person }: AskedBack): AskedBackRead {
  return { by: namedOf(caller, person), atMs, text, ...(pauseMs !== undefined && { isPaused: true }) };
}

export function claimRead(caller: Caller, { untilMs, ...person }: ThreadClaim): ClaimRead {
  return { ...namedOf(caller, person), untilMs };
}

export function namedOf(caller: Caller, person: Participant): Named {
  const { by, name } = person;
  return { principal: by, ...(name !== undefined && { name }), isCaller: isParticipant(caller, person) };
}

const CURSOR = /^(oldest|newest|deadline|due|priority)\.(\d{1,16})\.([\w~-]{1,200})\.(\S{1,500})$/;

function formatCursor(order: AskOrder, { atMs, taskId, key }: AskPlace): string {
  return `${order}.${atMs}.${taskId}.${key}`;
}

/** Throws INVALID_CURSOR, also for the cursor of a list in another order. */
function parseCursor(order: AskOrder, cursor: string): AskPlace {
  const [, of, atMs, taskId = "", key = ""] = CURSOR.exec(cursor) ?? [];
  const place = { atMs: Number(atMs), taskId, key };
  if (of !== order || formatCursor(order, place) !== cursor) throw invalidCursor();
  return place;
}
