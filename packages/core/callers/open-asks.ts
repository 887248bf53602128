/**
 * The index of open asks: what leads a person to the questions that others' tasks ask them.
 *
 *   ask `to` people, groups, roles, the tenant ──▶ one entry under each of these names
 *   caller with names, groups, roles           ──▶ the entries under theirs ──▶ the tasks ──▶ policy.ts decides
 *
 *   A1  The index narrows and never grants: whether the caller may read or answer is decided when they do.
 *   A2  An ask without an audience has no entry until it is handed on or escalated. It is found in its owner's list of tasks.
 *   A3  Entries come and go in the same change as their asks.
 */
import type { Caller } from "./caller.ts";
import { namesOfPerson } from "./names.ts";
import type { EntryOutcome } from "../journal.ts";
import { type Ask, type Audience, PRIORITIES, type ThreadEntry } from "../task.ts";

/**
 * `oldest`: those that were asked first. `deadline`: those that end first. `due`: those that are wanted first; one that does not say when is wanted by
 * its deadline. `priority`: the most urgent, and of those as `due` has them.
 */
export const ASK_ORDERS = ["oldest", "newest", "deadline", "due", "priority"] as const;
export type AskOrder = (typeof ASK_ORDERS)[number];

/** Where an ask stands in an order: by `placeMs`, then by task and key. */
export interface AskPlace {
  readonly atMs: number;
  readonly taskId: string;
  readonly key: string;
  /** The last of a page that is not full: the ask has another place in this order, and this one says how far the store has looked. */
  readonly isElsewhere?: true;
}

/** Between two priorities. Times are below it until the year 2286. */
export const PRIORITY_STEP = 1e13;

/** In milliseconds, and for `priority` with as many PRIORITY_STEP as there are higher priorities. */
export function placeMs(order: AskOrder, { askedAtMs, deadlineMs, request }: Pick<Ask, "askedAtMs" | "deadlineMs" | "request">): number {
  const { dueMs, priority = "normal" } = ("about" in request && request.about) || {};
  const wantedMs = dueMs === undefined ? deadlineMs : askedAtMs + dueMs;
  switch (order) {
    case "oldest":
    case "newest":
      return askedAtMs;
    case "deadline":
      return deadlineMs;
    case "due":
      return wantedMs;
    case "priority":
      return wantedMs + PRIORITIES.indexOf(priority) * PRIORITY_STEP;
  }
}

/** Orders in which an ask has a place that does not follow from its deadline: a store keeps it for those asks alone. */
export function ownOrders({ request }: Pick<Ask, "request">): readonly ("due" | "priority")[] {
  const { dueMs, priority = "normal" } = ("about" in request && request.about) || {};
  return [...(dueMs === undefined ? [] : (["due"] as const)), ...(priority === "normal" ? [] : (["priority"] as const))];
}

export interface AskedRequest {
  /** Absent for the default tenant. */
  readonly tenant?: string;
  /** As `namesOfCaller` returns them. */
  readonly names: readonly string[];
  readonly order: AskOrder;
  readonly limit: number;
  /** Only asks behind this place. */
  readonly after?: AskPlace;
}

/** Who gave an answer: whose list of answers it is kept in. */
export interface AnswerGiver {
  /** Absent for the default tenant. */
  readonly tenant?: string;
  readonly principal: string;
}

/** How many answers are kept for one person, in one partition: the newest. */
export const ANSWERED_MAX = 500;

/** How an ask was settled. */
export interface SettledAsk {
  readonly digest: string;
  /**
   * Absent if no longer known: a task that is over keeps the answers to asks that were put to others, and of its owner's
   * only that they were settled.
   */
  readonly outcome?: EntryOutcome;
  /** When the answer arrived; absent once a run has settled it. */
  readonly arrivedAtMs?: number;
  /** One of the given names belonged to the ask's audience. */
  readonly wasAsked: boolean;
  /** What people did around it; absent if nobody did anything. */
  readonly history?: readonly ThreadEntry[];
}

/** Names under which the index knows an audience. Each begins with its kind, so that no group is taken for a role. */
export function namesOfAudience({ to }: Pick<Audience, "to">): string[] {
  if (to === "tenant") return ["tenant"];
  return prefixed(to.people, to.groups, to.roles);
}

/** Names of everyone to whom an ask was put, escalated or handed on. */
export function namesOfAsk({ audience, thread }: Pick<Ask, "audience" | "thread">): string[] {
  const later = (thread?.escalatedTo ?? []).map((to) => ({ to }));
  return [...(audience ? [audience] : []), ...later, ...(thread?.delegations ?? [])].flatMap(namesOfAudience);
}

/**
 * Names under which a caller looks. At most ASKED_NAMES_MAX, their own names first: an identity provider may put any
 * number of groups into a token.
 */
export function namesOfCaller({ names, groups, roles, authenticatedBy }: Caller): string[] {
  // Callers that cannot be told apart are asked only as owners (policy.ts).
  if (authenticatedBy === "nobody") return [];
  return [...new Set(["tenant", ...prefixed(namesOfPerson(names), groups, roles)])].slice(0, ASKED_NAMES_MAX);
}

/** Maximum number of names under which one list looks for asks. */
export const ASKED_NAMES_MAX = 2_000;

function prefixed(people: readonly string[] = [], groups: readonly string[] = [], roles: readonly string[] = []): string[] {
  return [...people.map((name) => `person ${name}`), ...roles.map((name) => `role ${name}`), ...groups.map((name) => `group ${name}`)];
}

/** Negative if `a` comes first. */
export function inAskOrder(order: AskOrder, a: AskPlace, b: AskPlace): number {
  const [one, other] = [`${a.taskId} ${a.key}`, `${b.taskId} ${b.key}`];
  const forward = a.atMs - b.atMs || (one < other ? -1 : Number(one > other));
  return order === "newest" ? -forward : forward;
}
