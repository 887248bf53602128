/**
 * Whose part in an ask a person takes. Everyone who was asked has a part, their *seat*, and may hand it on:
 *
 *   ada, of finance ──delegates to──▶ bob ──hands it on to──▶ carol, who may answer in ada's place
 *
 *   S1  Who has handed their part on no longer answers, unless they are among those who got it. They may hand it to others instead, or take
 *       it back by naming themselves, as long as they would be asked without it.
 *   S2  A part is used once: of those who got it one may accept, and one who has accepted cannot hand it on. So a quorum counts as many people
 *       who were asked as it needs, whoever acts for them.
 *   S3  Who may not answer, such as the caller with `not: "caller"`, may not by delegation either.
 *   S4  A person who is asked anyway takes their own part, and each person counts once (quorum.ts).
 *   S5  Those to whom it was escalated are asked as the first ones are, with a part of their own (asks/prompts.ts).
 *   S6  Who got a part that has gone to others since may still read the ask, and learns to whom it went.
 */
import { type Caller, personOf } from "./caller.ts";
import { isNamed } from "./names.ts";
import type { Acceptance, Addressees, Ask, AskThread, Audience, CallFacts, Delegation, Participant, ThreadEntry } from "../task.ts";

type Seated = Pick<Ask, "audience" | "thread" | "accepted">;
type Owner = Pick<CallFacts, "principal" | "person">;

export interface Asked {
  readonly caller: Caller;
  readonly owner: Owner;
  readonly isOwner: boolean;
  /** The caller is the person who called. */
  readonly isCaller: boolean;
}

/** The part that the caller takes by answering: their own, or that of a person who handed it on. Undefined: the ask is not put to the caller. */
export function seatOf(asked: Asked, ask: Seated): "own" | Participant | undefined {
  const { caller, owner } = asked;
  const delegations = ask.thread?.delegations ?? [];
  if (isInAudience(asked, ask)) {
    const handedOn = delegations.find(({ from }) => isParticipant(caller, from));
    if ((!handedOn || isAddressed(caller, handedOn.to)) && !isUsed(ask, owner, selfOf(caller), caller)) return "own"; // S1, S2
  }
  if (caller.authenticatedBy === "nobody" || isExcluded(asked, ask)) return undefined; // S3
  return delegations.find(({ from, to }) => !isParticipant(caller, from) && isAddressed(caller, to) && !isUsed(ask, owner, from, caller))
    ?.from;
}

/** Whose part the caller may hand on: their own, or the one that they got. Undefined if they have none, or it is used (S2). */
export function seatToHandOn(asked: Asked, ask: Seated): Participant | undefined {
  const { caller, owner } = asked;
  if (caller.authenticatedBy === "nobody") return undefined;
  const own = isInAudience(asked, ask) ? selfOf(caller) : undefined;
  const seat = own ?? seatOf(asked, ask);
  return seat === undefined || seat === "own" || isUsed(ask, owner, seat) ? undefined : seat;
}

/** Whether the ask was put to the caller, at first or by an escalation, before anybody handed anything on. */
export function isInAudience(asked: Asked, ask: Pick<Ask, "audience" | "thread">): boolean {
  const { caller, isOwner } = asked;
  const { audience, thread } = ask;
  // If callers cannot be told apart, an audience is only a hint to the person at the keyboard (docs/security.md).
  if (caller.authenticatedBy === "nobody") return isOwner;
  if (isExcluded(asked, ask)) return false;
  if (audience ? isOf(caller, audience.to) : isOwner) return true;
  return thread?.escalatedTo?.some((to) => isOf(caller, to)) === true;
}

function isOf(caller: Caller, to: Audience["to"]): boolean {
  return to === "tenant" || isAddressed(caller, to);
}

function isExcluded({ isCaller }: Asked, { audience }: Pick<Ask, "audience">): boolean {
  return audience?.not === "caller" && isCaller;
}

/** Whether a part was handed to the caller that has gone to others since (S6). */
export function wasHanded(asked: Asked, ask: Pick<Ask, "audience" | "thread">): boolean {
  if (asked.caller.authenticatedBy === "nobody" || isExcluded(asked, ask)) return false;
  return ask.thread?.handedBefore?.some((to) => isAddressed(asked.caller, to)) === true;
}

/** What took the caller's part from them: the last time that it was handed to others. Undefined if they have it, or never had one. */
export function handedAway(caller: Caller, history: readonly ThreadEntry[]): HandedOn | undefined {
  let held: Participant = selfOf(caller);
  let away: HandedOn | undefined;
  for (const entry of history) {
    if (entry.what !== "delegated") continue;
    const part = entry.from ?? entry;
    if (isAddressed(caller, entry.to)) [held, away] = [part, undefined];
    else if (isSame(part, held) || isParticipant(caller, part)) away = entry;
  }
  return away;
}

type HandedOn = Extract<ThreadEntry, { readonly what: "delegated" }>;

/** Whether the caller is among those to whom a part was handed. */
export function isAddressed(caller: Caller, { people = [], groups = [], roles = [] }: Addressees): boolean {
  return isNamed(people, caller.names) || isAmong(groups, caller.groups) || isAmong(roles, caller.roles);
}

function isAmong(wanted: readonly string[], own: readonly string[]): boolean {
  return wanted.some((name) => own.includes(name));
}

/** Whether somebody has accepted in this part, other than `except`, who may change their mind. */
function isUsed({ accepted }: Pick<Ask, "accepted">, owner: Owner, seat: Participant, except?: Caller): boolean {
  return (accepted?.acceptances ?? []).some((each) => {
    const self = participantOf(each, owner);
    return isSame(each.delegatedBy ?? self, seat) && !(except && isParticipant(except, self));
  });
}

function participantOf({ by, person }: Pick<Acceptance, "by" | "person">, owner: Owner): Participant {
  if (by === undefined) return { by: owner.principal, person: personOf(owner) };
  return { by, ...(person !== undefined && { person }) };
}

/** Whether the caller is this person. */
export function isParticipant(caller: Caller, participant: Participant): boolean {
  return isSame(selfOf(caller), participant);
}

/** One principal is one person in any case, as in quorum.ts. */
function isSame(a: Participant, b: Participant): boolean {
  return a.by === b.by || (a.person ?? a.by) === (b.person ?? b.by);
}

function selfOf(caller: Caller): Participant {
  return { by: caller.principal, person: personOf(caller) };
}

/** With this part handed on; a part that was handed on before goes to others instead. */
export function withDelegation(
  { delegations = [], handedBefore = [] }: Pick<AskThread, "delegations" | "handedBefore">,
  next: Delegation,
): Pick<AskThread, "delegations" | "handedBefore"> {
  const [taken, kept] = [true, false].map((isTaken) => delegations.filter(({ from }) => isSame(from, next.from) === isTaken));
  const texts = [...handedBefore, ...(taken ?? []).map(({ to }) => to)].map((to) => JSON.stringify(to));
  const before = [...new Set(texts)].map((text) => JSON.parse(text) as Addressees);
  return { delegations: [...(kept ?? []), next], ...(before.length > 0 && { handedBefore: before }) };
}
