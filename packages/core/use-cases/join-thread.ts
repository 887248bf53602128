/**
 * A person says that they are on a question, gives it back, comments on it, hands it on, or asks the person who made the call something first.
 *
 * Whoever may answer may claim, and hand on and ask back where the tool allows it; whoever may read may comment, and the owner of the task replies. The store takes a change only if nobody else made one since
 * the ask was read (callers/threads.ts); otherwise it is read again.
 */
import { type AuditFact, noteAudit, withAudit } from "../callers/audit.ts";
import { namesOfAudience } from "../callers/open-asks.ts";
import { typedName } from "../callers/names.ts";
import { isPutTo, may, mayHandOn } from "../callers/policy.ts";
import { hasAccepted } from "../callers/quorum.ts";
import { isParticipant } from "../callers/seats.ts";
import {
  askedBack,
  CLAIM_MINUTES,
  claimed,
  claimOf,
  commented,
  DELEGATED_NAMES_MAX,
  delegated,
  isWritten,
  released,
  replied,
  type Written,
} from "../callers/threads.ts";
import { aboutOf } from "../asks/about.ts";
import { audienceProblems } from "../asks/ask-policy.ts";
import { ParleyError } from "../errors.ts";
import type { ThreadNews, ThreadRequest } from "../ports.ts";
import type { Addressees, Ask, Task, ThreadEntry, Violation } from "../task.ts";
import { type ClaimRead, claimRead } from "./list-asks.ts";
import { openAsk, type ReadAsk, readAsk } from "./read-ask.ts";
import { factOf } from "./record-answer.ts";
import type { Services } from "./services.ts";

export type Joined =
  /** The caller is on it now. */
  | { readonly type: "claimed"; readonly claimedBy: ClaimRead }
  /** Somebody else is on it. The caller may answer all the same. */
  | { readonly type: "taken"; readonly claimedBy: ClaimRead }
  | { readonly type: "released" }
  | { readonly type: "commented" }
  /** The owner of the task is asked, and `replied`: has replied. */
  | { readonly type: "asked_back" }
  | { readonly type: "replied" }
  /** Nobody waits for a reply. */
  | { readonly type: "not_asked" }
  /** Those to whom it was handed on may answer from now on. */
  | { readonly type: "delegated" }
  /** The caller has accepted, or somebody else has in the part that the caller got. */
  | { readonly type: "accepted" }
  /** Its tool does not allow this. */
  | { readonly type: "not_allowed" }
  /** It has COMMENTS_MAX comments, or was handed on DELEGATIONS_MAX times. */
  | { readonly type: "full" }
  /** It is put to others. */
  | { readonly type: "forbidden" }
  /** It is closed. */
  | { readonly type: "late" };

type Wanted =
  | (Written & Pick<ThreadRequest, "handedTo" | "places">)
  | Exclude<Joined, { readonly type: "claimed" | "commented" | "delegated" | "asked_back" | "replied" }>;

/** Each failed try means that somebody else did something. */
const TRIES_MAX = 20;

/** Says that the caller is on it for so many minutes, or renews that. Throws TASK_NOT_FOUND and as `readAsk` does. */
export async function claimAsk(
  services: Services,
  { minutes = CLAIM_MINUTES, ...ref }: ReadAsk & { readonly minutes?: number },
): Promise<Joined> {
  const nowMs = services.clock.now();
  const untilMs = nowMs + minutes * 60_000;
  return await join(services, { ref, action: "claim" }, ({ task, ask }, history) => {
    if (!may(ref.caller, "answer", task, ask)) return { type: "forbidden" };
    const running = claimOf(ask, task.call, nowMs);
    if (running && !isParticipant(ref.caller, running)) return { type: "taken", claimedBy: claimRead(ref.caller, running) };
    return claimed(ask, history, { caller: ref.caller, nowMs, untilMs, isRenewed: running !== undefined });
  });
}

/** Ends the caller's claim, if there is one. Throws as claimAsk does. */
export async function releaseAsk(services: Services, ref: ReadAsk): Promise<Joined> {
  const nowMs = services.clock.now();
  return await join(
    services,
    { ref, action: "release" },
    ({ task, ask }, history) => released(ask, history, { caller: ref.caller, nowMs, owner: task.call }) ?? { type: "released" },
  );
}

/** `text`: at most COMMENT_CHARS_MAX characters, and not blank: the caller has checked. Throws as claimAsk does. */
export async function commentOnAsk(services: Services, { text, ...ref }: ReadAsk & { readonly text: string }): Promise<Joined> {
  const nowMs = services.clock.now();
  const fact = (taskId: string) => ({ comment: services.digest(text, taskId) });
  return await join(
    services,
    { ref, action: "comment", fact },
    ({ ask }, history) => commented(ask, history, { caller: ref.caller, nowMs, text }) ?? { type: "full" },
  );
}

/** Asks the owner of the task something before the caller answers. `text` as in commentOnAsk. Throws as claimAsk does. */
export async function askBack(services: Services, { text, ...ref }: ReadAsk & { readonly text: string }): Promise<Joined> {
  const { caller } = ref;
  const nowMs = services.clock.now();
  const fact = (taskId: string) => ({ comment: services.digest(text, taskId) });
  return await join(services, { ref, action: "askBack", fact }, ({ task, ask }, history) => {
    if (!may(caller, "answer", task, ask)) return { type: "forbidden" };
    if (ask.deadlineMs <= nowMs) return { type: "late" };
    // Nobody asks themselves.
    if (aboutOf(ask.request)?.allow?.includes("askBack") !== true || may(caller, "follow", task)) return { type: "not_allowed" };
    // They have decided, and would only hold up those who are missing.
    if (hasAccepted(caller, task.call, ask)) return { type: "accepted" };
    return askedBack(ask, history, { caller, nowMs, text }) ?? { type: "full" };
  });
}

/** Replies to what somebody wants to know before they answer. For the owner of the task. `text` as in commentOnAsk. Throws as claimAsk does. */
export async function replyToAsk(services: Services, { text, ...ref }: ReadAsk & { readonly text: string }): Promise<Joined> {
  const { caller } = ref;
  const nowMs = services.clock.now();
  const fact = (taskId: string) => ({ comment: services.digest(text, taskId) });
  return await join(services, { ref, action: "reply", fact }, ({ task, ask }, history) => {
    if (!may(caller, "follow", task)) return { type: "forbidden" };
    if (!ask.thread?.askedBack) return { type: "not_asked" };
    return replied(ask, history, { caller, nowMs, text }) ?? { type: "full" };
  });
}

export interface Delegating extends ReadAsk {
  readonly to: Addressees;
  readonly reason: string;
}

/**
 * Hands the caller's part on to others, who may answer from now on; the caller may not (callers/seats.ts). The caller has checked `to`
 * (delegationProblems) and that the reason has 1 to DELEGATION_REASON_CHARS_MAX characters. Throws as claimAsk does.
 */
export async function delegateAsk(services: Services, { to, reason, ...ref }: Delegating): Promise<Joined> {
  const { caller } = ref;
  const nowMs = services.clock.now();
  const fact = (taskId: string) => ({ to, reason: services.digest(reason, taskId) });
  return await join(services, { ref, action: "delegate", fact }, ({ task, ask }, history) => {
    if (!may(caller, "answer", task, ask) && !isPutTo(caller, task, ask)) return { type: "forbidden" };
    if (aboutOf(ask.request)?.allow?.includes("delegate") !== true) return { type: "not_allowed" };
    const from = mayHandOn(caller, task, ask);
    // Without identity there is nobody to hand it to.
    if (!from) return { type: caller.authenticatedBy === "nobody" ? "forbidden" : "accepted" };
    const written = delegated(ask, history, { caller, nowMs, from, to, reason });
    return written ? { ...written, handedTo: namesOfAudience({ to }), places: ask } : { type: "full" };
  });
}

/** What is wrong with those to whom a question is to be handed on. */
export function delegationProblems(to: Addressees): readonly Violation[] {
  const problems = audienceProblems({ to });
  if (problems.length > 0) return problems;
  const count = [to.people, to.groups, to.roles].reduce((sum, names = []) => sum + names.length, 0);
  return count > DELEGATED_NAMES_MAX ? [{ path: "/to", message: `must have at most ${DELEGATED_NAMES_MAX} names` }] : [];
}

interface Joining {
  readonly ref: ReadAsk;
  readonly action: "claim" | "release" | "comment" | "delegate" | "askBack" | "reply";
  readonly fact?: (taskId: string) => Partial<AuditFact>;
}

async function join(
  services: Services,
  { ref, action, fact }: Joining,
  decide: (open: { readonly task: Task; readonly ask: Ask }, history: readonly ThreadEntry[]) => Wanted,
): Promise<Joined> {
  const { store, clock, log } = services;
  let written: Written | undefined;
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const open = await openAsk(services, ref);
    if (!open) return await lateFor(services, ref);
    const { task, ask } = open;
    const { id: taskId } = task;
    const { key, digest, thread } = ask;
    const history = thread ? await store.thread(taskId, key) : [];
    if (written && isWritten(history, written)) return done(ref, action, written);
    const wanted = decide(open, history);
    if ("type" in wanted) {
      if (wanted.type === "forbidden") noteAudit(services, ref, () => ({ ...factOf(services, action, task, ask), verdict: wanted.type }));
      return wanted;
    }
    written = wanted;
    const audit = withAudit(services, ref, () => ({ ...factOf(services, action, task, ask), ...fact?.(taskId) }));
    const { tenant } = task.call;
    const { entry, ...rest } = wanted;
    const became = await store.writeThread({
      taskId,
      key,
      digest,
      ...(thread && { seen: thread.revision }),
      ...(tenant !== undefined && { tenant }),
      ...rest,
      tells: tellsOf(entry),
      nowMs: clock.now(),
      ...audit,
    });
    if (became === "late") return await lateFor(services, ref);
    if (became === "overtaken") continue;
    log.info({ taskId, key, action }, "question noted");
    if (action === "askBack" || action === "reply") await tellOwner(services, task);
    return done(ref, action, written);
  }
  throw new ParleyError("UNAVAILABLE", "too many people did something with this question at once: try again");
}

/** Those who are asked hear of every change by the store. The owner is in no index, and sees what waits for a reply beside what they are asked. */
async function tellOwner({ wakeUps, log }: Pick<Services, "wakeUps" | "log">, { call }: Pick<Task, "call">): Promise<void> {
  const { tenant, caller: { subject, email } = {} } = call;
  const people = [
    ...(subject === undefined ? [] : [typedName("sub", subject)]),
    ...(email === undefined ? [] : [typedName("email", email)]),
  ];
  if (people.length === 0) return;
  // It is kept, whether or not they hear of it at once.
  await wakeUps
    .tellAsked({ ...(tenant !== undefined && { tenant }), names: namesOfAudience({ to: { people } }) })
    .catch((error: unknown) => {
      log.warn({ err: error }, "a question back was not told");
    });
}

/** To whom it is handed on is told by itself, and of a claim that is renewed there is nothing new. */
function tellsOf(entry: ThreadEntry | undefined): readonly ThreadNews[] {
  return !entry || entry.what === "asked" || entry.what === "delegated" ? [] : [entry.what];
}

/** Throws TASK_NOT_FOUND unless the caller may read how it ended. */
async function lateFor(services: Services, ref: ReadAsk): Promise<Joined> {
  await readAsk(services, ref);
  return { type: "late" };
}

function done(ref: ReadAsk, action: Joining["action"], { thread: { claim } }: Written): Joined {
  if (action === "claim" && claim) return { type: "claimed", claimedBy: claimRead(ref.caller, claim) };
  return { type: DONE[action] };
}

const DONE = {
  claim: "released",
  release: "released",
  comment: "commented",
  delegate: "delegated",
  askBack: "asked_back",
  reply: "replied",
} as const;
