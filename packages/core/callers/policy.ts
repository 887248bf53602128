/**
 * Who may do what with a task: the one decision that every door passes (I13). The use cases make it, so a new door
 * cannot forget it.
 *
 *            owner              member of an open ask's audience    any other caller
 *   read     everything         that it waits, and for what         nothing: as if the task did not exist
 *   answer   asks without an    asks with their audience            nothing
 *            audience
 *   cancel   yes                no                                  no
 *   follow   yes                no                                  no
 *
 * The owner is the principal that called. Callers of another tenant are always in the last column.
 */
import { ANONYMOUS, type Caller, DEFAULT_TENANT, personOf } from "./caller.ts";
import type { SettledAsk } from "./open-asks.ts";
import type { GrantOwner } from "./kept-grants.ts";
import { isNamed } from "./names.ts";
import { hasAccepted, tallied } from "./quorum.ts";
import type { Ask, CallFacts, Task } from "../task.ts";

export type Action = "read" | "answer" | "cancel" | "follow";

/** What a decision needs to know about a task. */
export interface Guarded {
  readonly call: Pick<CallFacts, "principal" | "person" | "tenant">;
  readonly asks: readonly Pick<Ask, "audience">[];
}

/** `ask` is the ask to answer. */
export function may(caller: Caller, action: Exclude<Action, "answer">, task: Guarded): boolean;
export function may(caller: Caller, action: "answer", task: Guarded, ask: Pick<Ask, "audience">): boolean;
export function may(caller: Caller, action: Action, task: Guarded, ask?: Pick<Ask, "audience">): boolean {
  if ((task.call.tenant ?? DEFAULT_TENANT) !== caller.tenant) return false;
  const isOwner = owns(caller, task.call);
  // A person is the caller through any client.
  const isCaller = isOwner || personOf(caller) === personOf(task.call);
  switch (action) {
    case "cancel":
    case "follow":
      return isOwner;
    case "read":
      return isOwner || task.asks.some((open) => isAskedOf(caller, { isOwner, isCaller }, open));
    case "answer":
      return ask !== undefined && isAskedOf(caller, { isOwner, isCaller }, ask);
  }
}

/** Whether a task or session belongs to the caller. */
export function owns(
  caller: Pick<Caller, "principal" | "tenant">,
  { principal, tenant = DEFAULT_TENANT }: { readonly principal: string; readonly tenant?: string },
): boolean {
  return principal === caller.principal && tenant === caller.tenant;
}

/**
 * Whether the caller may learn how an ask was settled: the owner, everyone it was asked of, and those who answered it.
 * The same people could read the ask while it was open.
 */
export function maySeeEnd(caller: Caller, { call }: Pick<Task, "call">, { outcome, wasAsked }: SettledAsk): boolean {
  if ((call.tenant ?? DEFAULT_TENANT) !== caller.tenant) return false;
  if (owns(caller, call)) return true;
  if (caller.authenticatedBy === "nobody") return false;
  return wasAsked || (outcome?.type === "answer" && hasAnswered(caller, outcome));
}

/** Whether the caller gave this answer, or one of the acceptances in it. The owner's own answers name nobody. */
export function hasAnswered(
  { principal }: Pick<Caller, "principal">,
  { by, accepted = [] }: { readonly by?: string; readonly accepted?: readonly { readonly by?: string }[] },
): boolean {
  return by === principal || accepted.some((each) => each.by === principal);
}

/**
 * Whose kept grants the caller may list and revoke: their own. Undefined for an anonymous caller, who has none: everyone
 * is the same principal.
 */
export function grantOwnerOf({ principal, tenant, authenticatedBy }: Caller): GrantOwner | undefined {
  return principal === ANONYMOUS || authenticatedBy === "nobody" ? undefined : { principal, tenant };
}

function isAskedOf(
  caller: Caller,
  { isOwner, isCaller }: { readonly isOwner: boolean; readonly isCaller: boolean },
  { audience }: Pick<Ask, "audience">,
): boolean {
  // If callers cannot be told apart, an audience is only a hint to the person at the keyboard (docs/security.md).
  if (!audience || caller.authenticatedBy === "nobody") return isOwner;
  if (audience.not === "caller" && isCaller) return false;
  if (audience.to === "tenant") return true;
  const { people = [], groups = [], roles = [] } = audience.to;
  return isNamed(people, caller.names) || isAmong(groups, caller.groups) || isAmong(roles, caller.roles);
}

function isAmong(wanted: readonly string[], own: readonly string[]): boolean {
  return wanted.some((name) => own.includes(name));
}

/**
 * The task as the caller may see it; undefined if it may not. Asks that the caller need not answer are separated:
 * those with another audience, those whose page is being visited, and those that the caller has accepted and others
 * have not yet. Members of an audience see neither the task's messages to its owner nor its outcome.
 */
export function viewOf(caller: Caller, task: Task): Task | undefined {
  if (!may(caller, "read", task)) return undefined;
  // A person who agreed to visit a page is not asked again; the page does the rest.
  const isToAnswer = (ask: Ask) => ask.agreed !== true && may(caller, "answer", task, ask) && !hasAccepted(caller, task.call, ask);
  const asks = task.asks.filter(isToAnswer).map((ask) => tallied(caller, task, ask));
  if (may(caller, "follow", task)) {
    if (asks.length === task.asks.length) return asks.some(({ tally }) => tally) ? { ...task, asks } : task;
    return { ...task, asks, asksOfOthers: task.asks.filter((ask) => !isToAnswer(ask)).map((ask) => tallied(caller, task, ask)) };
  }
  const accepted = task.asks.filter((ask) => hasAccepted(caller, task.call, ask) && may(caller, "answer", task, ask));
  const seen = seenByAsked(task, asks);
  return accepted.length === 0 ? seen : { ...seen, asksOfOthers: accepted.map((ask) => tallied(caller, task, ask)) };
}

/** What members of an audience see of a task: that it exists, and what it asks them. */
export function seenByAsked(task: Task, asks: readonly Ask[]): Task {
  const { message: _message, immediateResponse: _text, outcome: _outcome, events: _events, ...seen } = task;
  return { ...seen, asks };
}
