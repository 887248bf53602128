/**
 * Somebody outside hears what happened, from a place on:
 *
 *   outbox ─▶ of this type, tool, task ─▶ mine, or put to one of my names ─▶ policy.ts ─▶ occurrence
 *
 *   O1  What one may not see is no occurrence. The outbox narrows; the policy decides, when somebody hears of it.
 *   O2  Occurrences of one task are in the order of its changes, and each has the same id for everyone and every time.
 *   O3  Nothing between two places is left out, unless `isTruncated` says so: it is no longer kept, or its key is missing.
 *
 * A read looks at a bounded number of entries. If none of them is for the caller, it returns none and is not at the end.
 */
import { isTestCall, toolNameOf } from "../task/test-call.ts";
import type { Caller } from "../callers/caller.ts";
import { DEFAULT_TENANT } from "../callers/caller.ts";
import { namesOfCaller } from "../callers/open-asks.ts";
import { owns } from "../callers/policy.ts";
import { ParleyError } from "../errors.ts";
import type { Outbox, OutboxChange, OutboxEntry, OutboxPlace, PartitionPlace } from "../ports/outbox.ts";
import type { Subscription } from "../ports/subscriptions.ts";
import { isChildId } from "../replay/child-id.ts";
import { invalidCursor } from "../task/invalid-cursor.ts";
import type { JsonObject } from "../values/json.ts";
import { turns } from "../values/turns.ts";
import type { OccurrenceType } from "../task/occurrence-types.ts";
import { aboutOf, priorityOf } from "../asks/about.ts";
import { isForPerson } from "./list-asks.ts";
import { readAsk } from "./read-ask.ts";
import type { Services } from "./services.ts";

export interface Occurrence {
  /** The same for everyone who hears of it. */
  readonly id: string;
  readonly type: OccurrenceType;
  readonly atMs: number;
  readonly data: JsonObject;
}

export interface OccurrenceFilter {
  readonly types: readonly OccurrenceType[];
  readonly tool?: string;
  readonly taskId?: string;
  readonly from?: "me" | "others";
}

/** Hears of everything, or of everything of one tenant: a webhook in the operator's own file. */
export interface Operator {
  readonly isOperator: true;
  readonly tenant?: string;
}

export interface ReadOccurrences {
  readonly caller: Caller | Operator;
  readonly filter: OccurrenceFilter;
  readonly from: OutboxPlace;
  /** At most so many occurrences. */
  readonly limit: number;
  /** Nothing that is older (ms). */
  readonly maxAgeMs?: number;
  /** The address of a question's page. */
  readonly urlOf?: (taskId: string, key: string) => string;
}

export interface OccurrencesRead {
  readonly occurrences: readonly (Occurrence & { /** Where to continue after it. */ readonly place: OutboxPlace })[];
  readonly place: OutboxPlace;
  /** There is more to read at once. */
  readonly isMore: boolean;
  /** Something in between is not known any more, or was left out because of its age. */
  readonly isTruncated: boolean;
}

/** Entries of each partition that one read looks at, and how many tasks it reads at once. */
const LOOKED_MAX = 500;
const READ_TOGETHER = 16;

export interface OccurrenceServices extends Pick<Services, "store" | "digest" | "clock"> {
  readonly outbox: Outbox;
}

/** Throws UNAVAILABLE. */
export async function readOccurrences(services: OccurrenceServices, request: ReadOccurrences): Promise<OccurrencesRead> {
  const { caller, filter, from, limit, maxAgeMs } = request;
  const { outbox } = services;
  const [page, names] = await Promise.all([outbox.read(from, LOOKED_MAX), "isOperator" in caller ? NO_NAMES : namesOf(outbox, caller)]);
  const oldestMs = maxAgeMs === undefined ? -Infinity : page.nowMs - maxAgeMs;
  const isLeftOut = page.entries.some(({ atMs }) => atMs < oldestMs);
  let isTruncated = page.isTruncated || isLeftOut;

  // Each partition continues after the changes that were looked at.
  const place: PartitionPlace[] = page.end.map((end, partition) => from[partition] ?? { ...end, after: "0-0" });
  const turn = turns(READ_TOGETHER);
  const looked = page.entries.flatMap((entry) => {
    const skip = place[entry.partition]?.changes ?? 0;
    const isNext = isFirstOf(page.entries, entry);
    return entry.changes.flatMap((change, index) => (isNext && index < skip ? [] : [{ entry, change, index }]));
  });
  const heard = looked.map(({ entry, change }) =>
    filter.types
      .filter((type) => entry.atMs >= oldestMs && mayConcern({ caller, names, filter: { ...filter, type } }, entry, change))
      .map(async (type) => ({ type, data: await turn(() => dataOf(services, { ...request, type }, entry, change)) })),
  );
  const occurrences: (Occurrence & { readonly place: OutboxPlace })[] = [];
  for (const [at, { entry, change, index }] of looked.entries()) {
    // oxlint-disable-next-line no-await-in-loop -- all are on their way; they are taken in order
    const found = await Promise.all(heard[at] ?? []);
    const seen = found.filter((each): each is { type: OccurrenceType; data: JsonObject } => each.data !== undefined);
    // What one change is to several types is not torn apart.
    if (seen.length > 0 && occurrences.length >= limit) return { occurrences, place: [...place], isMore: true, isTruncated };
    const isLast = change === entry.changes.at(-1);
    if (isLast) isTruncated ||= mayBeMissed({ caller, filter }, entry);
    place[entry.partition] = isLast ? { after: entry.id, changes: 0 } : { after: before(place, entry), changes: index + 1 };
    for (const { type, data } of seen) {
      const id = `${entry.partition}-${entry.id}-${index}-${type.replace(".", "-")}`;
      occurrences.push({ id, type, atMs: entry.atMs, data, place: [...place] });
    }
  }
  return { occurrences, place: page.end, isMore: page.isMore, isTruncated };
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** What the outbox has for the names of a caller. */
export function namesOf(outbox: Outbox, caller: Caller): Promise<ReadonlySet<string>> {
  const tenant = caller.tenant === DEFAULT_TENANT ? {} : { tenant: caller.tenant };
  return outbox.names({ ...tenant, names: namesOfCaller(caller) });
}

/** Whether a read of the entry could find something for the caller. Without reading anything. */
export function concerns(
  { caller, names, filter }: Pick<ReadOccurrences, "caller" | "filter"> & { readonly names: ReadonlySet<string> },
  entry: OutboxEntry,
): boolean {
  if (mayBeMissed({ caller, filter }, entry)) return true;
  return entry.changes.some((change) =>
    filter.types.some((type) => mayConcern({ caller, names, filter: { ...filter, type } }, entry, change)),
  );
}

/** Whether it could be for the caller, and nobody can say, because its key is missing. An operator hears of it without what is sealed. */
function mayBeMissed({ caller, filter }: Pick<ReadOccurrences, "caller" | "filter">, entry: OutboxEntry): boolean {
  const { isKeyMissing, call, taskId, changes } = entry;
  if (!isKeyMissing || "isOperator" in caller || (call.tenant ?? DEFAULT_TENANT) !== caller.tenant) return false;
  if ((filter.tool ?? toolNameOf(call)) !== toolNameOf(call) || (filter.taskId ?? taskId) !== taskId) return false;
  return changes.some((change) => filter.types.some((type) => isOfAsks(type) && OF_ASKS[type](change)));
}

type TypeFilter = Omit<OccurrenceFilter, "types"> & { readonly type: OccurrenceType };

function isFirstOf(entries: readonly OutboxEntry[], { partition, id }: OutboxEntry): boolean {
  return entries.find((each) => each.partition === partition)?.id === id;
}

function before(place: readonly PartitionPlace[], { partition }: OutboxEntry): string {
  return place[partition]?.after ?? "0-0";
}

const OPENED = new Set<OutboxChange["what"]>(["asked", "handed"]);
const ENDED = new Set<OutboxChange["what"]>(["completed", "failed", "cancelled"]);
const SETTLED = new Set<OutboxChange["what"]>(["answered", "overdue", "withdrawn", "closed"]);

type AskType = Exclude<OccurrenceType, "task.changed" | "task.ended">;

function isOfAsks(type: OccurrenceType): type is AskType {
  return type !== "task.changed" && type !== "task.ended";
}

const is =
  (...all: readonly OutboxChange["what"][]) =>
  ({ what }: OutboxChange) =>
    all.includes(what);

const OF_ASKS: { readonly [Type in AskType]: (change: OutboxChange) => boolean } = {
  "ask.opened": ({ what }) => OPENED.has(what),
  "ask.settled": ({ what }) => SETTLED.has(what),
  "ask.claimed": is("claimed"),
  "ask.released": is("released"),
  "ask.commented": is("commented"),
  "ask.reminded": is("reminded"),
  "ask.escalated": is("escalated"),
  "approval.asked": ({ what, isApproval }) => isApproval === true && OPENED.has(what),
  "approval.given": ({ answeredAs }) => answeredAs === "given",
  "approval.refused": ({ answeredAs }) => answeredAs === "refused",
  "approval.expired": ({ what, isApproval }) => isApproval === true && what === "overdue",
  "approval.withdrawn": ({ what, isApproval, answeredAs }) =>
    isApproval === true && (what === "withdrawn" || what === "closed" || answeredAs === "closed"),
  "approval.spent": is("spent"),
  "approval.void": is("void"),
};

/** Once a question is open no more; the type says how it ended. */
const OF_APPROVED = new Set<OccurrenceType>([
  "approval.given",
  "approval.refused",
  "approval.expired",
  "approval.withdrawn",
  "approval.spent",
  "approval.void",
]);
const OF_OPENED = new Set<OccurrenceType>(["ask.opened", "approval.asked"]);

/** Of a question to others, the owner of its task hears these, and nothing of those to whom it is handed on. */
const OF_OWNERS = new Set<OccurrenceType>([
  "ask.settled",
  "ask.claimed",
  "ask.released",
  "ask.commented",
  "ask.escalated",
  "approval.asked",
  ...OF_APPROVED,
]);

/** Whether the task itself went on. */
function isOfTask(what: OutboxChange["what"]): boolean {
  return what === "asked" || SETTLED.has(what) || ENDED.has(what);
}

/** Without reading anything. */
function mayConcern(
  { caller, names, filter }: { readonly caller: Caller | Operator; readonly names: ReadonlySet<string>; readonly filter: TypeFilter },
  { taskId, call }: Pick<OutboxEntry, "taskId" | "call">,
  change: OutboxChange,
): boolean {
  const { what, key, audience } = change;
  const { type } = filter;
  if (caller.tenant !== undefined && (call.tenant ?? DEFAULT_TENANT) !== caller.tenant) return false;
  if (filter.tool !== undefined && filter.tool !== toolNameOf(call)) return false;
  if (filter.taskId !== undefined && filter.taskId !== taskId) return false;
  if ("isOperator" in caller) return concernsOperator(type, { taskId, call }, change);
  const isOwner = owns(caller, call);
  // A child is known by its root to its owner, and by itself to those it asks.
  const isMine = isOwner && !isChildId(taskId);
  if (type === "task.ended") return isMine && !call.hidden && ENDED.has(what);
  if (type === "task.changed") return isMine && !call.hidden && isOfTask(what);
  if (key === undefined || !OF_ASKS[type](change)) return false;
  if (filter.from !== undefined && (filter.from === "me") !== isOwner) return false;
  const isAsked = audience.length === 0 ? isOwner : audience.some((name) => names.has(name));
  // Its owner did not make the call, and finds nothing of it.
  if (isOwner && isTestCall(call)) return isAsked;
  return isOwner ? isMine && (isAsked || (OF_OWNERS.has(type) && what !== "handed")) : isAsked;
}

/** Everything once: tasks that a client called, and questions where they are asked. */
function concernsOperator(type: OccurrenceType, { taskId, call }: Pick<OutboxEntry, "taskId" | "call">, change: OutboxChange): boolean {
  const { what, key } = change;
  const isCalled = !isChildId(taskId) && !call.hidden;
  if (type === "task.ended") return isCalled && ENDED.has(what);
  if (type === "task.changed") return isCalled && isOfTask(what);
  return key !== undefined && !key.includes(":") && OF_ASKS[type](change);
}

async function dataOf(
  services: OccurrenceServices,
  request: ReadOccurrences & { readonly type: OccurrenceType },
  { taskId, call, changes }: OutboxEntry,
  { what, key }: OutboxChange,
): Promise<JsonObject | undefined> {
  const { caller, type, urlOf } = request;
  const { store, digest, clock } = services;
  const isForOperator = "isOperator" in caller;
  const common = {
    taskId,
    called: { kind: call.kind, name: toolNameOf(call) },
    ...(isForOperator && { owner: call.principal, tenant: call.tenant ?? DEFAULT_TENANT }),
  };
  if (type === "task.ended") return { ...common, status: what };
  if (type === "task.changed") {
    const [task] = ENDED.has(what) ? [] : await store.summaries([taskId]);
    const status = ENDED.has(what) ? what : task?.status;
    return { ...common, change: what === "overdue" ? "timed_out" : what, ...(key !== undefined && { key }), ...(status && { status }) };
  }
  if (key === undefined) return undefined;
  if (isForOperator)
    return await dataForOperator(
      services,
      { ...common, key, ...(urlOf && { url: urlOf(taskId, key) }) },
      {
        type,
        taskId,
        key,
        what: what === "handed" && changes.some((each) => each.what === "escalated" && each.key === key) ? "escalated" : what,
      },
    );
  // Without the audit: to hear of a question is not to be shown it.
  const ask = await unlessRefused(readAsk({ store, digest, clock }, { caller, taskId, key, door: "events" }));
  const isOwner = owns(caller, call);
  const about = { ...common, key, from: isOwner ? "me" : "others", ...(urlOf && { url: urlOf(taskId, key) }) };
  // A task that is gone can be read by nobody. Its owner still learns what became of the question.
  if (OF_APPROVED.has(type)) return ask || isOwner ? about : undefined;
  if (type === "ask.settled") {
    if (!ask) return isOwner ? { ...about, end: ENDS[what] ?? "answered" } : undefined;
    return { ...about, end: ask.state === "settled" ? ask.end : (ENDS[what] ?? "answered") };
  }
  // Neither can a question of a child that is over.
  if (!ask) return isOwner && type === "approval.asked" ? { ...about, isOpen: false } : undefined;
  if (ask.state === "settled") return OF_OPENED.has(type) ? { ...about, isOpen: false } : undefined;
  // The caller's own task asks others.
  if (ask.state === "of-others" && !(isOwner && OF_OWNERS.has(type))) return undefined;
  // Who has accepted is done, and may still be asked something in a comment.
  if (ask.state === "accepted" && !OF_OPENED.has(type) && type !== "ask.commented") return undefined;
  return {
    ...about,
    kind: ask.kind,
    priority: ask.priority,
    deadline: new Date(ask.deadlineMs).toISOString(),
    ...(ask.dueAtMs !== undefined && { due: new Date(ask.dueAtMs).toISOString() }),
    ...(OF_OPENED.has(type) && { isOpen: true }),
  };
}

/** Also whom it is put to, so that they can be told. */
async function dataForOperator(
  { store }: Pick<Services, "store">,
  about: JsonObject,
  {
    type,
    taskId,
    key,
    what,
  }: { readonly type: OccurrenceType; readonly taskId: string; readonly key: string; readonly what: OutboxChange["what"] },
): Promise<JsonObject | undefined> {
  if (OF_APPROVED.has(type)) return about;
  if (type === "ask.settled") {
    const settled = await unlessRefused(store.settledAsk({ taskId, key, names: [] }));
    const action = settled?.outcome?.type === "answer" ? settled.outcome.answer.action : undefined;
    return { ...about, end: ENDS[what] ?? (action === undefined ? "answered" : (ACTIONS[action] ?? "answered")) };
  }
  const task = await store.load(taskId);
  if (task?.unreadable === "key_missing") return about;
  const ask = task?.asks.find((open) => open.key === key);
  if (!ask || !isForPerson(ask)) return OF_OPENED.has(type) ? { ...about, isOpen: false } : undefined;
  const { request, audience, deadlineMs, askedAtMs, thread } = ask;
  const to = what === "handed" ? thread?.delegations?.at(-1)?.to : what === "escalated" ? thread?.escalatedTo?.at(-1) : audience?.to;
  const { dueMs } = aboutOf(request) ?? {};
  return {
    ...about,
    kind: request.type,
    priority: priorityOf(request),
    deadline: new Date(deadlineMs).toISOString(),
    ...(dueMs !== undefined && { due: new Date(askedAtMs + dueMs).toISOString() }),
    ...(to !== undefined && { to: to as JsonObject | string }),
    ...(OF_OPENED.has(type) && { isOpen: true }),
  };
}

const ACTIONS: { readonly [action: string]: string } = {
  accept: "accepted",
  decline: "declined",
  cancel: "cancelled",
  timeout: "timed_out",
};

const ENDS: { readonly [What in OutboxChange["what"]]?: string } = { overdue: "timed_out", withdrawn: "withdrawn", closed: "closed" };

/** Undefined for what is not to be read: it is gone, not the caller's, erased, or its key is missing. */
async function unlessRefused<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ParleyError && error.code !== "UNAVAILABLE") return undefined;
    throw error;
  }
}

/** Under which name workers keep how far a subscription is. */
export function subscriptionState({ id, madeAtMs }: Pick<Subscription, "id" | "madeAtMs">): string {
  return `${id}-${Math.floor(madeAtMs)}`;
}

/** A place as a cursor that clients keep: opaque, but no secret and no right. */
export function cursorOfPlace(place: OutboxPlace): string {
  return `1.${place.map(({ after, changes }) => (changes === 0 ? after : `${after}-${changes}`)).join(".")}`;
}

const PARTITIONS_MAX = 1_024;
const ID = /^(\d{1,16})-(\d{1,20})(?:-(\d{1,4}))?$/;

/** Throws INVALID_CURSOR. */
export function placeOfCursor(cursor: string): OutboxPlace {
  const [version, ...ids] = cursor.length > PARTITIONS_MAX * 44 ? [] : cursor.split(".");
  if (version !== "1" || ids.length === 0 || ids.length > PARTITIONS_MAX) throw invalidCursor();
  return ids.map((id) => {
    const [, ms, number, changes] = ID.exec(id) ?? [];
    if (ms === undefined || number === undefined) throw invalidCursor();
    // Redis refuses larger numbers.
    if (BigInt(number) > 18_446_744_073_709_551_615n) throw invalidCursor();
    return { after: `${ms}-${number}`, changes: Number(changes ?? 0) };
  });
}
