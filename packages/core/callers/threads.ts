/**
 * What people do around an open ask besides answering it: they claim it, release it, and comment on it. And what nobody does: reminders, escalations.
 *
 *   T1  A claim says "I am on it". It is a lease and never a lock: whoever may answer still may.
 *   T2  A claim ends by its time, by its release, and by an answer of the person who has it.
 *   T4  Who was asked may ask the person who made the call something before they answer. Until the reply, the deadline stands still where the tool
 *       allows that, and all in all at most as long as the question was to be open.
 *   T3  Comments are never dropped: one too many is refused. Of the rest of a history the oldest is dropped.
 *
 * These functions are pure and return what to write. A store writes it only if nobody else wrote in between
 * (ThreadRequest.seen); otherwise the front end reads again.
 */
import { type Caller, personOf } from "./caller.ts";
import { nameToRead } from "./names.ts";
import { isParticipant, withDelegation } from "./seats.ts";
import type { Acceptance, Ask, ThreadClaim, AskThread, CallFacts, Delegation, Escalation, Participant, ThreadEntry } from "../task.ts";

export const CLAIM_MINUTES = 10;
export const CLAIM_MINUTES_MAX = 60;
export const COMMENT_CHARS_MAX = 1_000;
/** Comments on one ask. */
export const COMMENTS_MAX = 50;
/** How often parts of one ask may be handed on, and to how many names at once. */
export const DELEGATIONS_MAX = 20;
export const DELEGATED_NAMES_MAX = 10;
export const DELEGATION_REASON_CHARS_MAX = 1_000;
/** What the history of one ask keeps besides comments. */
export const HISTORY_MAX = 100;

/** What is done, by whom and when. */
export interface Deed {
  readonly caller: Caller;
  readonly nowMs: number;
}

type Threaded = Pick<Ask, "askedAtMs" | "thread" | "accepted">;

export interface Written {
  readonly thread: Omit<AskThread, "revision">;
  readonly history: readonly ThreadEntry[];
  /** What is new in it; absent for a claim that is renewed. */
  readonly entry?: ThreadEntry;
  /** The ask with its new deadline; absent if that stays. */
  readonly moved?: Pick<Ask, "askedAtMs" | "deadlineMs" | "request">;
}

/** The claim that runs, of somebody whom the ask still waits for. */
export function claimOf(
  { thread, accepted }: Pick<Ask, "thread" | "accepted">,
  owner: Pick<CallFacts, "principal" | "person">,
  nowMs: number,
): ThreadClaim | undefined {
  const claim = thread?.claim;
  if (!claim || claim.untilMs <= nowMs) return undefined;
  const hasAnswered = ({ by, person }: Pick<Acceptance, "by" | "person">) =>
    (person ?? by ?? personOf(owner)) === (claim.person ?? claim.by) || (by ?? owner.principal) === claim.by;
  return accepted?.acceptances.some(hasAnswered) === true ? undefined : claim; // T2
}

/** `isRenewed`: the caller has a claim that runs. Whoever calls this has seen that nobody else has one. */
export function claimed(
  ask: Threaded,
  history: readonly ThreadEntry[],
  { caller, nowMs, untilMs, isRenewed }: Deed & { readonly untilMs: number; readonly isRenewed: boolean },
): Written {
  const claim: ThreadClaim = { ...participant(caller), untilMs };
  const thread = { comments: 0, ...rest(ask.thread), claim };
  return isRenewed ? { thread, history } : { thread, ...added(ask, history, { what: "claimed", atMs: nowMs, ...claim }) };
}

/** Undefined if the caller has no claim that runs. */
export function released(
  ask: Threaded,
  history: readonly ThreadEntry[],
  { caller, nowMs, owner }: Deed & { readonly owner: CallFacts },
): Written | undefined {
  const before = claimOf(ask, owner, nowMs);
  if (!before || !isParticipant(caller, before)) return undefined;
  const { claim: _, ...thread } = rest(ask.thread);
  return { thread: { comments: 0, ...thread }, ...added(ask, history, { what: "released", atMs: nowMs, ...participant(caller) }) };
}

/** Undefined if there are too many comments already (T3). */
export function commented(
  ask: Threaded,
  history: readonly ThreadEntry[],
  { caller, nowMs, text, as }: Commenting & { readonly as?: "askedBack" | "replied" },
): Written | undefined {
  const comments = history.filter(({ what }) => what === "commented").length + 1;
  // The last is for the reply, so that nobody keeps it from coming.
  const isReplyWanted = as === "askedBack" || (as !== "replied" && ask.thread?.askedBack !== undefined);
  if (comments > (isReplyWanted ? COMMENTS_MAX - 1 : COMMENTS_MAX)) return undefined;
  const entry: ThreadEntry = { what: "commented", atMs: nowMs, ...participant(caller), text, ...(as && { as }) };
  return { thread: { ...rest(ask.thread), comments }, ...added(ask, history, entry) };
}

type Commenting = Deed & { readonly text: string };
type Timed = Threaded & Pick<Ask, "deadlineMs" | "request">;

/** A comment that wants a reply (T4). Undefined as of `commented`. */
export function askedBack(ask: Timed, history: readonly ThreadEntry[], deed: Commenting): Written | undefined {
  const written = commented(ask, history, { ...deed, as: "askedBack" });
  if (!written) return undefined;
  const { caller, nowMs, text } = deed;
  const { askedBack: before, pausedMs = 0 } = ask.thread ?? {};
  // What is left of the time for which it may stand still.
  const leftMs = ask.deadlineMs - ask.askedAtMs - 2 * pausedMs;
  const pauseMs = before ? before.pauseMs : mayPause(ask) && leftMs > 0 ? leftMs : undefined;
  const asking = { ...participant(caller), atMs: nowMs, text, sinceMs: before?.sinceMs ?? nowMs };
  return {
    ...written,
    thread: { ...written.thread, askedBack: { ...asking, ...(pauseMs !== undefined && { pauseMs }) } },
    ...(!before && pauseMs !== undefined && moved(ask, pauseMs)),
  };
}

/** The comment for which somebody waits (T4). Undefined as of `commented`, and if nobody waits. */
export function replied(ask: Timed, history: readonly ThreadEntry[], deed: Commenting): Written | undefined {
  const { askedBack: wanted, pausedMs = 0 } = ask.thread ?? {};
  const written = wanted && commented(ask, history, { ...deed, as: "replied" });
  if (!written) return undefined;
  const { askedBack: _, ...thread } = written.thread;
  const { pauseMs, sinceMs } = wanted;
  if (pauseMs === undefined) return { ...written, thread };
  const stoodMs = Math.min(Math.max(0, deed.nowMs - sinceMs), pauseMs);
  return { ...written, thread: { ...thread, pausedMs: pausedMs + stoodMs }, ...moved(ask, stoodMs - pauseMs) };
}

function mayPause({ request }: Pick<Ask, "request">): boolean {
  return "about" in request && request.about?.allow?.includes("pause") === true;
}

function moved({ askedAtMs, deadlineMs, request }: Timed, byMs: number): Pick<Written, "moved"> {
  return { moved: { askedAtMs, deadlineMs: deadlineMs + byMs, request } };
}

/** Undefined if parts were handed on too often. A claim of the person whose part it is ends. */
export function delegated(
  ask: Threaded,
  history: readonly ThreadEntry[],
  { caller, nowMs, from, to, reason }: Deed & Delegation & { readonly reason: string },
): Written | undefined {
  const { claim, delegations = [], handedBefore = [], delegated: before = 0, ...thread } = { comments: 0, ...rest(ask.thread) };
  if (before >= DELEGATIONS_MAX) return undefined;
  const isOwn = isParticipant(caller, from);
  const whose = isOwn ? participant(caller) : from;
  const entry = { what: "delegated", atMs: nowMs, ...participant(caller), to, reason, ...(!isOwn && { from: whose }) } as const;
  return {
    thread: {
      ...thread,
      ...(claim && !isParticipant(caller, claim) && { claim }),
      ...withDelegation({ delegations, handedBefore }, { from: whose, to }),
      delegated: before + 1,
    },
    ...added(ask, history, entry),
  };
}

export interface Prompted extends Pick<Deed, "nowMs"> {
  /** How many times of `remindMs` are over; undefined if nobody is reminded. */
  readonly reminded: number | undefined;
  readonly escalations: readonly Escalation[];
}

/** By nobody: what the tool asked for while nobody answers (asks/prompts.ts). */
export function prompted(
  ask: Threaded,
  history: readonly ThreadEntry[],
  { nowMs, reminded, escalations }: Prompted,
): Omit<Written, "entry"> {
  const entries: readonly ThreadEntry[] = [
    ...(reminded === undefined ? [] : [{ what: "reminded", atMs: nowMs } as const]),
    ...escalations.map(({ to }) => ({ what: "escalated", atMs: nowMs, to }) as const),
  ];
  const { escalatedTo = [], ...thread } = rest(ask.thread);
  const all = [...escalatedTo, ...escalations.map(({ to }) => to)];
  return {
    thread: {
      comments: 0,
      ...thread,
      ...(reminded !== undefined && { reminded: { count: reminded, atMs: nowMs } }),
      ...(all.length > 0 && { escalatedTo: all }),
    },
    history: entries.reduce((before, entry) => added(ask, before, entry).history, history),
  };
}

/** Whether it was written already, by a request whose reply was lost. */
export function isWritten(history: readonly ThreadEntry[], { entry }: Written): boolean {
  const wanted = JSON.stringify(entry);
  return entry !== undefined && history.some((each) => JSON.stringify(each) === wanted);
}

function added({ askedAtMs }: Threaded, history: readonly ThreadEntry[], entry: ThreadEntry): Pick<Written, "history" | "entry"> {
  const before: readonly ThreadEntry[] = history.length === 0 ? [{ what: "asked", atMs: askedAtMs }] : history;
  const all = [...before, entry];
  const isDropped = all.filter(({ what }) => what !== "commented").length > HISTORY_MAX;
  const oldest = isDropped ? all.findIndex(({ what }) => what !== "commented" && what !== "asked") : -1;
  return { history: all.filter((_, index) => index !== oldest), entry };
}

function rest(thread: AskThread | undefined): Partial<Omit<AskThread, "revision">> {
  const { revision: _, ...known } = thread ?? { revision: 0 };
  return known;
}

function participant(caller: Caller): Participant {
  const name = nameToRead(caller);
  return {
    by: caller.principal,
    ...(caller.person !== undefined && { person: personOf(caller) }),
    ...(name !== undefined && { name }),
  };
}
