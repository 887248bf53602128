/**
 * Who may do what with a task: the one decision that every door passes (I13). The use cases ask it, so a new door cannot forget it.
 *
 *            owner            one to whom an open ask is put        anybody else
 *   read     all of it        that it waits, and for what           nothing: as if there were no such task
 *   answer   what is put to   what is put to them                   nothing
 *            them
 *   cancel   yes              no                                    no
 *   follow   yes              no                                    no
 *
 * An ask without an audience is put to the owner: the principal that called. Nobody of another tenant ever is anybody here.
 */
import { type Caller, DEFAULT_TENANT, personOf } from "./caller.ts";
import { hasAccepted, tallied } from "./quorum.ts";
import type { Ask, CallFacts, Task } from "./task.ts";

export type Action = "read" | "answer" | "cancel" | "follow";

/** What a decision needs to know of a task. */
export interface Guarded {
  readonly call: Pick<CallFacts, "principal" | "person" | "tenant">;
  readonly asks: readonly Pick<Ask, "audience">[];
}

/** `ask` is the one to be answered. */
export function may(caller: Caller, action: Exclude<Action, "answer">, task: Guarded): boolean;
export function may(caller: Caller, action: "answer", task: Guarded, ask: Pick<Ask, "audience">): boolean;
export function may(caller: Caller, action: Action, task: Guarded, ask?: Pick<Ask, "audience">): boolean {
  if ((task.call.tenant ?? DEFAULT_TENANT) !== caller.tenant) return false;
  const isOwner = owns(caller, task.call);
  // A person is the caller by any client.
  const isCaller = isOwner || personOf(caller) === personOf(task.call);
  switch (action) {
    case "cancel":
    case "follow":
      return isOwner;
    case "read":
      return isOwner || task.asks.some((open) => isPutTo(caller, { isOwner, isCaller }, open));
    case "answer":
      return ask !== undefined && isPutTo(caller, { isOwner, isCaller }, ask);
  }
}

/** Whether a task, or a session, is the caller's own. */
export function owns(
  caller: Caller,
  { principal, tenant = DEFAULT_TENANT }: { readonly principal: string; readonly tenant?: string },
): boolean {
  return principal === caller.principal && tenant === caller.tenant;
}

function isPutTo(
  caller: Caller,
  { isOwner, isCaller }: { readonly isOwner: boolean; readonly isCaller: boolean },
  { audience }: Pick<Ask, "audience">,
): boolean {
  // Where nobody is told apart, an audience is a hint to the person at the keyboard (docs/security.md).
  if (!audience || caller.authenticatedBy === "nobody") return isOwner;
  if (audience.not === "caller" && isCaller) return false;
  if (audience.to === "tenant") return true;
  const { people = [], groups = [], roles = [] } = audience.to;
  return isAmong(people, caller.names) || isAmong(groups, caller.groups) || isAmong(roles, caller.roles);
}

function isAmong(wanted: readonly string[], own: readonly string[]): boolean {
  return wanted.some((name) => own.includes(name));
}

/**
 * The task as the caller may see it, undefined where it may not: asks that are put to others, that wait for their page, or that the caller has accepted
 * and others have still to accept, are apart. Those who are asked see neither what the task says to its owner nor what became of it.
 */
export function viewOf(caller: Caller, task: Task): Task | undefined {
  if (!may(caller, "read", task)) return undefined;
  // Who agreed to visit a page is not asked again: the page has the rest.
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

/** What those who are asked see of a task: that it is, and what it asks them. */
export function seenByAsked(task: Task, asks: readonly Ask[]): Task {
  const { message: _message, immediateResponse: _text, outcome: _outcome, events: _events, ...seen } = task;
  return { ...seen, asks };
}
