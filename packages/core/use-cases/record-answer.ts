/** Records a validated answer and adds the run that it makes due. The store decides which answer counts (I2). */
import { type Actor, type AuditFact, boundTo, identifiedAs, noteAudit, toolOf, withAudit } from "../callers/audit.ts";
import type { AnswerGiver } from "../callers/open-asks.ts";
import { assuranceOf, DEFAULT_TENANT } from "../callers/caller.ts";
import { nameToRead } from "../callers/names.ts";
import { delegatedByOf, may } from "../callers/policy.ts";
import { cut } from "../values/cut.ts";
import { isJsonLonger } from "../values/json-length.ts";
import { ParleyError } from "../errors.ts";
import type { Given } from "../journal.ts";
import type { AnswerRecorded, AnswerRequest } from "../ports.ts";
import { turnOf } from "../callers/shares.ts";
import { countAcceptance, QUORUM_MAX, acceptancesSoFar } from "../callers/quorum.ts";
import type { Settings } from "../settings.ts";
import {
  type Answer,
  type Ask,
  isQuestion,
  type JsonObject,
  type Open,
  openOf,
  type Participant,
  type Receipt,
  type RequiredAssurance,
  type Task,
  type Violation,
} from "../task.ts";
import type { Services } from "./services.ts";

/** An answer to an open ask. */
export interface Answering {
  readonly actor: Actor;
  readonly task: Task;
  /** The principal that answers, unless it is the owner. */
  readonly by?: string | undefined;
}

/** An answer to an ask that is not open. */
export interface Comparing extends Omit<Answering, "task"> {
  readonly taskId: string;
  readonly key: string;
}

interface Recording extends Answering {
  readonly ask: Open;
  readonly answer: Answer;
  readonly page?: AnswerRequest["page"];
}

/** A bare acceptance that claims nothing: the recorded answer decides its receipt. */
export function comparedWith({ clock, settings }: Services, { taskId, key, by }: Omit<Comparing, "actor">): AnswerRequest {
  const answer: Answer = { action: "accept" };
  return { taskId, key, answer, ...(by !== undefined && { by }), nowMs: clock.now(), graceMs: settings.graceMs };
}

/** Every run loads the whole journal, including each answer. */
export function tooLarge({ storedValueMax }: Settings, value: unknown): readonly Violation[] {
  if (!isJsonLonger(value, storedValueMax)) return [];
  return [{ path: "", message: `must have at most ${storedValueMax} characters of JSON (PARLEY_STORED_VALUE_MAX)` }];
}

export function factOf(services: Services, action: AuditFact["action"], task: Task, ask: Open): AuditFact {
  return { action, taskId: task.id, ...toolOf(task.call), ...boundTo(services, task.id, task.call, ask) };
}

/** Refuses an answer to an ask of other people. An auditor sees who tried: it may be the caller who approves their own call. */
export function forbid(services: Services, { actor, task }: Answering, ask: Open): Receipt {
  const type = "forbidden";
  noteAudit(services, actor, () => ({ ...factOf(services, "answer", task, ask), verdict: type }));
  services.log.info({ taskId: task.id, key: ask.key, receipt: type }, "answer received");
  return { type };
}

/** Refuses an answer of somebody who may answer, but was not identified as the ask requires. */
export function requireLogin(services: Services, { actor, task }: Answering, ask: Open, assurance: RequiredAssurance): Receipt {
  const type = "login_required";
  noteAudit(services, actor, () => ({ ...factOf(services, "answer", task, ask), verdict: type }));
  services.log.info({ taskId: task.id, key: ask.key, receipt: type }, "answer received");
  return { type, assurance };
}

/** Records the answer that settles an open ask, and adds the next run. */
export async function recordAnswer(services: Services, recording: Recording): Promise<Receipt> {
  const quorum = acceptancesSoFar(recording.ask);
  if (!quorum) return { type: notOvertaken(await record(services, recording)) };
  return await retryOvertaken(services, recording, async (task, ask) => {
    const receipt = await record(services, { ...recording, task, ask, quorum: acceptancesSoFar(ask) });
    return receipt === "overtaken" ? undefined : { type: receipt };
  });
}

/**
 * Counts one person's acceptance of an ask with a quorum, and settles the ask if it was the last one required. The
 * receipt says how many are still missing.
 */
export async function acceptWithOthers(
  services: Services,
  { content, ...answering }: Answering & { readonly ask: Ask; readonly content: JsonObject },
): Promise<Receipt> {
  const { actor, by } = answering;
  const answer: Answer = { action: "accept", content };
  return await retryOvertaken(services, { ...answering, answer }, async (task, ask) => {
    // The policy decides again: the part may have been handed to others, or used, since the ask was read.
    if (!may(actor.caller, "answer", task, ask)) return forbid(services, { actor, task }, ask);
    const next = countAcceptance(ask, {
      caller: actor.caller,
      owner: task.call,
      by,
      name: nameToRead(actor.caller),
      content,
      delegatedBy: delegatedByOf(actor.caller, task, ask),
      nowMs: services.clock.now(),
    });
    if (next.type === "repeated") {
      noteAudit(services, actor, () => ({ ...factOf(services, "answer", task, ask), did: answer.action, verdict: "duplicate" }));
      return { type: "duplicate" };
    }
    const { acceptances, missing } = next;
    // All acceptances are stored together, so their total size counts.
    const violations = tooLarge(services.settings, acceptances);
    if (violations.length > 0) return { type: "invalid", violations };
    const quorum = { ...(ask.accepted && { seen: ask.accepted.revision }), acceptances, missing };
    const receipt = await record(services, { ...answering, task, ask, answer, quorum });
    if (receipt === "overtaken") return undefined;
    return receipt === "accepted" && missing > 0 ? { type: receipt, missing } : { type: receipt };
  });
}

/** Each failed attempt means that another person was counted or changed their mind, so no quorum needs more. */
const TRIES_MAX = 2 * QUORUM_MAX;

/**
 * Records an answer to an ask with a quorum, and reads the ask again each time another person was counted in between.
 */
async function retryOvertaken(
  services: Services,
  { task: first, ask: asked, answer, by }: Recording,
  attempt: (task: Task, ask: Ask) => Promise<Receipt | undefined>,
): Promise<Receipt> {
  let task = first;
  let ask: Open | undefined = asked;
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const receipt = await attempt(task, ask as Ask);
    if (receipt) return receipt;
    const now = await services.store.load(first.id);
    ask = now && openOf(now).find(({ key, digest }) => key === asked.key && digest === asked.digest);
    // Settled in the meantime: the recorded answer says whether this person was counted.
    if (!now || !ask) return await compareAnswer(services, { taskId: first.id, key: asked.key, answer, by });
    task = now;
  }
  throw new ParleyError("UNAVAILABLE", `too many people answered "${cut(asked.key, KEY_CHARS)}" at once: answer again`);
}

async function record(
  services: Services,
  { actor, task, ask, answer, by, page, quorum }: Recording & { readonly quorum?: AnswerRequest["quorum"] },
): Promise<AnswerRecorded["receipt"]> {
  const { store, queue, clock, settings, log } = services;
  const delegatedBy = isQuestion(ask) ? delegatedByOf(actor.caller, task, ask) : undefined;
  const isByPerson = isQuestion(ask) && answer.action !== "unavailable";
  const audit = withAudit(services, actor, () => ({
    ...factOf(services, "answer", task, ask),
    did: answer.action,
    ...(answer.action === "decline" && answer.reason !== undefined && { reason: services.digest(answer.reason, task.id) }),
    ...(delegatedBy && { delegatedBy: delegatedBy.by }),
    ...(isByPerson && identifiedAs(actor)),
    ...(quorum && "audience" in ask && { accepted: `${quorum.acceptances.length} of ${ask.audience?.quorum}` }),
  }));
  const { key, digest } = ask;
  const giver = giverOf(actor, ask);
  // With a lane, the store offers the run to the listening worker. Otherwise the answer and the run that it most
  // likely makes due are sent together; the store's reply below decides. With a quorum, an answer may make no run
  // due.
  const likelyRun = quorum ? undefined : task.run + 1;
  const turn = turnOf(task.call);
  const lane = queue.lane?.({ taskId: task.id, cause: "answered", ...turn });
  const [recorded] = await Promise.all([
    store.answer({
      taskId: task.id,
      key,
      digest,
      answer,
      ...(by !== undefined && { by }),
      ...(giver && { giver }),
      ...(isByPerson && { given: givenBy(actor, clock.now(), delegatedBy) }),
      ...(page && { page }),
      ...(quorum && { quorum }),
      nowMs: clock.now(),
      graceMs: settings.graceMs,
      ...(lane !== undefined && { lane }),
      ...audit,
    }),
    lane === undefined && likelyRun !== undefined && queue.add({ taskId: task.id, run: likelyRun, cause: "answered", ...turn }),
  ]);
  if (recorded.nextRun !== undefined && (lane !== undefined || recorded.nextRun !== likelyRun))
    await queue.add({ taskId: task.id, run: recorded.nextRun, cause: "answered", ...turn });
  log.info({ taskId: task.id, key, receipt: recorded.receipt, ...(quorum && { missing: quorum.missing }) }, "answer received");
  return recorded.receipt;
}

/**
 * Whose list of answers it is kept in. What a caller's client is asked in the caller's own call costs nothing more: the
 * client knows what it answered.
 */
function giverOf({ caller, door = "" }: Actor, ask: Open): AnswerGiver | undefined {
  if (caller.authenticatedBy === "nobody") return undefined;
  if (!(isQuestion(ask) && (ask.audience || ask.thread?.delegations || ask.thread?.escalatedTo)) && !DOORS_OF_PEOPLE.has(door))
    return undefined;
  const { tenant, principal } = caller;
  return { ...(tenant !== DEFAULT_TENANT && { tenant }), principal };
}

function givenBy({ caller }: Actor, atMs: number, delegatedBy: Participant | undefined): Given {
  const name = nameToRead(caller);
  const assurance = assuranceOf(caller);
  return {
    ...(name !== undefined && { name }),
    atMs,
    ...(assurance && { assurance }),
    ...(caller.login && { login: caller.login }),
    ...(delegatedBy && { delegatedBy }),
  };
}

/** Through which people find their questions themselves. */
const DOORS_OF_PEOPLE: ReadonlySet<string> = new Set(["page", "api"]);

/** Only an answer to an ask with a quorum can be overtaken. */
function notOvertaken(receipt: AnswerRecorded["receipt"]): Exclude<AnswerRecorded["receipt"], "overtaken"> {
  if (receipt === "overtaken") throw new Error("an answer that settles its ask alone was overtaken");
  return receipt;
}

/**
 * Maximum characters of a key in the log. Keys are arbitrary: after a restart, any key without a later generation
 * counts as late instead of unknown.
 */
export const KEY_CHARS = 200;

/** Compares an answer to an ask that is not open with the recorded one. */
export async function compareAnswer(
  services: Services,
  { taskId, key, answer, by }: Omit<Comparing, "actor"> & { readonly answer: Answer },
): Promise<Receipt> {
  const { store, queue, clock, settings, log } = services;
  const given = by === undefined ? { answer } : { answer, by };
  const recorded = await store.answer({ taskId, key, ...given, nowMs: clock.now(), graceMs: settings.graceMs });
  // The front end that recorded it may have died before it added the run. Adding it twice adds it once.
  if (recorded.nextRun !== undefined) await queue.add({ taskId, run: recorded.nextRun, cause: "answered" });
  // An unknown key is not logged: its sender may have made it up, at any length, and it changed nothing.
  if (recorded.receipt !== "unknown") log.info({ taskId, key: cut(key, KEY_CHARS), receipt: recorded.receipt }, "answer received");
  return { type: notOvertaken(recorded.receipt) };
}
