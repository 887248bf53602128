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
 * An answer needs besides that the caller is identified as the ask requires (assurance.ts).
 *
 * The owner is the principal that called. Callers of another tenant are always in the last column. Those to whom a member handed their part
 * on are members too, and who could answer an ask before it was handed to others may still read it (seats.ts).
 */
import { isThroughDoor, requiredOf } from "./assurance.ts";
import { ANONYMOUS, type Caller, DEFAULT_TENANT, personOf } from "./caller.ts";
import type { SettledAsk } from "./open-asks.ts";
import type { GrantOwner } from "./kept-grants.ts";
import { hasAccepted, tallied } from "./quorum.ts";
import { type Asked, isInAudience, seatOf, seatToHandOn, wasHanded } from "./seats.ts";
import type { Ask, CallFacts, Participant, Task } from "../task.ts";
import { isTestCall } from "../task/test-call.ts";

export type Action = "read" | "answer" | "cancel" | "follow";

type Seated = Pick<Ask, "audience" | "thread" | "accepted">;

/** What a decision needs to know about a task. */
export interface Guarded {
  readonly call: Pick<CallFacts, "principal" | "person" | "tenant">;
  readonly asks: readonly Seated[];
}

/** `ask` is the ask to answer. */
export function may(caller: Caller, action: Exclude<Action, "answer">, task: Guarded): boolean;
export function may(caller: Caller, action: "answer", task: Guarded, ask: Seated): boolean;
export function may(caller: Caller, action: Action, task: Guarded, ask?: Seated): boolean {
  if (!isOfTenant(caller, task)) return false;
  const asked = askedOf(caller, task);
  const { isOwner } = asked;
  switch (action) {
    case "cancel":
    case "follow":
      return isOwner;
    case "read":
      return isOwner || task.asks.some((open) => seatOf(asked, open) !== undefined);
    case "answer":
      return ask !== undefined && seatOf(asked, ask) !== undefined;
  }
}

function askedOf(caller: Caller, { call }: Pick<Guarded, "call">): Asked {
  const isOwner = owns(caller, call);
  // A person is the caller through any client.
  return { caller, owner: call, isOwner, isCaller: isOwner || personOf(caller) === personOf(call) };
}

/** In whose place the caller answers; undefined if in their own, or if they may not answer. */
export function delegatedByOf(caller: Caller, task: Pick<Guarded, "call">, ask: Seated): Participant | undefined {
  const seat = isOfTenant(caller, task) ? seatOf(askedOf(caller, task), ask) : undefined;
  return seat === "own" ? undefined : seat;
}

/** Whose part in the ask the caller may hand on; undefined for none. */
export function mayHandOn(caller: Caller, task: Pick<Guarded, "call">, ask: Seated): Participant | undefined {
  return isOfTenant(caller, task) ? seatToHandOn(askedOf(caller, task), ask) : undefined;
}

/** Whether the caller may read an open ask: who may answer it, who follows its task, and who could have answered it before it was handed on. */
export function mayReadAsk(caller: Caller, task: Guarded, ask: Seated): boolean {
  return may(caller, "answer", task, ask) || may(caller, "follow", task) || isPutTo(caller, task, ask) || gotBefore(caller, task, ask);
}

function gotBefore(caller: Caller, task: Pick<Guarded, "call">, ask: Seated): boolean {
  return isOfTenant(caller, task) && wasHanded(askedOf(caller, task), ask);
}

/** Whether the ask was put to the caller, who may have handed it on since. */
export function isPutTo(caller: Caller, task: Pick<Guarded, "call">, ask: Seated): boolean {
  return isOfTenant(caller, task) && isInAudience(askedOf(caller, task), ask);
}

function isOfTenant({ tenant }: Caller, { call }: Pick<Guarded, "call">): boolean {
  return (call.tenant ?? DEFAULT_TENANT) === tenant;
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

/**
 * The task as the caller may see it; undefined if it may not. Asks that the caller need not answer are separated:
 * those with another audience, those whose page is being visited, those that need an answer through another door, and
 * those that the caller has accepted and others have not yet. Members of an audience see neither the task's messages to its owner nor its outcome.
 */
export function viewOf(caller: Caller, task: Task): Task | undefined {
  if (!may(caller, "read", task)) return undefined;
  // A person who agreed to visit a page is not asked again; the page does the rest.
  const isPut = (ask: Ask) => ask.agreed !== true && may(caller, "answer", task, ask) && !hasAccepted(caller, task.call, ask);
  const isToAnswer = (ask: Ask) => isPut(ask) && !isElsewhere(caller, ask);
  const shown = (ask: Ask): Ask => {
    const told = tallied(caller, task, ask);
    return isPut(ask) && isElsewhere(caller, ask) ? { ...told, elsewhere: true } : told;
  };
  const asks = task.asks.filter(isToAnswer).map(shown);
  if (may(caller, "follow", task)) {
    if (asks.length === task.asks.length) return asks.some(({ tally }) => tally) ? { ...task, asks } : task;
    return { ...task, asks, asksOfOthers: task.asks.filter((ask) => !isToAnswer(ask)).map(shown) };
  }
  const apart = task.asks.filter(
    (ask) => !isToAnswer(ask) && may(caller, "answer", task, ask) && (isPut(ask) || hasAccepted(caller, task.call, ask)),
  );
  const seen = seenByAsked(task, asks);
  return apart.length === 0 ? seen : { ...seen, asksOfOthers: apart.map(shown) };
}

/** Whether no answer through this caller's door counts. How recent a login must be is decided when an answer comes. */
function isElsewhere(caller: Caller, ask: Ask): boolean {
  const required = requiredOf(ask);
  return required !== undefined && !isThroughDoor(caller, required);
}

/** What members of an audience see of a task: that it exists, and what it asks them. */
export function seenByAsked(task: Task, asks: readonly Ask[]): Task {
  const { message: _message, immediateResponse: _text, outcome: _outcome, events: _events, ...seen } = task;
  // Also without the version of the tool, which a test does not have.
  const { version: _version, ...call } = isTestCall(task.call) ? asIfMadeNow(task) : task.call;
  return { ...seen, call, asks };
}

/** A test waits for minutes before it asks (docs/adr/0027-tests-of-approvers.md), and a call for milliseconds. */
function asIfMadeNow({ call, asks }: Pick<Task, "call" | "asks">): Task["call"] {
  const askedAtMs = Math.min(...asks.map((ask) => ask.askedAtMs));
  return asks.length === 0 ? call : { ...call, createdAtMs: askedAtMs - 5 - (askedAtMs % 40) };
}
